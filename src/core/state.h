/* The inside of struct core, for the units that carry events through it: follow and target (events
 * to stacks and requests), settle (what has ended to rows), core (doors), snapshot.
 *
 * Invariant: received == aggregated + open + expired + unattributed between any two functions
 * declared here; `open` is counted up where a call begins and down where it is accounted for, never
 * computed from the others. One thread. */
#ifndef KPROF_CORE_STATE_H
#define KPROF_CORE_STATE_H

#include "calls.h"
#include "counted.h"
#include "gaps.h"
#include "heat.h"
#include "ident.h"
#include "request.h"
#include "slow_call.h"
#include "trend.h"
#include "window.h"

#include <kprof/base/intern.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/core.h>
#include <kprof/core/slow_trace.h>

enum how { HOW_RETURNED, HOW_ERROR, HOW_EXIT, HOW_EXPIRED };

struct core {
    bool keep_hists; /* rows of snapshots carry their histograms */
    struct core_limits lim;
    const struct intern *names;
    const struct text_ring *text_ring; /* NULL: arguments are not known */
    struct tierset tiers;
    char *note[TIER_MAX];
    struct calls calls;
    struct requests requests;
    struct idents idents;
    struct windows windows;
    struct heat heat;
    struct trend trend;
    struct slow_calls slow_calls;
    struct counted counted;
    struct gaps gaps;
    uint64_t called_ns; /* the newest call */
    struct slow_traces slow_traces;
    uint64_t now_ns;
    uint64_t next_due_ns;   /* nothing is due before; finalize_due may be skipped */
    uint64_t next_drain_ns; /* long requests give up what has ended */
    uint64_t next_scan_ns;  /* calls without a request are looked at for age */
    uint64_t dropped_ns;    /* when events were dropped last; 0: never */
    struct {
        uint64_t received, aggregated, open, expired, unattributed;
    } n;
    struct {
        uint64_t started, finished, open, expired;
    } r;
    struct {
        uint64_t pids_full, requests_full, late, orphan_returns, bad_events;
    } odd;
    struct self_time_item {
        uint64_t start_ns;
        uint32_t call, order;
    } * self_time; /* scratch of self_time_share */
    uint32_t *self_time_stack;
    uint32_t self_time_cap;
};

/* ---- follow ---- */
void tracker_event(struct core *c, const struct event *ev);

/* ---- settle ---- */
/* The call `at` has just left its stack at ts. */
void finalize_popped(struct core *c, uint32_t at, uint64_t ts_ns, enum how how);
void finalize_due(struct core *c);                   /* everything whose time has come */
void finalize_doomed(struct core *c);                /* requests that lost their entry call */
void finalize_request(struct core *c, uint32_t req); /* CLOSING: to rows */
void finalize_drain(struct core *c, uint32_t req,
                    uint64_t until_ns);                 /* what has ended by then, early */
void finalize_unattribute(struct core *c, uint32_t at); /* a member whose call is nobody's */
void finalize_expire_call(struct core *c,
                          uint32_t at); /* accounted as expired; a ghost from now on */
void finalize_flush(struct core *c);

uint16_t finalize_ident(struct core *c, uint32_t name); /* its number, for good */

/* ---- nest ---- */
void request_merge_swallow(struct core *c, uint32_t into, uint32_t from);
void request_merge_disown_early(struct core *c,
                                uint32_t req); /* calls before their entry are nobody's */
/* Now that it is known: into the request it is nested in, if there is one. True: req is no more. */
bool request_merge_resolve(struct core *c, uint32_t req);
void request_merge_adopt(struct core *c,
                         uint32_t req); /* those that wait for a label of req and are inside it */

/* A call that begins at ts may be part of r. */
static inline bool joinable(const struct request *r, uint64_t ts_ns)
{
    return r->state == REQ_ORPHAN || (r->state == REQ_OPEN && ts_ns >= r->start_ns) ||
           (r->state == REQ_CLOSING && ts_ns >= r->start_ns && ts_ns <= r->end_ns);
}

/* ---- sweep ---- */
/* Gives the time between the request's self_time_until_ns and until_ns to its calls: at any instant
 * to the open one that started last. */
void self_time_share(struct core *c, struct request *r, uint64_t until_ns);

/* ---- keep ---- */
/* A member of a request that goes on leaves its list: it is kept until it is known whether the
 * request is slow. */
void slow_trace_take_drained(struct core *c, uint32_t req, const struct call *f);
/* A request is being settled, its self times are given out: its calls, if it is slow. Returns the
 * number under which it is kept; 0: it is not. */
uint64_t slow_trace_take_finalized(struct core *c, uint32_t req);
void slow_trace_take_expired(struct core *c, uint32_t req);
/* A call without a request has ended: if it is late work of one that is kept. */
void slow_trace_take_alone(struct core *c, const struct call *f);

/* ---- snapshot ---- */
void *snapshot_take(struct snapshot *s, size_t bytes); /* memory that lives as long as s */
const char *snapshot_keep(struct snapshot *s, const char *text);
/* The oldest open calls; ident_name by identity index, in the arena. */
void snapshot_add_open(const struct core *c, struct snapshot *s, const char *const *ident_name);
/* The gaps and marks of the window last viewed; -> the time of it that was traced, s. */
double snapshot_add_gaps(const struct core *c, struct snapshot *s, uint64_t wall_ns);
/* The slow calls after number `since`, newest first. */
void snapshot_add_slow(const struct core *c, struct snapshot *s, uint64_t since, uint64_t wall_ns);
void snapshot_add_heat(struct core *c, struct snapshot *s, const struct view_query *l);
void snapshot_add_slow_traces(const struct core *c, struct snapshot *s, uint64_t wall_ns);

static inline double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static inline uint64_t after(uint64_t ts_ns, uint64_t by_ns)
{
    return ts_ns > UINT64_MAX - by_ns ? UINT64_MAX : ts_ns + by_ns;
}

static inline void due_at(struct core *c, uint64_t ts_ns)
{
    if (ts_ns < c->next_due_ns)
        c->next_due_ns = ts_ns;
}

#endif
