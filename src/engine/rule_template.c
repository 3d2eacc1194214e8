#include "rule_template.h"

#include <ctype.h>
#include <kprof/base/template.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 16, SHOWN = 3 };

static const char *const called[] = {[RULE_BY_PATH] = "path", [RULE_BY_SHAPE] = "shape"};

/* ---- names ---- */

static size_t templated(const char *name, size_t n, enum rule_how how, char out[TEMPLATE_BYTES + 1])
{
    n = how == RULE_BY_PATH ? template_path(name, n, out) : template_shape(name, n, out);
    out[n] = 0;
    return n;
}

/* A URL, or a path alone or as one of several elements. */
static bool looks_like_path(const char *name)
{
    return name[0] == '/' || strstr(name, " /") || strstr(name, "://");
}

struct new_name {
    char name[TEMPLATE_BYTES + 1];
    uint64_t calls;
};

static int by_calls(const void *a, const void *b)
{
    const struct new_name *x = a, *y = b;
    return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : strcmp(x->name, y->name);
}

/* The resulting names; the caller frees them. */
static struct new_name *new_names(const struct rule_template_names *names, enum rule_how how,
                                  size_t *n)
{
    struct new_name *all = calloc(names->n + 1, sizeof *all);

    if (!all)
        abort();
    *n = 0;
    for (size_t i = 0; i < names->n; i++) {
        struct new_name *to = &all[*n];
        size_t k = 0;
        templated(names->name[i], strlen(names->name[i]), how, to->name);
        while (strcmp(all[k].name, to->name) != 0)
            k++;
        *n += k == *n;
        all[k].calls += names->calls[i];
    }
    qsort(all, *n, sizeof *all, by_calls);
    return all;
}

static bool halves(const struct rule_template_names *names, enum rule_how how)
{
    size_t n;

    free(new_names(names, how, &n));
    return 2 * n <= names->n;
}

enum rule_how rule_template_fit(const struct rule_template_names *names)
{
    size_t paths = 0;

    for (size_t i = 0; i < names->n; i++)
        paths += looks_like_path(names->name[i]);
    if (names->n && 2 * paths >= names->n && halves(names, RULE_BY_PATH))
        return RULE_BY_PATH;
    return names->n && halves(names, RULE_BY_SHAPE) ? RULE_BY_SHAPE : RULE_AS_IS;
}

size_t rule_template_preview(const struct rule_template_names *names, enum rule_how how,
                             struct buf *out)
{
    size_t n;
    struct new_name *all = new_names(names, how, &n);

    for (size_t i = 0; i < n && i < SHOWN; i++)
        buf_addf(out, "%s%.60s %llu", i ? ", " : "", all[i].name, (unsigned long long)all[i].calls);
    if (n > SHOWN)
        buf_addf(out, " and %zu more", n - SHOWN);
    free(all);
    return n;
}

/* ---- the text of a rule ---- */

struct part { /* of the rule */
    const char *at, *end;
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '@' || (unsigned char)c >= 0x80;
}

/* Bytes of a quoted text, of a character, else 1. */
static size_t token(const char *s, const char *end)
{
    size_t n = 1, left = (size_t)(end - s);

    if (*s == '$' && left > 1)
        return s[1] == '\\' && left > 2 ? 3 : 2;
    if (*s != '\'' && *s != '"')
        return 1;
    while (n < left && s[n] != *s)
        n += s[n] == '\\' && n + 1 < left ? 2 : 1;
    return n < left ? n + 1 : left;
}

static bool is_end(const char *rule, const char *s, const char *end)
{
    return end - s >= 3 && memcmp(s, "end", 3) == 0 && (s == rule || !in_word(s[-1])) &&
           (end - s == 3 || !in_word(s[3]));
}

/* The first of these characters outside of brackets and quotes; '>' stands for "->", 'e' for `end`.
 */
static const char *find(struct part p, const char *what)
{
    int depth = 0;

    for (const char *s = p.at; s < p.end; s += token(s, p.end)) {
        bool pair = p.end - s > 1 && s[1] == *s;
        if (depth == 0 && strchr(what, '>') && *s == '-' && p.end - s > 1 && s[1] == '>')
            return s;
        if (depth == 0 && strchr(what, 'e') && is_end(p.at, s, p.end))
            return s;
        if (depth == 0 && strchr(",;", *s) && strchr(what, *s))
            return s;
        depth += strchr("([{", *s) != NULL;
        depth -= strchr(")]}", *s) && depth > 0;
        s += pair && (*s == '<' || *s == '>'); /* << and >> */
        depth += pair && *s == '<';
        depth -= pair && *s == '>' && depth > 0;
    }
    return p.end;
}

static struct part trimmed(struct part p)
{
    while (p.at < p.end && isspace((unsigned char)*p.at))
        p.at++;
    while (p.end > p.at && isspace((unsigned char)p.end[-1]))
        p.end--;
    return p;
}

static void put(struct buf *out, const char *from, const char *to)
{
    buf_add(out, from, (size_t)(to - from));
}

/* The content of the brackets of "name(...)", if nothing follows. */
static bool is_call(struct part p, const char *name, struct part *in)
{
    size_t n = strlen(name);

    if ((size_t)(p.end - p.at) < n + 2 || memcmp(p.at, name, n) != 0)
        return false;
    struct part rest = trimmed((struct part){p.at + n, p.end});
    if (rest.end - rest.at < 2 || *rest.at != '(' || rest.end[-1] != ')')
        return false;
    *in = (struct part){rest.at + 1, rest.end - 1};
    return true;
}

/* an atom, a number or a text: a constant name */
static bool is_constant(struct part p)
{
    const char *s = p.at;

    if (s == p.end)
        return true;
    if (p.end - s > 3 && memcmp(s, "<<\"", 3) == 0)
        return true;
    if (isupper((unsigned char)*s) || *s == '_' || *s == '{' || *s == '#')
        return false;
    if (*s == '\'' || *s == '"' || *s == '$')
        return s + token(s, p.end) == p.end;
    while (s < p.end && in_word(*s))
        s++;
    return s == p.end;
}

/* ---- wrapping ---- */

struct wrapping {
    enum rule_how how;
    const struct rule_template_names *names;
    struct buf *out;
    size_t wrapped;
};

/* Which of n elements the template changes, according to the names with n elements. */
static void changing(const struct wrapping *w, size_t n, bool changes[ELEMENTS])
{
    bool known = false;

    memset(changes, 0, ELEMENTS * sizeof *changes);
    for (size_t i = 0; i < w->names->n && n > 1; i++) {
        const char *at = w->names->name[i];
        size_t spaces = 0;
        for (const char *s = at; *s; s++)
            spaces += *s == ' ';
        if (spaces + 1 != n)
            continue;
        known = true;
        for (size_t k = 0; k < n; k++) {
            char to[TEMPLATE_BYTES + 1];
            size_t len = strcspn(at, " ");
            changes[k] |= templated(at, len, w->how, to) != len || memcmp(at, to, len) != 0;
            at += len + (at[len] == ' ');
        }
    }
    for (size_t k = 0; k < n; k++)
        changes[k] |= !known;
}

static void wrap_one(struct wrapping *w, struct part p)
{
    struct part in;

    if (is_constant(p) || is_call(p, "name", &in)) {
        put(w->out, p.at, p.end);
        return;
    }
    if (is_call(p, "path", &in) || is_call(p, "shape", &in))
        p = trimmed(in);
    buf_addf(w->out, "%s(", called[w->how]);
    put(w->out, p.at, p.end);
    buf_addch(w->out, ')');
    w->wrapped++;
}

static size_t elements(struct part p, struct part of[ELEMENTS])
{
    size_t n = 0;

    for (; p.at < p.end && n < ELEMENTS; n++) {
        const char *comma = find(p, ",");
        of[n] = trimmed((struct part){p.at, comma});
        p.at = comma < p.end ? comma + 1 : p.end;
    }
    return p.at < p.end ? 0 : n;
}

/* An expression that names requests. */
static void wrap(struct wrapping *w, struct part whole)
{
    struct part p = trimmed(whole), of[ELEMENTS];
    bool changes[ELEMENTS];
    size_t n = 0;

    put(w->out, whole.at, p.at);
    if (p.end - p.at > 2 && *p.at == '{' && p.end[-1] == '}')
        n = elements((struct part){p.at + 1, p.end - 1}, of);
    if (n)
        changing(w, n, changes);
    else
        wrap_one(w, p);
    for (size_t i = 0; i < n; i++) {
        buf_adds(w->out, i ? ", " : "{");
        if (changes[i])
            wrap_one(w, of[i]);
        else
            put(w->out, of[i].at, of[i].end);
    }
    if (n)
        buf_addch(w->out, '}');
    put(w->out, p.end, whole.end);
}

/* fun (Head) -> Expr; (Head) when Guard -> Expr end */
static void wrap_clauses(struct wrapping *w, struct part p)
{
    for (;;) {
        const char *arrow = find(p, ">");
        put(w->out, p.at, arrow);
        if (arrow == p.end)
            return;
        put(w->out, arrow, arrow + 2);
        struct part body = {arrow + 2, p.end};
        body.end = find(body, ";e");
        wrap(w, body);
        p.at = body.end + (body.end < p.end && *body.end == ';');
        put(w->out, body.end, p.at);
    }
}

/* The function that a rule begins with: "m:f/1", "MyApp.Repo.get/2". */
static const char *behind_function(struct part p)
{
    for (const char *s = p.at; s < p.end; s += token(s, p.end)) {
        const char *d = s + 1;
        while (*s == '/' && d < p.end && isdigit((unsigned char)*d))
            d++;
        if (d > s + 1 && d < p.end && isspace((unsigned char)*d))
            return d;
    }
    return p.end;
}

/* m:f/1 Expr; m:g/2 Expr */
static void wrap_short(struct wrapping *w, struct part p)
{
    while (p.at < p.end) {
        struct part one = {p.at, find(p, ";")};
        const char *body = behind_function(one);
        put(w->out, one.at, body);
        wrap(w, (struct part){body, one.end});
        p.at = one.end + (one.end < p.end);
        put(w->out, one.end, p.at);
    }
}

static bool has_comment(struct part p)
{
    for (const char *s = p.at; s < p.end; s += token(s, p.end))
        if (*s == '%')
            return true;
    return false;
}

const char *rule_template_wrap(const char *rule, enum rule_how how,
                               const struct rule_template_names *names, struct buf *out)
{
    struct wrapping w = {how, names, out, 0};
    struct part p = trimmed((struct part){rule, rule + strlen(rule)});
    size_t before = out->len;

    if (p.at == p.end)
        return "there is no identity rule: press I to name requests by a part of a call";
    if (has_comment(p))
        return "the identity rule has comments: edit it in a profile (W saves, L loads)";
    if (p.end[-1] == '.')
        p.end--;
    if (p.end - p.at > 3 && memcmp(p.at, "fun", 3) == 0 && !in_word(p.at[3]) && p.at[3] != ':')
        wrap_clauses(&w, p);
    else
        wrap_short(&w, p);
    bool same = out->len - before == (size_t)(p.end - p.at) &&
                memcmp(out->data + before, p.at, out->len - before) == 0;
    return w.wrapped && !same
               ? NULL
               : "path(...) and shape(...) fit no part of the identity rule: press i to edit it";
}
