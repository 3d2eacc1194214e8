/* The lexer of Erlang terms, as far as config files and quoted names need it: begin, end and kind
 * of each token.
 *
 * Invariant: accepts any bytes. Every call advances or reports the end. Nothing is copied: a token
 * is a range of the source, which the caller keeps. Source: Erlang reference manual, "Data Types"
 * and "Escape Sequences". Any thread. */
#ifndef KPROF_ERL_SCAN_H
#define KPROF_ERL_SCAN_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tok_kind {
    TOK_END,
    TOK_PUNCT, /* one of {}[], */
    TOK_ATOM,  /* including keywords such as `end` */
    TOK_VAR,
    TOK_STRING,
    TOK_NUMBER,
    TOK_DOT, /* the dot that ends a term */
    TOK_OTHER
};

struct tok {
    enum tok_kind kind;
    size_t from, to; /* bytes of the source */
    int line, col;   /* from 1; col in bytes */
    bool quoted;     /* an atom in quotes is never a keyword */
};

struct scan {
    const char *s;
    size_t n, pos, line_start;
    int line;
    struct tok tok; /* the token that scan_next read last */
};

void scan_init(struct scan *x, const char *s, size_t n);
/* Reads the next token. Returns NULL, or the reason why the token is malformed. */
const char *scan_next(struct scan *x);
bool scan_is_punct(const struct scan *x, char c);
bool scan_is_word(const struct scan *x, const char *w); /* an unquoted atom */
bool scan_is_op(const struct scan *x, const char *op);  /* the bytes that begin at the token */
/* The token is a keyword with which a block begins that has an `end`, but not `fun`. */
bool scan_opens_block(const struct scan *x);
/* Appends the value of a quoted atom or string, with escapes decoded, as UTF-8. Returns NULL, or
 * the reason why it is malformed (it contains a NUL, for example). */
const char *scan_unquote(const struct scan *x, struct buf *b);

/* Decodes one escape sequence; p points to the byte after the backslash, n > 0. Returns the bytes
 * used, or 0 when p is not at an escape sequence. A byte of UTF-8 stays a byte. */
size_t scan_escape(const char *p, size_t n, uint32_t *cp);
/* Encodes a code point as UTF-8. Returns the bytes used, 1 to 4. */
size_t scan_utf8(uint32_t cp, char out[4]);

#endif
