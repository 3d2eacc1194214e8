/* The counters of calls and requests of a session, and every step that changes them. Private to
 * core.
 *
 * Invariant: between any two functions of the units of core, calls.received == aggregated + open +
 * expired + unattributed and requests.started == finished + open + expired. A call or request is
 * counted as open when it begins and leaves `open` once, when another counter takes it; `open` is
 * never computed from the other counters. One thread. */
#ifndef KPROF_CORE_ACCOUNT_H
#define KPROF_CORE_ACCOUNT_H

#include <kprof/core/tier.h>
#include <stdint.h>
#include <string.h>

struct core;

struct account {
    struct {
        uint64_t received, aggregated, open, expired, unattributed;
    } calls;
    struct {
        uint64_t started, finished, open, expired;
    } requests;
    struct {
        uint64_t pids_full, requests_full, late, orphan_returns, bad_events;
    } anomalies;
    uint64_t unattributed_ns[TIER_MAX]; /* start of the newest such call of the tier; 0: none */
};

/* ---- a received call: counted in one of these three; if open, later in one of the next three */

static inline void account_call_opened(struct account *a)
{
    a->calls.open++;
}

/* It belongs to no request. tier: any number. */
static inline void account_call_refused(struct account *a, uint16_t tier, uint64_t ts_ns)
{
    a->calls.unattributed++;
    if (tier < TIER_MAX)
        a->unattributed_ns[tier] = ts_ns;
}

static inline void account_call_folded(struct account *a) /* counted as part of an open call */
{
    a->calls.aggregated++;
}

static inline void account_call_aggregated(struct account *a)
{
    a->calls.aggregated++;
    a->calls.open--;
}

static inline void account_call_expired(struct account *a)
{
    a->calls.expired++;
    a->calls.open--;
}

static inline void account_call_unattributed(struct account *a, uint16_t tier, uint64_t ts_ns)
{
    account_call_refused(a, tier, ts_ns);
    a->calls.open--;
}

/* ---- a request ---- */

static inline void account_request_started(struct account *a)
{
    a->requests.started++;
    a->requests.open++;
}

static inline void account_request_merged(struct account *a) /* it was part of another request */
{
    a->requests.started--;
    a->requests.open--;
}

static inline void account_request_finished(struct account *a)
{
    a->requests.finished++;
    a->requests.open--;
}

static inline void account_request_expired(struct account *a)
{
    a->requests.expired++;
    a->requests.open--;
}

/* Sets all counters to zero; calls and requests that are open stay counted. */
static inline void account_zero(struct account *a)
{
    memset(&a->anomalies, 0, sizeof a->anomalies);
    memset(a->unattributed_ns, 0, sizeof a->unattributed_ns);
    a->calls.received = a->calls.open;
    a->calls.aggregated = a->calls.expired = a->calls.unattributed = 0;
    a->requests.started = a->requests.open;
    a->requests.finished = a->requests.expired = 0;
}

/* ---- these also set the kind of the call to CALL_ACCOUNTED: from then on the call only keeps
 * stack and list in order */

/* Expires a call. If the call is the entry of an open request, the request expires, too
 * (REQ_EXPIRING). */
void account_expire(struct core *c, uint32_t at);
/* Counts a call as unattributed: it was a member of a request but belongs to none. */
void account_unattribute(struct core *c, uint32_t at);

#endif
