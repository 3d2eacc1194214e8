/* Throughput and memory of core.
 *
 * Speed: requests of four nested tiers in two processes under lean returns (8 events), 64 clients,
 * 8 servers, 20 identities, at 100,000 requests a simulated second. Memory: 16 tiers by 64
 * identities, every row 46 calls a second (100,000 events/s) spread log-normally, for 3 simulated
 * hours. Times are CPU time of one core, so other programs on the machine do not count. */
#include "core_test.h"
#include "resident.h"

#include <core/state.h>
#include <kprof/base/clock.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 20000, EVENTS = 8 * REQUESTS, RUNS = 5, BLOCKS = 25, CLIENTS = 64, SERVERS = 8 };
enum {
    SPREAD = 1 << 16,
    ROW_TIERS_USED = 16,
    ROW_IDENTS = 64,
    CALLS_PER_SECOND = 46,
    PATTERNS = 512
};

static uint64_t label, start_ns = 1000000000;

/* The client calls the entry and a, the server b and c; then all return. Requests overlap in time.
 */
static void make_request(struct event *e, uint64_t i, uint32_t ident)
{
    uint64_t client = 1000 + i % CLIENTS, server = 10 + i % SERVERS, t = start_ns;
    uint64_t step = 20 + i * 7 % 31;

    memset(e, 0, 8 * sizeof *e);
    for (int k = 0; k < 8; k++) {
        e[k].ts_ns = t + (uint64_t)k * step;
        e[k].pid = k >= 2 && k < 6 ? server : client;
        e[k].weight = 1;
        if (k < 4) {
            e[k].kind = k == 0 ? EVENT_ENTRY : EVENT_CALL;
            e[k].tier = (uint16_t)k;
            e[k].fn = 100 + (uint32_t)k;
            e[k].caller = k % 2 ? 100 + (uint32_t)k - 1 : 200 + (uint32_t)k;
            e[k].label = label;
            e[k].ident = k == 0 ? ident : 0;
        } else {
            e[k].kind = EVENT_RETURN_TO;
            e[k].fn = e[7 - k].caller;
        }
    }
    label++;
    start_ns += 10000;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double feed_once(struct core *c, struct event *ev, const uint32_t *ident)
{
    uint64_t spent = 0;

    for (int b = 0; b < BLOCKS; b++) {
        for (uint64_t i = 0; i < REQUESTS; i++)
            make_request(&ev[8 * i], i, ident[i % 20]);
        uint64_t t = clock_cpu_ns();
        core_feed(c, ev, EVENTS);
        spent += clock_cpu_ns() - t;
    }
    return (double)EVENTS * BLOCKS / ((double)spent / 1e9) / 1e6;
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

static void fill_history(struct core *c, uint64_t seconds)
{
    static uint64_t spread[SPREAD];
    static struct figures second[PATTERNS]; /* made once: the calls of a row in a second */
    uint64_t x = 88172645463325252u, now = core_now(c);

    for (size_t i = 0; i < SPREAD; i++) { /* about normally distributed: the sum of twelve */
        double z = -6;
        for (int k = 0; k < 12; k++)
            z += (double)(next_random(&x) >> 11) / 9007199254740992.0;
        spread[i] = (uint64_t)(200000 * exp(z * 0.5));
    }
    for (int i = 0; i < PATTERNS; i++) {
        figures_init(&second[i]);
        for (int k = 0; k < CALLS_PER_SECOND; k++)
            hist_add(&second[i].hist, spread[next_random(&x) % SPREAD]);
        second[i].tally = (struct tally){.calls = CALLS_PER_SECOND,
                                         .self_ns = (uint64_t)second[i].hist.sum_ns / 2,
                                         .share_ns = (uint64_t)second[i].hist.sum_ns / 2};
    }
    for (uint64_t s = 0; s < seconds; s++) {
        for (uint16_t r = 0; r < (ROW_TIERS_USED + 1) * ROW_IDENTS; r++) {
            uint16_t tier = r / ROW_IDENTS, id = IDENT_FIRST + r % ROW_IDENTS;
            tier = tier < ROW_TIERS_USED ? tier : ROW_TOTAL;
            struct row *row = windows_row(&c->windows, tier, id);
            if (!row)
                row = windows_row_new(&c->windows, tier, id);
            figures_merge(&row->cur, &second[next_random(&x) % PATTERNS]);
        }
        c->windows.busy = 1;
        core_advance(c, now += 1000000000);
    }
    for (int i = 0; i < PATTERNS; i++)
        figures_release(&second[i]);
}

/* What screens need: the trends of all rows, or the heat map of one. */
static void time_look(struct core *c, const char *what, const struct view_query *l)
{
    double ms[RUNS];

    uint64_t t = clock_cpu_ns();
    snapshot_free(core_view(c, l, 0));
    double first = (double)(clock_cpu_ns() - t) / 1e6;
    for (int i = 0; i < RUNS; i++) {
        t = clock_cpu_ns();
        snapshot_free(core_view(c, l, 0));
        ms[i] = (double)(clock_cpu_ns() - t) / 1e6;
    }
    double again = (qsort(ms, RUNS, sizeof *ms, by_value), ms[RUNS / 2]);
    for (int i = 0; i < RUNS; i++) {
        fill_history(c, 1);
        t = clock_cpu_ns();
        snapshot_free(core_view(c, l, 0));
        ms[i] = (double)(clock_cpu_ns() - t) / 1e6;
    }
    qsort(ms, RUNS, sizeof *ms, by_value);
    printf(
        "core: snapshot with %s: first %.1f ms, again in the same second %.1f ms, a second later "
        "%.1f ms (medians of %d)\n",
        what, first, again, ms[RUNS / 2], RUNS);
}

static void time_looks(struct core *c)
{
    struct view_query trends = {.window = WINDOW_10S, .trends = true};
    struct view_query heat = {.window = WINDOW_10S,
                              .heat = true,
                              .heat_cols = 200,
                              .heat_col_s = 60,
                              .tier = 3,
                              .ident = IDENT_ALL};

    time_look(c, "trends", &trends);
    time_look(c, "a heat map of 200 columns, 3 h", &heat);
    heat.tier = TIER_TOTAL;
    time_look(c, "a heat map of 200 columns, 3 h, all tiers", &heat);
}

static void time_snapshot(struct core *c, enum window w)
{
    uint64_t t = clock_cpu_ns();
    struct snapshot *s = core_snapshot(c, w, 0);
    uint64_t first = clock_cpu_ns() - t;
    size_t rows = s->n_rows;

    snapshot_free(s);
    t = clock_cpu_ns();
    snapshot_free(core_snapshot(c, w, 0));
    uint64_t again = clock_cpu_ns() - t;
    fill_history(c, 1);
    t = clock_cpu_ns();
    snapshot_free(core_snapshot(c, w, 0));
    printf(
        "core: snapshot of %zu rows, window %s: first %.1f ms, again in the same second %.1f ms, "
        "a second later %.1f ms\n",
        rows, window_name(w), (double)first / 1e6, (double)again / 1e6,
        (double)(clock_cpu_ns() - t) / 1e6);
}

int main(void)
{
    struct intern *names = intern_new(1000, 1 << 16);
    struct core_limits l;
    uint32_t ident[ROW_IDENTS];
    double speed[RUNS];

    core_limits_default(&l);
    struct core *c = core_new(&l, names);
    for (int i = 0; i < ROW_IDENTS; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "operation%d", i);
        ident[i] = intern_add(names, name, (size_t)n);
        idents_of(&c->idents, ident[i], 0, 0);
    }
    for (int i = 0; i < ROW_TIERS_USED; i++) {
        char name[16];
        snprintf(name, sizeof name, "tier%d", i);
        core_tier_add(c, name, "m:f/1");
    }
    core_set_entry(c, 0);
    core_set_identity(c, true);
    struct event *ev = malloc(EVENTS * sizeof *ev);
    if (!ev)
        abort();
    for (int i = 0; i < RUNS; i++)
        speed[i] = feed_once(c, ev, ident);
    qsort(speed, RUNS, sizeof *speed, by_value);
    struct snapshot *s = core_snapshot(c, WINDOW_RUN, 0);
    printf("core: %.2f million events/s on one core (median of %d, %.2f to %.2f); %llu calls, law "
           "%s\n",
           speed[RUNS / 2], RUNS, speed[0], speed[RUNS - 1], (unsigned long long)s->calls.received,
           snapshot_conserves(s) ? "holds" : "BROKEN");
    snapshot_free(s);
    free(ev);
    size_t before = resident_bytes();
    fill_history(c, 3 * 3600);
    for (enum window w = WINDOW_1S; w < WINDOW_COUNT; w++)
        time_snapshot(c, w);
    time_looks(c);
    printf("core: resident %.1f MiB with %d tiers x %d identities x 3 h (%.1f before), history "
           "%.1f MiB,"
           " %llu slots dropped\n",
           (double)resident_bytes() / (1024 * 1024), ROW_TIERS_USED, ROW_IDENTS,
           (double)before / (1024 * 1024), (double)c->windows.bytes / 1048576,
           (unsigned long long)c->windows.dropped_slots);
    core_free(c);
    intern_free(names);
    return 0;
}
