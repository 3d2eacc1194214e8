#include <kprof/erl/scan.h>

#include <stdint.h>
#include <string.h>

static int peek(const struct scan *x, size_t ahead)
{
    return x->pos + ahead < x->n ? (unsigned char)x->s[x->pos + ahead] : -1;
}

static void step(struct scan *x)
{
    if (x->s[x->pos] == '\n') {
        x->line++;
        x->line_start = x->pos + 1;
    }
    x->pos++;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(int c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(int c)
{
    return (c >= 'A' && c <= 'Z') || c == '_';
}

/* Bytes of UTF-8 letters count as name characters: the parser of the node makes the final check. */
static bool is_name(int c)
{
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '@' || c >= 0x80;
}

static void skip_blanks(struct scan *x)
{
    while (x->pos < x->n) {
        int c = peek(x, 0);
        if (c == '%') {
            while (x->pos < x->n && x->s[x->pos] != '\n')
                step(x);
        } else if (is_space(c)) {
            step(x);
        } else {
            return;
        }
    }
}

/* Skips a quoted atom or string. Returns NULL, or the reason why it is malformed. */
static const char *skip_quoted(struct scan *x, int quote)
{
    step(x);
    while (x->pos < x->n && peek(x, 0) != quote) {
        if (peek(x, 0) == '\\' && x->pos + 1 < x->n)
            step(x);
        step(x);
    }
    if (x->pos >= x->n)
        return (quote == '"' ? "the string that starts here has no end; close it with \""
                             : "the atom that starts here has no end; close it with '");
    step(x);
    return NULL;
}

static void skip_number(struct scan *x)
{
    if (peek(x, 0) == '-')
        step(x);
    while (is_digit(peek(x, 0)) || (peek(x, 0) == '.' && is_digit(peek(x, 1))) ||
           (peek(x, 0) == '_' && is_digit(peek(x, 1))))
        step(x);
}

/* "$x" and "$\n" are characters: a quote or brace after $ has no meaning. */
static void skip_char(struct scan *x)
{
    step(x);
    if (peek(x, 0) == '\\')
        step(x);
    if (x->pos < x->n)
        step(x);
}

static bool is_dot_end(const struct scan *x)
{
    int after = peek(x, 1);
    return peek(x, 0) == '.' && (after < 0 || after == '%' || is_space(after));
}

void scan_init(struct scan *x, const char *s, size_t n)
{
    *x = (struct scan){.s = s, .n = n, .line = 1};
    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        x->pos = x->line_start = 3;
}

const char *scan_next(struct scan *x)
{
    skip_blanks(x);
    struct tok *t = &x->tok;
    *t = (struct tok){.from = x->pos, .line = x->line, .col = (int)(x->pos - x->line_start) + 1};
    int c = peek(x, 0);
    const char *wrong = NULL;
    if (c < 0) {
        t->kind = TOK_END;
    } else if (c == '"' || c == '\'') {
        t->kind = c == '"' ? TOK_STRING : TOK_ATOM;
        t->quoted = true;
        wrong = skip_quoted(x, c);
    } else if (is_digit(c) || (c == '-' && is_digit(peek(x, 1)))) {
        t->kind = TOK_NUMBER;
        skip_number(x);
    } else if (is_name(c)) {
        t->kind = is_upper(c) ? TOK_VAR : TOK_ATOM;
        while (is_name(peek(x, 0)))
            step(x);
    } else if (c == '$') {
        t->kind = TOK_OTHER;
        skip_char(x);
    } else if (is_dot_end(x)) {
        t->kind = TOK_DOT;
        step(x);
    } else {
        t->kind = strchr("{}[],", c) && c ? TOK_PUNCT : TOK_OTHER;
        step(x);
    }
    t->to = x->pos;
    return wrong;
}

bool scan_is_punct(const struct scan *x, char c)
{
    return x->tok.kind == TOK_PUNCT && x->s[x->tok.from] == c;
}

bool scan_is_op(const struct scan *x, const char *op) /* the bytes that begin at the token */
{
    size_t len = strlen(op);
    return x->tok.from + len <= x->n && memcmp(x->s + x->tok.from, op, len) == 0;
}

bool scan_is_word(const struct scan *x, const char *w)
{
    size_t len = x->tok.to - x->tok.from;
    return x->tok.kind == TOK_ATOM && !x->tok.quoted && len == strlen(w) &&
           memcmp(x->s + x->tok.from, w, len) == 0;
}

static bool begins_expression(const struct scan *x)
{
    static const char *const no[] = {"after",  "and",  "andalso", "band", "bor", "bsl",
                                     "bsr",    "bxor", "div",     "end",  "of",  "or",
                                     "orelse", "rem",  "when",    "xor"};
    static const char *const ops[] = {"(", "<<", "#", "$", "+", "-", "?"};

    if (x->tok.kind == TOK_OTHER && !scan_is_op(x, "->") && !scan_is_op(x, "++") &&
        !scan_is_op(x, "--")) {
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
            if (scan_is_op(x, ops[i]))
                return true;
        return false;
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (scan_is_word(x, no[i]))
            return false;
    return x->tok.kind == TOK_ATOM || x->tok.kind == TOK_VAR || x->tok.kind == TOK_STRING ||
           x->tok.kind == TOK_NUMBER || scan_is_punct(x, '{') || scan_is_punct(x, '[');
}

bool scan_opens_block(const struct scan *x)
{
    static const char *const words[] = {"begin", "case", "if", "receive", "try"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (scan_is_word(x, words[i]))
            return true;
    /* `maybe` is a keyword only from OTP 27 on: it is an atom unless an expression follows. */
    struct scan look = *x;
    return scan_is_word(x, "maybe") && scan_next(&look) == NULL && begins_expression(&look);
}

size_t scan_utf8(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (cp >> 18 & 7));
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

static int hex_digit(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \x41 or \x{1F600}; p is after the x. Returns the bytes used, 0 if it is malformed. */
static size_t hex_escape(const char *p, size_t n, uint32_t *cp)
{
    size_t i = 0;
    bool braces = n > 0 && p[0] == '{';
    *cp = 0;
    if (braces)
        i++;
    size_t start = i;
    while (i < n && i - start < (braces ? 6u : 2u) && hex_digit((unsigned char)p[i]) >= 0)
        *cp = *cp << 4 | (uint32_t)hex_digit((unsigned char)p[i++]);
    if (i == start || (!braces && i - start != 2) || *cp > 0x10ffff)
        return 0;
    if (braces && (i >= n || p[i++] != '}'))
        return 0;
    return i;
}

size_t scan_escape(const char *p, size_t n, uint32_t *cp)
{
    static const char from[] = "bdefnrstv", to[] = "\b\177\033\f\n\r \t\v";
    const char *at = p[0] ? strchr(from, p[0]) : NULL;
    if (p[0] == 'x')
        return hex_escape(p + 1, n - 1, cp) ? hex_escape(p + 1, n - 1, cp) + 1 : 0;
    if (p[0] >= '0' && p[0] <= '7') {
        size_t i = 0;
        for (*cp = 0; i < 3 && i < n && p[i] >= '0' && p[i] <= '7'; i++)
            *cp = *cp * 8 + (uint32_t)(p[i] - '0');
        return i;
    }
    *cp = at ? (unsigned char)to[at - from] : (unsigned char)p[0];
    return 1;
}

const char *scan_unquote(const struct scan *x, struct buf *b)
{
    size_t i = x->tok.from + 1, end = x->tok.to - 1;
    while (i < end) {
        uint32_t cp;
        char utf8[4];
        if (x->s[i] != '\\') {
            if (x->s[i] == '\0')
                return ("this text contains a NUL byte; remove it");
            buf_addch(b, x->s[i++]);
            continue;
        }
        size_t used = scan_escape(x->s + i + 1, end - i - 1, &cp);
        if (used == 0)
            return ("invalid escape; write \\xHH or \\x{HHHH}");
        if (cp == 0)
            return ("this text contains a NUL character; remove it");
        if ((unsigned char)x->s[i + 1] >= 0x80)
            buf_addch(b, x->s[i + 1]); /* a byte of UTF-8 stays a byte */
        else
            buf_add(b, utf8, scan_utf8(cp, utf8));
        i += used + 1;
    }
    return NULL;
}
