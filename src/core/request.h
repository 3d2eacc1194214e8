/* The table of requests (open, just closed, or waiting for their entry) and of the labels that lead
 * to them. Private to core.
 *
 * Invariant: a label leads to at most one request or to one remembered closed label. Closed labels
 * are remembered until so many newer ones are that there is no more room; of those that were
 * dropped, only the range of their tickets is known. A request is
 * in exactly one list, that of its state, in the order of arrival there. The table owns no calls
 * and counts nothing. Memory is reserved at the start. One thread. */
#ifndef KPROF_CORE_REQUEST_H
#define KPROF_CORE_REQUEST_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

#define REQ_NIL UINT32_MAX

enum req_state {
    REQ_FREE,
    REQ_ORPHAN, /* calls with its label arrived, but the entry has not yet */
    REQ_OPEN,
    REQ_CLOSING,  /* the entry returned; waits for late events of other processes */
    REQ_EXPIRING, /* to be expired before the next event */
    REQ_ALIAS,    /* only the label of an entry nested in another request */
    REQ_STATES
};

struct request {
    uint64_t label;     /* 0: none */
    uint64_t prev;      /* label of a request that this one may be nested in; 0: none */
    uint64_t prev_else; /* the same, if no entry comes with the label prev; 0: none */
    uint64_t start_ns, end_ns;
    uint64_t due_ns;             /* ORPHAN, CLOSING: when it is finalized */
    uint64_t self_time_until_ns; /* self time is computed up to here */
    uint32_t first, last;        /* its calls, in order of arrival */
    uint32_t n_calls, ended;     /* calls in the list; number of them off the stack */
    uint32_t drain_at;           /* n_calls at which ended calls are finalized early */
    uint32_t entry;              /* the entry call; CALL_NIL once the call is finalized */
    uint32_t ident;              /* name id of its identity; 0: not known */
    uint32_t weight;
    uint32_t aliases, oldest_alias, n_aliases; /* its REQ_ALIAS, newest first, by next_alias */
    uint32_t next_alias, prev_alias, alias_of;
    uint32_t newer, older;           /* neighbors in its list */
    uint32_t waits_next, waits_prev; /* requests that wait for the same prev */
    uint32_t waits_n;                /* in the first of them: how many */
    uint64_t slow_seq;               /* number of its line in the list of slow requests; 0: none */
    uint64_t omitted_self_ns;        /* self time of its calls that are not stored */
    uint32_t omitted;
    uint8_t trace; /* its position in the slow store, from 1; 0: none yet */
    uint8_t state;
    bool waits, error, exit;
    bool drained; /* some of its calls were finalized before it ended */
};

struct closed_label {
    uint64_t label, end_ns;
    uint32_t ident;
    uint32_t weight; /* 0: expired or dropped, not closed; its calls are unattributed */
};

struct requests {
    struct request *req;
    uint32_t cap, high, free;
    struct map by_label; /* label -> request, or CLOSED_BIT | slot in closed */
    struct map by_prev;  /* unknown prev -> first request that waits for it */
    struct {
        uint32_t oldest, newest;
    } list[REQ_STATES];
    uint32_t in_state[REQ_STATES];
    struct closed_label *closed; /* a ring: the oldest is dropped */
    uint32_t closed_cap, closed_at;
    uint64_t forgotten_first, forgotten_last; /* those that were dropped; 0: none */
};

/* Reports whether a call that begins at ts may be part of r. */
static inline bool request_joinable(const struct request *r, uint64_t ts_ns)
{
    return r->state == REQ_ORPHAN || (r->state == REQ_OPEN && ts_ns >= r->start_ns) ||
           (r->state == REQ_CLOSING && ts_ns >= r->start_ns && ts_ns <= r->end_ns);
}

void requests_init(struct requests *t, uint32_t max_open);
void requests_release(struct requests *t);
void requests_clear(struct requests *t); /* clears everything except the closed labels */

uint32_t requests_new(struct requests *t, enum req_state state, uint64_t label); /* REQ_NIL: full */
void requests_move(struct requests *t, uint32_t at, enum req_state to);
/* Frees a request and its aliases. Their labels are stored as closed, or dropped when remember is
 * NULL. */
void requests_free(struct requests *t, uint32_t at, const struct closed_label *remember);
bool requests_alias(struct requests *t, uint32_t of, uint64_t label); /* false: full */
/* A request keeps the newest labels: an entry that calls itself would use up the table otherwise.
 * A label that was dropped leads to nothing. Not while the aliases of the request are walked. */
void requests_trim_aliases(struct requests *t, uint32_t of);
/* Makes all labels and aliases of `from` lead to `into`, and frees `from`. Does not change calls.
 * */
void requests_merge(struct requests *t, uint32_t into, uint32_t from);

/* Finds what a label leads to. Returns a request (after following aliases), or REQ_NIL; with
 * REQ_NIL, *closed is the closed label or NULL. */
uint32_t requests_find(struct requests *t, uint64_t label, const struct closed_label **closed);
void requests_remember(struct requests *t, struct closed_label closed);
/* True: the label leads to nothing, and by its ticket it is one of the closed labels that were
 * dropped. */
bool requests_forgot(const struct requests *t, uint64_t label);
/* The requests that have closed do not count any more: their labels are those of dropped ones. */
void requests_disown(struct requests *t);

/* Requests whose prev is not known yet: it may be the label of an entry that has not arrived. */
void requests_wait(struct requests *t, uint32_t at, uint64_t prev);
uint32_t requests_waiting(const struct requests *t, uint64_t prev); /* the first, then waits_next */

#endif
