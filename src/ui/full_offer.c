#include "full_offer.h"

#include <kprof/core/tier.h>

/* Keeps the list in ascending order, with each duration once. */
static void add(struct full_offer *o, double us)
{
    uint64_t ns = us > 0 && us < 1e12 ? (uint64_t)(us * 1e3) : 0;
    size_t n = 0;
    while (n < FULL_SLOW_CHOICES && o->slow_ns[n] && o->slow_ns[n] < ns) {
        n++;
    }
    if (!ns || n == FULL_SLOW_CHOICES || o->slow_ns[n] == ns || o->slow_ns[FULL_SLOW_CHOICES - 1]) {
        return;
    }
    for (size_t i = FULL_SLOW_CHOICES - 1; i > n; i--) {
        o->slow_ns[i] = o->slow_ns[i - 1];
    }
    o->slow_ns[n] = ns;
}

struct full_offer full_offer_request(const struct snapshot *s, const char *ident, double took_us)
{
    struct full_offer o = {.request = true, .tier = TIER_TOTAL, .ident = ident};
    add(&o, s ? (double)s->slow_ns / 1e3 : 0);
    add(&o, took_us / 2);
    add(&o, took_us);
    o.default_slow_ns = took_us > 0 && s ? s->slow_ns : 0;
    return o;
}

struct full_offer full_offer_row(const struct snapshot *s, const struct snap_row *r)
{
    struct full_offer o = full_offer_request(s, r->ident, 0);
    if (!r->ident && r->tier != TIER_TOTAL) {
        o.tier = r->tier;
        o.tier_name = r->tier_name;
    }
    if (r->tier == TIER_TOTAL || !r->ident) { /* the durations are those of what is traced */
        add(&o, r->count ? r->p50_us : 0);
        add(&o, r->count ? r->p99_us : 0);
    }
    return o;
}
