/* Shared by the files of term: bounded output, and the leaves of a term. For src/erl only. Pure;
 * any thread. */
#ifndef KPROF_ERL_TERM_IMPL_H
#define KPROF_ERL_TERM_IMPL_H

#include <kprof/erl/term.h>

#define TERM_MAX_DEPTH 100

/* Appends to out until it has max bytes; everything after that is dropped. */
struct pen {
    struct buf *out;
    size_t start, max; /* bytes */
    bool full;
};

void pen_init(struct pen *p, struct buf *out, size_t max_bytes);
void pen_add(struct pen *p, const char *s, size_t n);
void pen_adds(struct pen *p, const char *s);
void pen_addf(struct pen *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void pen_cp(struct pen *p, uint32_t cp); /* as UTF-8 */
void pen_done(struct pen *p);            /* a cut text ends in "..." */

/* Text between quotes with Erlang's escapes; Latin-1 bytes or UTF-8. */
void leaf_quoted(struct pen *p, const char *s, size_t n, bool latin1, char quote);
/* one character of such a text */
void leaf_escaped(struct pen *p, uint32_t cp, char quote);
/* The text of an atom, Latin-1 converted to UTF-8. */
void leaf_text(struct pen *p, const char *s, size_t n, bool latin1);
bool leaf_atom_is_bare(const char *s, size_t n, bool latin1);
bool leaf_tag_is_latin1(int tag);
bool leaf_printable(uint32_t cp); /* in a string literal */

/* Returns the length of "Elixir." when s is the atom of an Elixir module, which Elixir writes
 * without it; else 0. */
size_t leaf_elixir_prefix(const char *s, size_t n);
bool leaf_is_word(char c); /* a letter, digit or _ of ASCII */
/* Returns the length of the segments at s, as in MyApp.Repo; 0: s does not begin with one. */
size_t leaf_alias(const char *s, size_t n);

/* Each function prints the term at the cursor and moves past it; the caller has read the tag. */
void leaf_atom(struct pen *p, struct etf *c);
void leaf_integer(struct pen *p, struct etf *c);
void leaf_float(struct pen *p, struct etf *c);
void leaf_big(struct pen *p, struct etf *c);
void leaf_binary(struct pen *p, struct etf *c);
void leaf_bits(struct pen *p, struct etf *c);
void leaf_pid(struct pen *p, struct etf *c);
void leaf_port(struct pen *p, struct etf *c);
void leaf_reference(struct pen *p, struct etf *c);
void leaf_fun(struct pen *p, struct etf *c);
void leaf_export(struct pen *p, struct etf *c);

#endif
