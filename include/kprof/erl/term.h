/* Terms as text: what a person, or an Elixir person, would write.
 *
 * Invariant: output is bounded by max_bytes (cut with "..."), the cursor ends after the term or is
 * bad. Output may still hold any character: drawing it goes through text_safe. Pure; any thread. */
#ifndef KPROF_ERL_TERM_H
#define KPROF_ERL_TERM_H

#include <kprof/base/buf.h>
#include <kprof/erl/etf.h>

/* Erlang syntax ({a,"b",<<"c">>,[1]}), as ~p would, on one line. */
bool term_print(struct etf *c, struct buf *out, size_t max_bytes);
/* An identity: atoms and binaries bare, strings bare, integers, tuples joined by ' '
 * ({get,<<"/u">>} -> "get /u"). */
bool term_identity(struct etf *c, struct buf *out, size_t max_bytes);
/* Is a part of that identity one that path(Text) or shape(Text) of a rule makes? Then the term is
 * {'kprof path', Text}, or has such an element, and term_identity gives base/template's name for
 * it: many terms have one name. */
bool term_has_template(struct etf c);
/* {M,F,Arity} -> "m:f/2", or "MyApp.Repo.get/2" when the module is an 'Elixir.' one. */
bool term_mfa(struct etf *c, struct buf *out, size_t max_bytes);
/* The same in parts, for lists of functions. The atom at the cursor as what stands before a
 * function of that module ("lists:", "MyApp.Repo."), *elixir says which way; and as a function of
 * such a module ("map", "get!"). */
bool term_module(struct etf *c, struct buf *out, bool *elixir);
bool term_function(struct etf *c, struct buf *out, bool elixir);

struct mfa {                         /* as typed by a person */
    char module[256], function[256]; /* UTF-8 atoms, unquoted; module with its "Elixir." */
    int arity;                       /* 0..255 */
};
/* "m:f/2", "'odd mod':f/1", "MyApp.Repo.get/2", ":m.f/2", "MyApp.Repo.get!/2". On failure *at is
 * the byte where it went wrong. */
bool term_parse_mfa(const char *s, struct mfa *out, size_t *at);

#endif
