#include "rule.h"

#include <ctype.h>
#include <kprof/base/template.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rule ---- */

static const char *nameless(const struct value_tree *s, const struct value_tree_node *n)
{
    if (n->kind == VALUE_TREE_MAP)
        return "a map cannot be a name: select one of its values";
    if (n->kind == VALUE_TREE_LIST && n->name.len == 3 &&
        strcmp(value_tree_str(s, n->name), "...") == 0)
        return "a list cannot be a name: select one of its elements";
    if (n->name.len == 3 && n->kind == VALUE_TREE_VALUE &&
        strcmp(value_tree_str(s, n->name), "...") == 0)
        return "this part cannot be a name: it is not an atom, a number or a text";
    return NULL;
}

static void write_steps(const struct value_tree *s, uint32_t node, struct buf *out)
{
    const struct value_tree_node *n = &s->node[node];
    uint32_t up = value_tree_parent(s, node);

    switch (n->step) {
    case VALUE_TREE_ARG:
        buf_addf(out, "arg(%u)", n->nth);
        return;
    case VALUE_TREE_ELEMENT:
        buf_addf(out, "element(%u, ", n->nth);
        break;
    case VALUE_TREE_NTH:
        buf_addf(out, "nth(%u, ", n->nth);
        break;
    case VALUE_TREE_KEY:
    case VALUE_TREE_LONG_KEY:
        buf_addf(out, "map_get(%s, ", value_tree_str(s, n->key));
        break;
    }
    write_steps(s, up, out); /* recursion: at most VALUE_TREE_DEPTH levels */
    buf_addch(out, ')');
}

const char *rule_write(const struct value_tree *s, uint32_t node, uint32_t how,
                       const char *function, struct buf *out)
{
    const char *why = nameless(s, &s->node[node]);

    buf_clear(out);
    for (uint32_t i = node; i != VALUE_TREE_NONE && !why; i = value_tree_parent(s, i)) {
        if (s->node[i].step == VALUE_TREE_LONG_KEY)
            why = "a key on the path to this part is too large for a rule";
    }
    if (why)
        return why;
    buf_addf(out, "%s ", function);
    if (s->node[node].kind == VALUE_TREE_PROCESS)
        buf_adds(out, "name(");
    else if (how >= RULE_PATH)
        buf_adds(out, how == RULE_PATH ? "path(" : "shape(");
    else if (how)
        buf_addf(out, "prefix(%u, ", how);
    write_steps(s, node, out);
    if (s->node[node].kind == VALUE_TREE_PROCESS || how)
        buf_addch(out, ')');
    if (out->len <= RULE_BYTES)
        return NULL;
    buf_clear(out);
    return "the path to this part is too long for a rule";
}

/* ---- the names ---- */

static void set_name(struct rule_name *n, const char *bytes, size_t len)
{
    len = len < sizeof n->name - 1 ? len : sizeof n->name - 1;
    memcpy(n->name, bytes, len);
    n->name[len] = 0;
    n->known = true;
}

/* An element of a list that is a string in this call: its name is the code point. */
static bool character(const struct value_tree *s, uint32_t node, uint32_t call, struct rule_name *n)
{
    const struct value_tree_node *like = &s->node[node];
    bool cut;
    uint32_t cp = 0, at = 0, list;

    if (like->step != VALUE_TREE_NTH)
        return false;
    list = value_tree_alike(s, value_tree_parent(s, node), call, &cut);
    if (list == VALUE_TREE_NONE || s->node[list].kind != VALUE_TREE_STRING ||
        like->nth > s->node[list].size)
        return false;
    const char *name = value_tree_str(s, s->node[list].name);
    for (uint32_t i = 0; i < like->nth && at < s->node[list].name.len; i++)
        at += (uint32_t)text_next(name + at, s->node[list].name.len - at, &cp);
    snprintf(n->name, sizeof n->name, "%u", cp);
    n->known = like->nth < RULE_PREFIX_MAX;
    return true;
}

/* The length in bytes of the part of the name that stands for the first `prefix` characters
 * (string) or bytes (binary). */
static uint32_t bytes_of(const struct value_tree *s, const struct value_tree_node *n,
                         uint32_t prefix)
{
    const char *name = value_tree_str(s, n->name);
    uint32_t at = 0, cp;

    if (n->kind != VALUE_TREE_STRING)
        return prefix < n->name.len ? prefix : n->name.len;
    for (uint32_t i = 0; i < prefix && at < n->name.len; i++)
        at += (uint32_t)text_next(name + at, n->name.len - at, &cp);
    return at;
}

static void set_shaped(struct rule_name *n, uint32_t how, const char *bytes, size_t len)
{
    char shaped[TEMPLATE_BYTES];

    len = how == RULE_PATH ? template_path(bytes, len, shaped) : template_shape(bytes, len, shaped);
    set_name(n, shaped, len);
}

static void name_in(const struct value_tree *s, uint32_t node, uint32_t how, uint32_t call,
                    struct rule_name *out)
{
    const struct value_tree_node *like = &s->node[node], *n;
    bool cut;
    uint32_t at = value_tree_alike(s, node, call, &cut);

    memset(out, 0, sizeof *out);
    if (at == VALUE_TREE_NONE) {
        if (!cut && !character(s, node, call, out))
            set_name(out, "undefined", 9);
        return;
    }
    n = &s->node[at];
    const char *name = value_tree_str(s, n->name);
    if (how >= RULE_PATH)
        set_shaped(out, how, name, n->name.len);
    else if (how && n->kind == VALUE_TREE_LIST && n->size == 0)
        set_name(out, name, n->name.len); /* an empty string */
    else if (how && !rule_has_shape(n))
        set_name(out, "undefined", 9);
    else if (how && n->size && how < n->size)
        set_name(out, name, bytes_of(s, n, how));
    else if (like->kind == VALUE_TREE_PROCESS && n->kind == VALUE_TREE_PROCESS)
        set_name(out, value_tree_str(s, n->other_name), n->other_name.len);
    else
        set_name(out, name, n->name.len);
}

static int by_count(const void *a, const void *b)
{
    const struct rule_name *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

void rule_names(const struct value_tree *s, uint32_t node, uint32_t how, struct rule_names *out)
{
    struct rule_name name;
    uint32_t mine = value_tree_call_of(s, node);

    out->n = 0;
    for (uint32_t c = 0; c < s->calls; c++) {
        uint32_t i = 0;
        name_in(s, node, how, c, &name);
        if (c == mine)
            out->mine = name;
        while (i < out->n &&
               (out->of[i].known != name.known || strcmp(out->of[i].name, name.name) != 0))
            i++;
        if (i == out->n)
            out->of[out->n++] = name;
        out->of[i].count++;
    }
    qsort(out->of, out->n, sizeof out->of[0], by_count);
}

/* ---- shapes ---- */

bool rule_has_shape(const struct value_tree_node *n)
{
    return n->kind == VALUE_TREE_BINARY || n->kind == VALUE_TREE_STRING;
}

uint32_t rule_suggest(const struct value_tree *s, uint32_t node)
{
    struct rule_names whole, shaped;

    if (!rule_has_shape(&s->node[node]))
        return RULE_WHOLE;
    rule_names(s, node, RULE_WHOLE, &whole);
    const char *mine = whole.mine.name;
    uint32_t how = mine[0] == '/' || strstr(mine, "://") ? RULE_PATH : RULE_SHAPE;
    rule_names(s, node, how, &shaped);
    return shaped.n < whole.n || (how == RULE_PATH && strcmp(mine, shaped.mine.name) != 0)
               ? how
               : RULE_WHOLE;
}

/* ---- prefixes ---- */

uint32_t rule_prefix_most(const struct value_tree_node *n)
{
    if (!rule_has_shape(n) || n->size < 2)
        return 0;
    uint32_t most = n->size - 1 < RULE_PREFIX_MAX ? (uint32_t)n->size - 1 : RULE_PREFIX_MAX;
    return most < n->name.len
               ? most
               : n->name.len; /* n->size comes from the node: the name may be shorter */
}

/* A prefix of n bytes, of the name, ends after a separator or before one, never inside a character.
 */
static bool word_ends(const char *s, uint32_t n)
{
    unsigned char last = (unsigned char)s[n - 1], next = (unsigned char)s[n];
    bool word = isalnum(last) || last >= 0x80, more = isalnum(next) || next >= 0x80;

    return (next & 0xc0) != 0x80 && word != more;
}

uint32_t rule_prefix_step(const struct value_tree *s, uint32_t node, uint32_t prefix, int step)
{
    const struct value_tree_node *n = &s->node[node];
    const char *name = value_tree_str(s, n->name);
    uint32_t most = rule_prefix_most(n);

    if (prefix > most) /* of another, longer part */
        prefix = 0;
    uint32_t at = prefix ? prefix : most + 1;
    if (step > 0) {
        while (prefix && ++at <= most && !word_ends(name, bytes_of(s, n, at)))
            ;
        return at <= most && prefix ? at : 0;
    }
    while (most && at > 1) {
        if (word_ends(name, bytes_of(s, n, --at)))
            return at;
    }
    return prefix ? prefix : most ? 1 : 0;
}

/* ---- on one line ---- */

/* Bytes at s that are copied as they are: a byte after a backslash, or a character after $. */
static size_t literal(const char *s, char quote)
{
    size_t n = 1;

    if ((quote && s[0] == '\\') || (!quote && s[0] == '$')) {
        n += !quote && s[1] == '\\';
        n += s[n] != 0;
    }
    return n;
}

static const char *fold_lines(const char *s, char *out)
{
    char quote = 0;
    size_t at = 0;

    for (size_t n; *s; s += n) {
        n = literal(s, quote);
        if (strcspn(s, "\r\n") < n && (quote || n > 1))
            return "the rule has a line break in quotes";
        if (!quote && *s == '%' && strchr(s, '\n'))
            return "the rule has comments between its lines";
        if (*s == '\n' || *s == '\r') {
            n += strspn(s + 1, " \t\r\n");
            out[at] = ' ';
            at += at > 0;
            continue;
        }
        memcpy(out + at, s, n);
        at += n;
        if (n == 1 && (*s == quote || (!quote && (*s == '"' || *s == '\''))))
            quote = quote ? 0 : *s;
    }
    out[at] = 0;
    return NULL;
}

const char *rule_line(const char *rule, char *out, size_t cap)
{
    const char *why =
        strlen(rule) < cap ? fold_lines(rule, out) : "the rule is too long for one line";

    if (why)
        out[0] = 0;
    return why;
}
