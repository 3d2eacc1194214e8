#include "etf_tag.h"
#include "term_impl.h"

#include <kprof/base/text.h>
#include <kprof/erl/scan.h>
#include <string.h>

#define ELIXIR "Elixir."

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_high(char c) /* part of a character beyond ASCII */
{
    return ((unsigned char)c & 0x80) != 0;
}

static bool is_operator(char c)
{
    return c != 0 && strchr("+-*/<>=!&|^~@.", c) != NULL;
}

static bool all_operator(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_operator(s[i]))
            return false;
    return n > 0;
}

/* A name that Elixir writes after a dot without quotes. */
static bool elixir_bare(const char *s, size_t n)
{
    if (all_operator(s, n))
        return true;
    if (n == 0 || !(is_lower(s[0]) || s[0] == '_'))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!leaf_is_word(s[i]) && !(i == n - 1 && (s[i] == '?' || s[i] == '!')))
            return false;
    return true;
}

struct atom {
    const char *s;
    size_t n;
    bool latin1;
};

static bool get_atom(struct etf *c, struct atom *a)
{
    a->latin1 = leaf_tag_is_latin1(etf_peek(c));
    return etf_atom(c, &a->s, &a->n);
}

static void erlang_atom(struct pen *p, const struct atom *a)
{
    if (leaf_atom_is_bare(a->s, a->n, a->latin1))
        leaf_text(p, a->s, a->n, a->latin1);
    else
        leaf_quoted(p, a->s, a->n, a->latin1, '\'');
}

/* -> true: the function is written in Elixir syntax */
static bool write_module(struct pen *p, const struct atom *m)
{
    size_t prefix = leaf_elixir_prefix(m->s, m->n);
    bool elixir = prefix > 0;

    if (elixir)
        pen_add(p, m->s + prefix, m->n - prefix);
    else
        erlang_atom(p, m);
    pen_adds(p, elixir ? "." : ":");
    return elixir;
}

static void write_function(struct pen *p, const struct atom *f, bool elixir)
{
    if (!elixir)
        erlang_atom(p, f);
    else if (elixir_bare(f->s, f->n))
        pen_add(p, f->s, f->n);
    else
        leaf_quoted(p, f->s, f->n, f->latin1, '"');
}

static void write_mfa(struct pen *p, const struct atom *m, const struct atom *f, uint64_t arity)
{
    write_function(p, f, write_module(p, m));
    pen_addf(p, "/%llu", (unsigned long long)arity);
}

bool term_module(struct etf *c, struct buf *out, bool *elixir)
{
    struct atom m;
    struct pen p;

    *elixir = false;
    if (!get_atom(c, &m))
        return false;
    pen_init(&p, out, out->max);
    *elixir = write_module(&p, &m);
    pen_done(&p);
    return true;
}

bool term_function(struct etf *c, struct buf *out, bool elixir)
{
    struct atom f;
    struct pen p;

    if (!get_atom(c, &f))
        return false;
    pen_init(&p, out, out->max);
    write_function(&p, &f, elixir);
    pen_done(&p);
    return true;
}

/* An arity, or the list of arguments in its place in {M,F,Args}. */
static bool arity_of(struct etf *c, uint64_t *arity)
{
    const uint8_t *b;
    size_t bytes;
    uint32_t n;

    switch (etf_peek(c)) {
    case T_STRING:
    case T_NIL:
        if (!etf_string(c, &b, &bytes))
            return false;
        *arity = bytes;
        return true;
    case T_LIST:
        if (!etf_list(c, &n))
            return false;
        *arity = n;
        return true;
    default:
        return etf_u64(c, arity);
    }
}

bool term_mfa(struct etf *c, struct buf *out, size_t max_bytes)
{
    struct etf in = *c, whole = *c;
    struct atom m, f;
    struct pen p;
    uint64_t arity;
    uint32_t n;

    if (!etf_tuple(&in, &n) || n != 3 || !get_atom(&in, &m) || !get_atom(&in, &f) ||
        !arity_of(&in, &arity))
        return term_print(c, out, max_bytes); /* undefined, and any other term */
    if (!etf_skip(&whole)) {
        *c = whole;
        return false;
    }
    *c = whole;
    pen_init(&p, out, max_bytes);
    write_mfa(&p, &m, &f, arity);
    pen_done(&p);
    return true;
}

/* The text that is read, and the position in it. */
struct reading {
    const char *s;
    size_t i;
};

static bool put(char name[256], size_t *n, char c)
{
    if (c == 0 || *n >= 255)
        return false;
    name[(*n)++] = c;
    name[*n] = 0;
    return true;
}

static bool put_cp(char name[256], size_t *n, uint32_t cp)
{
    char utf8[4];
    bool ok = cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);
    size_t bytes = ok ? scan_utf8(cp, utf8) : 0;

    for (size_t i = 0; i < bytes && ok; i++)
        ok = put(name, n, utf8[i]);
    return ok;
}

/* The character after a backslash. */
static bool escape(struct reading *in, uint32_t *cp)
{
    const char *p = in->s + in->i;
    size_t used = *p && !is_high(*p) ? scan_escape(p, strlen(p), cp) : 0;

    in->i += used;
    return used > 0;
}

/* A quoted name; the cursor is on the opening quote, and afterwards after the closing one. */
static bool quoted(struct reading *in, char name[256])
{
    char quote = in->s[in->i++];
    size_t n = 0;
    uint32_t cp;

    name[0] = 0;
    while (in->s[in->i] != quote) {
        if (in->s[in->i] == 0)
            return false;
        if (in->s[in->i] != '\\') {
            if (!put(name, &n, in->s[in->i]))
                return false;
            in->i++;
            continue;
        }
        in->i++;
        size_t at = in->i;
        if (!escape(in, &cp) || cp == 0 || !put_cp(name, &n, cp)) {
            in->i = at;
            return false;
        }
    }
    in->i++;
    return true;
}

/* Copies n bytes of an unquoted name. */
static bool take(struct reading *in, size_t n, char name[256], size_t *used)
{
    for (size_t k = 0; k < n; k++, in->i++)
        if (!put(name, used, in->s[in->i]))
            return false;
    return true;
}

static size_t word(const char *s)
{
    size_t n = 0;

    while (leaf_is_word(s[n]) || s[n] == '@' || is_high(s[n]))
        n++;
    return n;
}

/* MyApp.Repo, as 'Elixir.MyApp.Repo'; or a literal Elixir.MyApp.Repo. */
static bool alias(struct reading *in, char name[256], bool *literal)
{
    const char *s = in->s + in->i;
    size_t n = leaf_alias(s, strlen(s)), used = 0;

    *literal = strncmp(s, ELIXIR, strlen(ELIXIR)) == 0;
    if (!*literal) {
        memcpy(name, ELIXIR, strlen(ELIXIR) + 1);
        used = strlen(ELIXIR);
    }
    return take(in, n, name, &used);
}

/* With the dot after it; a literal one may be followed by a colon, as in Erlang. */
static bool alias_module(struct reading *in, struct mfa *out)
{
    bool literal;

    if (!alias(in, out->module, &literal))
        return false;
    if (in->s[in->i] == '.' || (literal && in->s[in->i] == ':')) {
        in->i++;
        return true;
    }
    return false;
}

static bool separator(struct reading *in, char c)
{
    if (in->s[in->i] != c)
        return false;
    in->i++;
    return true;
}

static bool module(struct reading *in, struct mfa *out)
{
    char c = in->s[0];
    size_t used = 0;

    if (is_upper(c))
        return alias_module(in, out);
    if (c == '\'')
        return quoted(in, out->module) && separator(in, ':');
    if (c == ':') {
        in->i++;
        c = in->s[in->i];
        if (c == '"' || c == '\'')
            return quoted(in, out->module) && separator(in, '.');
        return word(in->s + in->i) > 0 && !is_digit(c) && c != '@' &&
               take(in, word(in->s + in->i), out->module, &used) && separator(in, '.');
    }
    return (is_lower(c) || is_high(c)) && take(in, word(in->s), out->module, &used) &&
           separator(in, ':');
}

/* Names of funs that the compiler generates: -handle/2-fun-0-. */
static bool fun_name(const char *s, size_t n)
{
    if (n < 3 || s[0] != '-' || s[n - 1] != '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || s[i] == '\'' || s[i] == '"' || s[i] == 127)
            return false;
    return true;
}

/* An unquoted function: everything up to the last '/'. */
static bool bare_function(struct reading *in, struct mfa *out)
{
    const char *s = in->s + in->i, *slash = strrchr(s, '/');
    size_t n = slash != NULL ? (size_t)(slash - s) : strlen(s), used = 0, ok;

    if (!all_operator(s, n) && !fun_name(s, n)) {
        ok = is_lower(s[0]) || s[0] == '_' || is_high(s[0]) ? word(s) : 0;
        if (ok > 0 && (s[ok] == '?' || s[ok] == '!'))
            ok++;
        if (ok < n || n == 0) {
            in->i += ok;
            return false;
        }
    }
    return take(in, n, out->function, &used);
}

static bool arity(struct reading *in, int *out)
{
    int v = 0;

    if (!is_digit(in->s[in->i]))
        return false;
    while (is_digit(in->s[in->i])) {
        v = v * 10 + (in->s[in->i] - '0');
        if (v > 255)
            return false;
        in->i++;
    }
    *out = v;
    return in->s[in->i] == 0;
}

/* Returns the position at which s stops being UTF-8; its length if all of it is. */
static size_t utf8_end(const char *s)
{
    size_t n = strlen(s), i = 0;
    uint32_t cp;

    while (i < n) {
        size_t used = text_next(s + i, n - i, &cp);
        if (cp == UINT32_MAX)
            break;
        i += used;
    }
    return i;
}

bool term_parse_mfa(const char *s, struct mfa *out, size_t *at)
{
    struct reading in = {.s = s};
    size_t end = utf8_end(s);

    memset(out, 0, sizeof *out);
    *at = end;
    if (s[end] != 0)
        return false;
    bool ok = module(&in, out);
    if (ok && (s[in.i] == '\'' || s[in.i] == '"'))
        ok = quoted(&in, out->function);
    else if (ok)
        ok = bare_function(&in, out);
    ok = ok && separator(&in, '/') && arity(&in, &out->arity);
    *at = in.i;
    return ok;
}

/* A name without quotes: my_server. */
static bool bare_atom(struct reading *in, char name[256])
{
    char c = in->s[in->i];
    size_t n = word(in->s + in->i), used = 0;

    return n > 0 && !is_digit(c) && c != '@' && c != '_' && take(in, n, name, &used);
}

bool term_parse_atom(const char *s, char name[256], size_t *used)
{
    struct reading in = {.s = s};
    bool ok, literal;

    name[0] = 0;
    if (is_upper(s[0])) {
        ok = alias(&in, name, &literal);
    } else if (s[0] == ':') {
        in.i = 1;
        ok = s[1] == '"' || s[1] == '\'' ? quoted(&in, name) : bare_atom(&in, name);
    } else {
        ok = s[0] == '\'' ? quoted(&in, name) : bare_atom(&in, name);
    }
    *used = in.i;
    return ok && utf8_end(name) == strlen(name);
}
