/* The private state of struct core, which the units of core share. tracker takes an event,
 * attribution decides where its call belongs, finalize adds ended calls and requests to the rows,
 * slow_record stores slow requests, snapshot makes views.
 *
 * Invariant: each part is changed by the unit it is named after. Calls and requests are also
 * changed by tracker, attribution, finalize and request_merge. One thread. */
#ifndef KPROF_CORE_STATE_H
#define KPROF_CORE_STATE_H

#include "account.h"
#include "calls.h"
#include "counted.h"
#include "detail.h"
#include "finalize.h"
#include "gaps.h"
#include "hang.h"
#include "heat.h"
#include "ident.h"
#include "inside.h"
#include "mailbox.h"
#include "request.h"
#include "sampled.h"
#include "self_time.h"
#include "slow_store.h"
#include "tracker.h"
#include "trend.h"
#include "vm_events.h"
#include "window.h"

#include <kprof/base/intern.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/core.h>

struct core {
    uint64_t now_ns;      /* the latest time seen */
    uint64_t complete_ns; /* at most now_ns: events up to this time have arrived */
    struct finalizer finalizer;
    struct tracker tracker;
    struct account account;
    struct calls calls;
    struct requests requests;
    struct self_time self_time;
    struct idents idents;
    struct windows windows;
    struct { /* settings that the caller of core made */
        struct core_limits limits;
        const struct intern *names;
        const struct text_ring *text_ring; /* NULL: arguments are not known */
        bool hists;                        /* rows of snapshots carry their histograms */
        char *note[TIER_MAX];
    } set;
    struct tierset tiers;
    struct { /* time since which calls of a tier can have been traced; ROW_TOTAL: calls of the entry
              */
        uint64_t since_ns;
        bool confirmed; /* the node has confirmed the tier */
    } set_at[ROW_TIERS];
    struct heat heat;
    struct trend trend;
    struct counted counted;
    struct slow_store slow;
    struct gaps gaps;
    struct inside inside;
    struct sampled sampled;
    struct mailbox mailbox;
    struct hang_table hangs;
    struct detail detail;
    struct vm_events vm_events;
};

static inline uint32_t seconds(uint64_t ts_ns)
{
    return (uint32_t)(ts_ns / UINT64_C(1000000000));
}

static inline uint64_t after(uint64_t ts_ns, uint64_t by_ns)
{
    return ts_ns > UINT64_MAX - by_ns ? UINT64_MAX : ts_ns + by_ns;
}

#endif
