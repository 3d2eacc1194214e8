/* Terms as text, in Erlang or Elixir syntax.
 *
 * Invariant: max_bytes bounds the output; an output that was cut ends in "...". The cursor ends
 * after the term or is bad. The output may contain any character; code that draws it must use
 * text_safe. Pure; any thread. */
#ifndef KPROF_ERL_TERM_H
#define KPROF_ERL_TERM_H

#include <kprof/base/buf.h>
#include <kprof/erl/etf.h>

/* Writes Erlang syntax ({a,"b",<<"c">>,[1]}) on one line, as ~p does. */
bool term_print(struct etf *c, struct buf *out, size_t max_bytes);
/* Writes an identity: atoms, binaries and strings without quotes, integers, the elements of a tuple
 * with a blank between them ({get,<<"/u">>} -> "get /u"). The atom of an Elixir module is written
 * as Elixir writes it ('Elixir.Shop.Page' -> "Shop.Page"). */
bool term_identity(struct etf *c, struct buf *out, size_t max_bytes);
/* Reports whether path(Text) or shape(Text) of a rule made a part of the identity. The term is then
 * {'kprof path', Text}, or has such an element, and term_identity writes the name that
 * base/template gives to the text: many terms have one name. */
bool term_has_template(struct etf c);
/* {M,F,Arity} -> "m:f/2", or "MyApp.Repo.get/2" when the name of the module begins with
 * 'Elixir.'. */
bool term_mfa(struct etf *c, struct buf *out, size_t max_bytes);
/* Both write a part of such a text, for lists of functions. term_module writes the atom at the
 * cursor as the text before a function of that module ("lists:", "MyApp.Repo.") and sets *elixir
 * when the module is an Elixir module. term_function writes the atom as the name of a function
 * ("map", "get!"). */
bool term_module(struct etf *c, struct buf *out, bool *elixir);
bool term_function(struct etf *c, struct buf *out, bool elixir);

struct mfa {                         /* a function as the user typed it */
    char module[256], function[256]; /* UTF-8, unquoted; module with "Elixir." */
    int arity;                       /* 0..255 */
};
/* Parses "m:f/2", "'odd mod':f/1", "MyApp.Repo.get/2", ":m.f/2", "MyApp.Repo.get!/2". On failure,
 * *at is the byte where the error is. */
bool term_parse_mfa(const char *s, struct mfa *out, size_t *at);
/* Parses the atom at the beginning of s: "my_server", "'odd name'", "MyApp.Repo", ":name". name: as
 * the module of struct mfa; *used: its bytes. False: there is none, or it is longer than 255. */
bool term_parse_atom(const char *s, char name[256], size_t *used);

#endif
