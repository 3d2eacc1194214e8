/* Converts the arguments of a call, as the agent sends them (PROTOCOL.md, "Arguments"), to Erlang
 * text.
 *
 * Invariant: the cursor ends after the term or is bad; at most max_bytes are added. Parts that the
 * agent left out are "...". The output may contain any character and must pass text_safe before it
 * is drawn. Pure. */
#ifndef KPROF_TRACE_ARGS_H
#define KPROF_TRACE_ARGS_H

#include <kprof/base/buf.h>
#include <kprof/erl/etf.h>

/* "[update,{get,<<\"k\">>},#{3 keys},[1|...]]"; false: the term is malformed. */
bool args_print(struct etf *c, struct buf *out, size_t max_bytes);

#endif
