/* One question to the agent: its request, its answer, and what is said when that makes no sense.
 * For the units that ask.
 *
 * Invariant: after query_begin or query_word the query is ended by query_end, whatever came of it,
 * and c reads in answer, which holds QUERY_BYTES at the most. Blocks for QUERY_TIMEOUT_MS at the
 * most; control thread. Knows no question. */
#ifndef KPROF_TRACE_QUERY_H
#define KPROF_TRACE_QUERY_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

#define QUERY_TIMEOUT_MS 8000
#define QUERY_BYTES      ((size_t)8 << 20)

struct query {
    struct buf ask, answer;
    struct etf c;
};

/* {what, Term}: the caller writes the term into ask. */
void query_begin(struct query *q, const char *what);
/* The atom what, nothing more. */
void query_word(struct query *q, const char *what);
/* 0 with c at the answer, or -1 with err. */
int query_send(struct query *q, struct session *s, struct err *e);
/* Sends and ends it: the answer only has to come. */
int query_done(struct query *q, struct session *s, struct err *e);
void query_end(struct query *q);
/* The answer about `what` cannot be read; -1. */
int query_odd(const char *what, struct err *e);
/* A string at c, cut to fit; "" when there is none. */
void query_text(struct etf *c, char *out, size_t cap);

#endif
