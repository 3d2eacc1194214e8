#include "etf_tag.h"
#include "term_impl.h"

#include <kprof/base/template.h>

static void print(struct pen *p, struct etf *c, unsigned depth);

static bool stopped(const struct pen *p, const struct etf *c)
{
    return p->full || c->bad;
}

static void print_tuple(struct pen *p, struct etf *c, unsigned depth)
{
    uint32_t n;

    if (!etf_tuple(c, &n))
        return;
    pen_adds(p, "{");
    for (uint32_t i = 0; i < n && !stopped(p, c); i++) {
        if (i > 0)
            pen_adds(p, ",");
        print(p, c, depth + 1);
    }
    pen_adds(p, "}");
}

static void print_map(struct pen *p, struct etf *c, unsigned depth)
{
    uint32_t n;

    if (!etf_map(c, &n))
        return;
    pen_adds(p, "#{");
    for (uint32_t i = 0; i < n && !stopped(p, c); i++) {
        if (i > 0)
            pen_adds(p, ",");
        print(p, c, depth + 1);
        pen_adds(p, " => ");
        print(p, c, depth + 1);
    }
    pen_adds(p, "}");
}

/* STRING_EXT contains bytes; it is text if all of them are printable Latin-1. Does not move the
 * cursor. */
static bool string_is_text(struct etf c)
{
    const uint8_t *b;
    size_t n;

    if (!etf_string(&c, &b, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!leaf_printable(b[i]))
            return false;
    return true;
}

static void print_string(struct pen *p, struct etf *c)
{
    bool text = string_is_text(*c);
    const uint8_t *b;
    size_t n;

    if (!etf_string(c, &b, &n))
        return;
    if (text) {
        leaf_quoted(p, (const char *)b, n, true, '"');
        return;
    }
    pen_adds(p, "[");
    for (size_t i = 0; i < n && !p->full; i++)
        pen_addf(p, i == 0 ? "%u" : ",%u", b[i]);
    pen_adds(p, "]");
}

/* A proper list of printable code points. Does not move the cursor, and reads only as much as could
 * be shown. */
static bool list_is_text(const struct pen *p, struct etf c)
{
    uint64_t cp;
    uint32_t n;

    if (!etf_list(&c, &n) || n == 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (i > p->max)
            return true;
        if (!etf_u64(&c, &cp) || cp > 0x10ffff || !leaf_printable((uint32_t)cp))
            return false;
    }
    return etf_nil(&c);
}

/* Call only after list_is_text. */
static void list_text(struct pen *p, struct etf *c, bool quoted)
{
    uint64_t cp;
    uint32_t n;

    if (!etf_list(c, &n))
        return;
    if (quoted)
        pen_adds(p, "\"");
    for (uint32_t i = 0; i < n && !p->full && etf_u64(c, &cp); i++) {
        if (quoted)
            leaf_escaped(p, (uint32_t)cp, '"');
        else
            pen_cp(p, (uint32_t)cp);
    }
    if (quoted)
        pen_adds(p, "\"");
    if (!p->full)
        etf_nil(c);
}

static void print_list(struct pen *p, struct etf *c, unsigned depth)
{
    uint32_t n;

    if (list_is_text(p, *c)) {
        list_text(p, c, true);
        return;
    }
    if (!etf_list(c, &n))
        return;
    pen_adds(p, "[");
    for (uint32_t i = 0; i < n && !stopped(p, c); i++) {
        if (i > 0)
            pen_adds(p, ",");
        print(p, c, depth + 1);
    }
    if (!stopped(p, c) && etf_peek(c) != T_NIL) {
        pen_adds(p, "|");
        print(p, c, depth + 1);
    } else if (!stopped(p, c)) {
        etf_nil(c);
    }
    pen_adds(p, "]");
}

static void print_leaf(struct pen *p, struct etf *c)
{
    switch (etf_peek(c)) {
    case T_ATOM:
    case T_SMALL_ATOM:
    case T_ATOM_UTF8:
    case T_SMALL_ATOM_UTF8:
        leaf_atom(p, c);
        break;
    case T_SMALL_INTEGER:
    case T_INTEGER:
        leaf_integer(p, c);
        break;
    case T_SMALL_BIG:
    case T_LARGE_BIG:
        leaf_big(p, c);
        break;
    case T_NEW_FLOAT:
    case T_FLOAT:
        leaf_float(p, c);
        break;
    case T_BINARY:
        leaf_binary(p, c);
        break;
    case T_BIT_BINARY:
        leaf_bits(p, c);
        break;
    case T_PID:
    case T_NEW_PID:
        leaf_pid(p, c);
        break;
    case T_PORT:
    case T_NEW_PORT:
    case T_V4_PORT:
        leaf_port(p, c);
        break;
    case T_REFERENCE:
    case T_NEW_REFERENCE:
    case T_NEWER_REFERENCE:
        leaf_reference(p, c);
        break;
    case T_NEW_FUN:
        leaf_fun(p, c);
        break;
    case T_EXPORT:
        leaf_export(p, c);
        break;
    default:
        etf_skip(c);
    }
}

static void print(struct pen *p, struct etf *c, unsigned depth)
{
    if (stopped(p, c))
        return;
    if (depth > TERM_MAX_DEPTH) {
        pen_adds(p, "...");
        etf_skip(c);
        return;
    }
    switch (etf_peek(c)) {
    case T_SMALL_TUPLE:
    case T_LARGE_TUPLE:
        print_tuple(p, c, depth);
        break;
    case T_MAP:
        print_map(p, c, depth);
        break;
    case T_LIST:
        print_list(p, c, depth);
        break;
    case T_STRING:
        print_string(p, c);
        break;
    case T_NIL:
        etf_nil(c);
        pen_adds(p, "[]");
        break;
    default:
        print_leaf(p, c);
    }
}

static void identity(struct pen *p, struct etf *c, unsigned depth);

static void identity_tuple(struct pen *p, struct etf *c, unsigned depth)
{
    uint32_t n;

    if (!etf_tuple(c, &n))
        return;
    if (n == 0)
        pen_adds(p, "{}");
    for (uint32_t i = 0; i < n && !stopped(p, c); i++) {
        if (i > 0)
            pen_adds(p, " ");
        identity(p, c, depth + 1);
    }
}

typedef size_t (*template_fn)(const char *, size_t, char *);

/* True for path(Text) or shape(Text) of a rule: {'kprof path', Text}. Then c is before the text;
 * otherwise it has not moved. */
static template_fn template_at(struct etf *c)
{
    struct etf in = *c;
    template_fn how = NULL;
    uint32_t n;

    if (etf_peek(c) != T_SMALL_TUPLE || !etf_tuple(&in, &n) || n != 2)
        return NULL;
    if (etf_is_atom(&in, "kprof path"))
        how = template_path;
    else if (etf_is_atom(&in, "kprof shape"))
        how = template_shape;
    if (how)
        *c = in;
    return how;
}

/* Text that is the same in Latin-1 and UTF-8. Does not move the cursor. */
static bool string_is_ascii(struct etf c)
{
    const uint8_t *b;
    size_t n;

    if (!string_is_text(c) || !etf_string(&c, &b, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (b[i] >= 0x80)
            return false;
    return true;
}

/* The template shortens its text, which may be longer than its name. */
static void identity_template(struct pen *p, struct etf *c, template_fn how, unsigned depth)
{
    char name[TEMPLATE_BYTES];
    struct etf in = *c, bytes = *c;
    const uint8_t *b;
    struct buf text;
    struct pen inner;
    size_t n;

    if (!etf_skip(c))
        return;
    if ((etf_peek(&in) == T_BINARY || (etf_peek(&in) == T_STRING && string_is_ascii(in))) &&
        etf_string(&bytes, &b, &n) && n > 0) {
        pen_add(p, name, how((const char *)b, n, name));
        return;
    }
    buf_init(&text, 0);
    pen_init(&inner, &text, TEMPLATE_READS);
    identity(&inner, &in, depth + 1);
    pen_add(p, name, how(text.data, text.len, name));
    buf_release(&text);
}

static bool has_template(struct etf *c, unsigned depth)
{
    bool found = template_at(c) != NULL;
    uint32_t n;

    if (found || depth > TERM_MAX_DEPTH || etf_peek(c) != T_SMALL_TUPLE) {
        etf_skip(c);
        return found;
    }
    if (!etf_tuple(c, &n))
        return false;
    for (uint32_t i = 0; i < n && !found && !c->bad; i++)
        found = has_template(c, depth + 1);
    return found;
}

/* Text without quotes; an empty text stays visible. */
static void identity(struct pen *p, struct etf *c, unsigned depth)
{
    int tag = etf_peek(c);
    const uint8_t *b;
    const char *s;
    size_t n;

    if (stopped(p, c))
        return;
    switch (tag) {
    case T_SMALL_TUPLE:
    case T_LARGE_TUPLE:
        if (depth > TERM_MAX_DEPTH)
            break;
        template_fn how = template_at(c);
        if (how)
            identity_template(p, c, how, depth);
        else
            identity_tuple(p, c, depth);
        return;
    case T_ATOM:
    case T_SMALL_ATOM:
    case T_ATOM_UTF8:
    case T_SMALL_ATOM_UTF8:
        if (etf_atom(c, &s, &n) && n > 0) {
            size_t prefix = leaf_elixir_prefix(s, n);
            leaf_text(p, s + prefix, n - prefix, leaf_tag_is_latin1(tag));
        } else {
            pen_adds(p, "''");
        }
        return;
    case T_BINARY:
        if (etf_binary(c, &b, &n) && n > 0)
            pen_add(p, (const char *)b, n);
        else
            pen_adds(p, "<<>>");
        return;
    case T_STRING:
        if (!string_is_text(*c) || !etf_string(c, &b, &n))
            break;
        leaf_text(p, (const char *)b, n, true);
        return;
    case T_LIST:
        if (!list_is_text(p, *c))
            break;
        list_text(p, c, false);
        return;
    }
    print(p, c, depth);
}

/* Validates and skips the whole term first: printing may stop early, but the cursor must not. */
static bool print_with(void (*how)(struct pen *, struct etf *, unsigned), struct etf *c,
                       struct buf *out, size_t max_bytes)
{
    struct etf in = *c;
    struct pen p;

    if (!etf_skip(c))
        return false;
    in.end = c->p;
    pen_init(&p, out, max_bytes);
    how(&p, &in, 0);
    pen_done(&p);
    return true;
}

bool term_print(struct etf *c, struct buf *out, size_t max_bytes)
{
    return print_with(print, c, out, max_bytes);
}

bool term_identity(struct etf *c, struct buf *out, size_t max_bytes)
{
    return print_with(identity, c, out, max_bytes);
}

bool term_has_template(struct etf c)
{
    return etf_peek(&c) == T_SMALL_TUPLE && has_template(&c, 0);
}
