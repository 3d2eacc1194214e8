#include "slow_kept.h"

#include <kprof/core/snapshot.h>
#include <stdlib.h>
#include <string.h>

static void drop(struct slow_kept *k, uint32_t at)
{
    free(k->of[at].entry);
    slow_trace_unref(k->of[at].trace);
    k->n--;
    memmove(&k->of[at], &k->of[at + 1], (k->n - at) * sizeof k->of[0]);
}

/* The position of the fastest request of an identity if SLOW_KEPT_EACH of its requests are kept;
 * else SLOW_KEPT. */
static uint32_t fastest_of(struct slow_kept *k, uint32_t ident)
{
    uint32_t least = SLOW_KEPT, n = 0;

    for (uint32_t i = 0; i < k->n; i++) {
        struct slow_kept_one *o = &k->of[i];
        if (o->ident != ident)
            continue;
        o->ident = o->entry->ident; /* the number may belong to another identity now */
        if (o->ident != ident)
            continue;
        n++;
        if (least == SLOW_KEPT || o->took_ns < k->of[least].took_ns)
            least = i;
    }
    return n < SLOW_KEPT_EACH ? SLOW_KEPT : least;
}

uint32_t slow_kept_before(const struct slow_kept *k, uint64_t done)
{
    uint32_t low = 0, high = k->n;

    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (k->of[mid].entry->done < done)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct slow_kept_one *kept(struct slow_kept *k, uint64_t done)
{
    uint32_t at = slow_kept_before(k, done);
    return at < k->n && k->of[at].entry->done == done ? &k->of[at] : NULL;
}

static void insert(struct slow_kept *k, const struct slow_kept_one *one)
{
    uint32_t at = slow_kept_before(k, one->entry->done);

    memmove(&k->of[at + 1], &k->of[at], (k->n - at) * sizeof k->of[0]);
    k->of[at] = *one;
    k->n++;
}

void slow_kept_add(struct slow_kept *k, const struct slow_entry *e,
                   const struct slow_trace_request *trace)
{
    struct slow_kept_one one = {.ident = e->ident};

    if (kept(k, e->done))
        return;
    one.took_ns = e->request_ns ? e->request_ns : slow_entry_longest(e)->duration_ns;
    while (k->n && k->of[0].entry->end_ns + window_ns(WINDOW_3H) < e->end_ns)
        drop(k, 0);
    uint32_t least = fastest_of(k, e->ident);
    if (least < SLOW_KEPT && one.took_ns <= k->of[least].took_ns)
        return;
    if (least < SLOW_KEPT)
        drop(k, least);
    else if (k->n == SLOW_KEPT)
        drop(k, 0);
    one.entry = malloc(sizeof *one.entry);
    if (!one.entry)
        abort();
    *one.entry = *e;
    one.trace = trace ? slow_trace_ref(trace) : NULL;
    insert(k, &one);
}

bool slow_kept_compact(struct slow_kept *k, uint64_t done, const struct slow_trace_request *trace)
{
    struct slow_kept_one *one = kept(k, done);

    if (!one)
        return false;
    slow_trace_unref(one->trace);
    one->trace = slow_trace_compact(trace, SLOW_KEPT_CALLS);
    one->compact = true;
    return true;
}

void slow_kept_forget_tier(struct slow_kept *k, uint16_t tier)
{
    for (uint32_t i = k->n; i-- > 0;)
        if (!slow_entry_forget_tier(k->of[i].entry, tier))
            drop(k, i);
}

void slow_kept_clear(struct slow_kept *k)
{
    while (k->n)
        drop(k, k->n - 1);
}
