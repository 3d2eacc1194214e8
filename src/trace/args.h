/* Arguments of a call, as the agent tells them (PROTOCOL.md, "Arguments"), as Erlang text.
 *
 * Invariant: the cursor ends after the term or is bad; at most max_bytes are added. What was not
 * told is "..."; output may hold any character: drawing it goes through text_safe. Pure. */
#ifndef KPROF_TRACE_ARGS_H
#define KPROF_TRACE_ARGS_H

#include <kprof/base/buf.h>
#include <kprof/erl/etf.h>

/* "[update,{get,<<\"k\">>},#{3 keys},[1|...]]"; false: the term is broken. */
bool args_print(struct etf *c, struct buf *out, size_t max_bytes);

#endif
