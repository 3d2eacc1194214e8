/* Helpers for tests of core: a view of a plain window, and a way to announce the function of a tier
 * before its first call. */
#ifndef KPROF_TEST_CORE_TEST_H
#define KPROF_TEST_CORE_TEST_H

#include <core/state.h>

static inline struct snapshot *core_snapshot(struct core *c, enum window w, uint64_t wall_of_now_ns)
{
    struct view_query q = {.window = w};
    return core_view(c, &q, wall_of_now_ns);
}

static inline void core_tier_set_fn(struct core *c, uint16_t tier, uint32_t fn)
{
    c->tiers.tier[tier].fn = fn;
}

#endif
