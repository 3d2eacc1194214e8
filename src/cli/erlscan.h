/* Erlang tokens, as far as a config file needs them: where each begins and ends, and of what kind.
 *
 * Invariant: any bytes are survived; every call moves on or reports the end; nothing is copied (a
 * token is a range of the source, which the caller keeps). Source: Erlang reference manual, "Data
 * Types" and "Escape Sequences". Any thread. */
#ifndef KPROF_CLI_ERLSCAN_H
#define KPROF_CLI_ERLSCAN_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>

enum tok_kind {
    TOK_END,
    TOK_PUNCT, /* one of {}[], */
    TOK_ATOM,  /* words like `end` too */
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

struct erlscan {
    const char *s;
    size_t n, pos, line_start;
    int line;
    struct tok tok; /* the token under the eye, after erlscan_next */
};

void erlscan_init(struct erlscan *x, const char *s, size_t n);
/* Goes on to the next token. NULL, or what is wrong with it. */
const char *erlscan_next(struct erlscan *x);
bool erlscan_is_punct(const struct erlscan *x, char c);
bool erlscan_is_word(const struct erlscan *x, const char *w); /* an unquoted atom */
bool erlscan_is_op(const struct erlscan *x, const char *op); /* the bytes that begin at the token */
/* Appends the value of a quoted atom or string, escapes undone, UTF-8. NULL, or what is wrong with
 * it (a NUL is). */
const char *erlscan_unquote(const struct erlscan *x, struct buf *b);

#endif
