/* Prints the table of keys for README (Markdown) or for the manual page (mdoc): keydocs md|mdoc. */
#include <kprof/ui/keys.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void shown_md(const char *s)
{
    /* Each key is a separate code span. */
    for (const char *at = s; *at;) {
        size_t n = strcspn(at, " ");
        printf("%s`%.*s`", at == s ? "" : " ", (int)n, at);
        at += n + strspn(at + n, " ");
    }
}

static void text_md(const char *s)
{
    for (; *s; s++) {
        if (strchr("|<>*_`", *s))
            putchar('\\');
        putchar(*s);
    }
}

static void shown_mdoc(const char *s)
{
    fputs(".It Ic", stdout);
    for (const char *at = s; *at;) {
        size_t n = strcspn(at, " ");
        /* \\& prevents punctuation from being a delimiter, \\- is the minus key. */
        printf(at == s ? " " : " , ");
        if (n == 1 && *at == '-')
            fputs("\\-", stdout);
        else
            printf("%s%.*s", n == 1 ? "\\&" : "", (int)n, at);
        at += n + strspn(at + n, " ");
    }
    putchar('\n');
}

static void text_mdoc(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    /* mdoc requires a new line for each sentence. */
    for (; *s; s++)
        putchar(*s == ' ' && s[-1] == '.' ? '\n' : *s);
    putchar('\n');
}

/* README has a line of keys and their short names for each group; `at` keeps it within LINE_MAX. */
enum { LINE_MAX_COLS = 118 };

static void item_md(const struct key_def *k, size_t *at, bool first)
{
    size_t wide = strlen(k->shown) + strlen(k->bar) + 5;
    if (!first)
        putchar(',');
    if (*at + wide > LINE_MAX_COLS) {
        fputs("\n ", stdout);
        *at = 2;
    }
    putchar(' ');
    shown_md(k->shown);
    putchar(' ');
    text_md(k->bar);
    *at += wide;
}

static void group_md(const char *name)
{
    size_t n, at = strlen(name) + 8;
    const struct key_def *k = keys_all(&n);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (!k[i].help || !k[i].bar || strcmp(k[i].group, name) != 0)
            continue;
        if (!any)
            printf("- **%s**:", name);
        item_md(&k[i], &at, !any);
        any = true;
    }
    if (any)
        putchar('\n');
}

static void group_mdoc(const char *name)
{
    size_t n;
    const struct key_def *k = keys_all(&n);
    printf(".Ss %s\n.Bl -tag -width \"Right l\" -compact\n", name);
    for (size_t i = 0; i < n; i++) {
        if (!k[i].help || strcmp(k[i].group, name) != 0)
            continue;
        shown_mdoc(k[i].shown);
        text_mdoc(k[i].help);
    }
    puts(".El");
}

int main(int argc, char **argv)
{
    bool md = argc == 2 && strcmp(argv[1], "md") == 0;
    size_t n;
    const char *const *groups = keys_groups(&n);
    if (!md && !(argc == 2 && strcmp(argv[1], "mdoc") == 0)) {
        fputs("keydocs md|mdoc\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < n; i++)
        (md ? group_md : group_mdoc)(groups[i]);
    return 0;
}
