#include "counted.h"

#include <kprof/base/clock.h>
#include <stdlib.h>
#include <string.h>

void counted_release(struct counted *c)
{
    free(c->record);
    memset(c, 0, sizeof *c);
}

static void sums_add(struct counted_sums *to, uint16_t tier, uint64_t calls)
{
    if (tier < TIER_MAX)
        to->calls[tier] += calls;
    else
        to->covered_ns += calls;
}

static struct counted_record *at(const struct counted *c, size_t i)
{
    return &c->record[(c->first + i) % c->cap];
}

static struct counted_record *record_new(struct counted *c)
{
    if (c->n == COUNTED_MOST) {
        c->first = (c->first + 1) % c->cap;
        c->n--;
    } else if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 256;
        c->record = realloc(c->record, c->cap * sizeof *c->record);
        if (!c->record)
            abort();
    }
    return at(c, c->n++);
}

/* Records are in order of time, but a message covers two seconds: the record is among the last
 * ones. */
static void add_to(struct counted *c, uint64_t sec, uint16_t tier, uint64_t calls)
{
    sums_add(&c->run, tier, calls);
    for (size_t i = c->n; i-- > 0 && at(c, i)->sec + 1 >= sec;) {
        if (at(c, i)->sec == sec && at(c, i)->tier == tier) {
            at(c, i)->calls += calls;
            return;
        }
    }
    *record_new(c) = (struct counted_record){
        .sec = sec & UINT64_C(0xffffffffffff), .tier = tier, .calls = calls};
}

static uint64_t part(uint64_t n, uint64_t of, uint64_t whole)
{
    return (uint64_t)((double)n * ((double)of / (double)whole));
}

void counted_add(struct counted *c, uint64_t start_ns, const struct event *ev)
{
    uint64_t calls = ev->label;
    uint64_t since = ev->ts_ns > start_ns ? ev->ts_ns - start_ns : 0, sec = since / CLOCK_SEC_NS,
             within = since % CLOCK_SEC_NS;
    uint16_t tier = ev->tier < TIER_MAX ? ev->tier : TIER_NONE;

    if (tier == TIER_NONE) /* its tiers follow, with the same time */
        c->covered_ns = ev->label;
    if (sec > 0 && within < c->covered_ns && c->covered_ns < 2 * CLOCK_SEC_NS) {
        uint64_t early = part(calls, c->covered_ns - within, c->covered_ns);
        add_to(c, sec - 1, tier, early);
        calls -= early;
    }
    add_to(c, sec, tier, calls);
}

void counted_read(const struct counted *c, uint64_t from_s, uint64_t to_s, struct counted_sums *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < c->n; i++) {
        const struct counted_record *r = at(c, i);
        if (r->sec >= from_s && r->sec < to_s)
            sums_add(out, (uint16_t)r->tier, r->calls);
    }
}
