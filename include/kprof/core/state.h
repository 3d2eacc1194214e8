/* The inside of struct core, for the units that carry events through it: follow (events to stacks
 * and requests), settle (what has ended to rows), core (doors), snapshot.
 *
 * Invariant: received == aggregated + open + expired + unattributed between any two functions
 * declared here; `open` is counted up where a call begins and down where it is accounted for, never
 * computed from the others. One thread. */
#ifndef KPROF_CORE_STATE_H
#define KPROF_CORE_STATE_H

#include <kprof/base/intern.h>
#include <kprof/core/calls.h>
#include <kprof/core/core.h>
#include <kprof/core/ident.h>
#include <kprof/core/request.h>
#include <kprof/core/slow.h>
#include <kprof/core/window.h>

enum how { HOW_RETURNED, HOW_ERROR, HOW_EXPIRED };

struct core {
    struct core_limits lim;
    const struct intern *names;
    struct tierset tiers;
    char *note[TIER_MAX];
    struct calls calls;
    struct requests requests;
    struct idents idents;
    struct windows windows;
    struct slow slow;
    uint64_t now_ns;
    uint64_t next_due_ns;   /* nothing is due before; settle_due may be skipped */
    uint64_t next_drain_ns; /* long requests give up what has ended */
    uint64_t next_scan_ns;  /* calls without a request are looked at for age */
    struct {
        uint64_t received, aggregated, open, expired, unattributed;
    } n;
    struct {
        uint64_t started, finished, open, expired;
    } r;
    struct {
        uint64_t pids_full, requests_full, late, orphan_returns, bad_events;
    } odd;
    struct sweep_item {
        uint64_t start_ns;
        uint32_t call, order;
    } * sweep; /* scratch of settle_sweep */
    uint32_t *sweep_stack;
    uint32_t sweep_cap;
};

/* ---- follow ---- */
void follow_event(struct core *c, const struct event *ev);

/* ---- settle ---- */
/* The call `at` has just left its stack at ts. */
void settle_popped(struct core *c, uint32_t at, uint64_t ts_ns, enum how how);
void settle_due(struct core *c);                   /* everything whose time has come */
void settle_doomed(struct core *c);                /* requests that lost their entry call */
void settle_request(struct core *c, uint32_t req); /* CLOSING: to rows */
void settle_expire(struct core *c, uint32_t req);  /* OPEN: with its calls */
void settle_drain(struct core *c, uint32_t req,
                  uint64_t until_ns); /* what has ended by then, early */
void settle_drop_orphan(struct core *c, uint32_t req);
void settle_unattribute(struct core *c, uint32_t at); /* a member whose call is nobody's */
void settle_expire_call(struct core *c,
                        uint32_t at); /* accounted as expired; a ghost from now on */
void settle_flush(struct core *c);

uint16_t settle_ident(struct core *c, uint32_t name); /* its number, for good */

/* ---- nest ---- */
void nest_swallow(struct core *c, uint32_t into, uint32_t from);
void nest_disown_early(struct core *c, uint32_t req); /* calls before their entry are nobody's */
/* Now that it is known: into the request it is nested in, if there is one. True: req is no more. */
bool nest_resolve(struct core *c, uint32_t req);
void nest_adopt(struct core *c,
                uint32_t req); /* those that wait for a label of req and are inside it */

/* A call that begins at ts may be part of r. */
static inline bool joinable(const struct request *r, uint64_t ts_ns)
{
    return r->state == REQ_ORPHAN || (r->state == REQ_OPEN && ts_ns >= r->start_ns) ||
           (r->state == REQ_CLOSING && ts_ns >= r->start_ns && ts_ns <= r->end_ns);
}

/* ---- sweep ---- */
/* Gives the time between the request's swept_ns and until_ns to its calls: at any instant to the
 * open one that started last. */
void settle_sweep(struct core *c, struct request *r, uint64_t until_ns);

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
