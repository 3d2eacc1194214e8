/* What became of the calls and requests: the counters of a session, and every step that changes
 * them. Inside of core.
 *
 * Invariant: calls.received == aggregated + open + expired + unattributed and requests.started ==
 * finished + open + expired between any two functions of core's parts. A call or request is counted
 * as open where it begins, and taken from there once, where it is accounted for: `open` is never
 * computed from the others. One thread. */
#ifndef KPROF_CORE_ACCOUNT_H
#define KPROF_CORE_ACCOUNT_H

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
    } odd;
};

/* ---- a call that has been received: exactly one of the three, then, if open, of the next three */

static inline void account_call_opened(struct account *a)
{
    a->calls.open++;
}

static inline void account_call_refused(struct account *a) /* it belongs to no request */
{
    a->calls.unattributed++;
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

static inline void account_call_unattributed(struct account *a)
{
    a->calls.unattributed++;
    a->calls.open--;
}

/* ---- a request ---- */

static inline void account_request_started(struct account *a)
{
    a->requests.started++;
    a->requests.open++;
}

static inline void account_request_merged(struct account *a) /* it was part of another */
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

/* All begins anew; what is open stays so. */
static inline void account_zero(struct account *a)
{
    memset(&a->odd, 0, sizeof a->odd);
    a->calls.received = a->calls.open;
    a->calls.aggregated = a->calls.expired = a->calls.unattributed = 0;
    a->requests.started = a->requests.open;
    a->requests.finished = a->requests.expired = 0;
}

/* ---- with the call's state: from here on it is CALL_ACCOUNTED, and only keeps stack and list in
 * order
 */

/* The call is given up; if it is the entry of an open request, so is that (REQ_EXPIRING). */
void account_expire(struct core *c, uint32_t at);
/* A member of a request that turned out to belong to none. */
void account_unattribute(struct core *c, uint32_t at);

#endif
