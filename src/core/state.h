/* The inside of struct core: what the units share that carry events through it. tracker takes an
 * event, attribution says where its call belongs, finalize makes rows of what has ended,
 * slow_record stores what was slow, snapshot makes views.
 *
 * Invariant: each part below is changed by the unit it is named after; calls and requests by those
 * that carry events. One thread. */
#ifndef KPROF_CORE_STATE_H
#define KPROF_CORE_STATE_H

#include "account.h"
#include "calls.h"
#include "counted.h"
#include "finalize.h"
#include "gaps.h"
#include "heat.h"
#include "ident.h"
#include "request.h"
#include "self_time.h"
#include "slow_store.h"
#include "tracker.h"
#include "trend.h"
#include "window.h"

#include <kprof/base/intern.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/core.h>

struct core {
    uint64_t now_ns; /* the latest time seen */
    struct finalizer finalizer;
    struct tracker tracker;
    struct account account;
    struct calls calls;
    struct requests requests;
    struct self_time self_time;
    struct idents idents;
    struct windows windows;
    struct { /* what core was told */
        struct core_limits limits;
        const struct intern *names;
        const struct text_ring *text_ring; /* NULL: arguments are not known */
        bool hists;                        /* rows of snapshots carry their histograms */
        char *note[TIER_MAX];
    } set;
    struct tierset tiers;
    struct { /* since when a tier's calls can have been traced; ROW_TOTAL: those of the entry */
        uint64_t since_ns;
        bool confirmed; /* the target has said so */
    } set_at[ROW_TIERS];
    struct heat heat;
    struct trend trend;
    struct counted counted;
    struct slow_store slow;
    struct gaps gaps;
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
