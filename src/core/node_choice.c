#include <kprof/core/node_choice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}

/* Returns true if s[0..n) is not empty and has only word characters and those of `more`. */
static bool consists_of(const char *s, size_t n, const char *more)
{
    for (size_t i = 0; i < n; i++)
        if (!is_word(s[i]) && (s[i] == 0 || !strchr(more, s[i])))
            return false;
    return n > 0;
}

static bool is_port(const char *s)
{
    size_t n = strspn(s, "0123456789");
    long v = n >= 1 && n <= 5 && s[n] == 0 ? strtol(s, NULL, 10) : 0;

    return v > 0 && v < 65536;
}

/* A host with several ':' is an IPv6 address; in front of a port it is in brackets. */
static bool is_host(const char *s)
{
    const char *colon = strchr(s, ':'), *close = s[0] == '[' ? strchr(s, ']') : NULL;

    if (close)
        return consists_of(s + 1, (size_t)(close - s) - 1, ".:") &&
               (!close[1] || (close[1] == ':' && is_port(close + 2)));
    if (colon && !strchr(colon + 1, ':'))
        return is_port(colon + 1) && consists_of(s, (size_t)(colon - s), ".");
    return consists_of(s, strlen(s), ".:");
}

bool node_choice_name_ok(const char *s)
{
    const char *at = strchr(s, '@');

    return at && strlen(s) < NODE_CHOICE_BYTES && s[0] != '-' && at[1] != '-' &&
           consists_of(s, (size_t)(at - s), ".+") && is_host(at + 1);
}

bool node_choice_address_ok(const char *s)
{
    const char *colon = strrchr(s, ':');

    if (!*s)
        return true;
    if (!colon || strlen(s) >= NODE_CHOICE_BYTES || !is_port(colon + 1))
        return false;
    if (s[0] == '[')
        return colon - s > 2 && colon[-1] == ']' &&
               consists_of(s + 1, (size_t)(colon - s) - 2, ".:%");
    return s[0] != '-' && consists_of(s, (size_t)(colon - s), ".");
}

void node_choices_add(struct node_choices *l, const struct node_choice *c)
{
    struct node_choice *same = NULL;

    if (!node_choice_name_ok(c->node) || !node_choice_address_ok(c->connect))
        return;
    for (size_t i = 0; i < l->n && !same; i++)
        if (strcmp(l->at[i].node, c->node) == 0 && strcmp(l->at[i].connect, c->connect) == 0)
            same = &l->at[i];
    if (!same && l->n < NODE_CHOICES_MAX)
        l->at[l->n++] = *c;
    if (!same)
        return;
    same->local |= c->local;
    same->release |= c->release;
    if (c->used_s > same->used_s)
        same->used_s = c->used_s;
    same->tls |= c->tls;
    if (!same->tls_optfile[0])
        memcpy(same->tls_optfile, c->tls_optfile, sizeof same->tls_optfile);
}

static int group(const struct node_choice *c)
{
    return c->release ? 0 : c->local ? 1 : 2;
}

static int before(const void *x, const void *y)
{
    const struct node_choice *a = x, *b = y;
    int by_name = strcmp(a->node, b->node);

    if (group(a) != group(b))
        return group(a) - group(b);
    if (group(a) == 2 && a->used_s != b->used_s)
        return a->used_s > b->used_s ? -1 : 1;
    return by_name ? by_name : strcmp(a->connect, b->connect);
}

void node_choices_sort(struct node_choices *l)
{
    qsort(l->at, l->n, sizeof l->at[0], before);
}

static void add(char out[NODE_NOTE_BYTES], const char *text)
{
    size_t n = strlen(out);

    snprintf(out + n, NODE_NOTE_BYTES - n, "%s%s", n ? ", " : "", text);
}

static void used_ago(uint64_t age_s, char out[NODE_NOTE_BYTES])
{
    unsigned long long age = age_s;

    if (age < 3600)
        snprintf(out, NODE_NOTE_BYTES, "used %llu min ago", age / 60);
    else if (age < 48 * 3600)
        snprintf(out, NODE_NOTE_BYTES, "used %llu h ago", age / 3600);
    else
        snprintf(out, NODE_NOTE_BYTES, "used %llu days ago", age / 86400);
}

void node_choice_note(const struct node_choice *c, uint64_t now_s, char out[NODE_NOTE_BYTES])
{
    char used[NODE_NOTE_BYTES];

    out[0] = 0;
    if (c->release)
        add(out, "of this release");
    if (c->local)
        add(out, c->tls ? "runs here with TLS" : "runs here");
    if (c->used_s) {
        used_ago(now_s > c->used_s ? now_s - c->used_s : 0, used);
        add(out, used);
    }
    if (c->connect[0]) {
        snprintf(used, sizeof used, "via %s", c->connect);
        add(out, used);
    }
}
