#include "fake_snapshot.h"

#include <core/slow_store.h>
#include <kprof/base/scale.h>
#include <kprof/core/tier.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOW  64
#define MAX_PARTS 8
#define MAX_OPEN  30
#define FAKE_COLS 300
#define FAKE_BINS 52
#define WALL_NS   1795230245678000000ull /* 2026-11-21T03:04:05.678Z */

struct str {
    struct str *next;
    char bytes[];
};

enum { FAKE_VM = 24 };

struct fake {
    struct snapshot snap;
    struct snap_row *rows;
    size_t n_rows, cap_rows;
    struct snap_slow slow[MAX_SLOW];
    struct snap_slow_call calls[MAX_SLOW];
    struct snap_slow_tier parts[MAX_SLOW][MAX_PARTS];
    struct snap_slow_sum sums[MAX_SLOW][MAX_PARTS];
    size_t n_slow;
    struct snap_open open[MAX_OPEN];
    struct slow_store traces;
    struct snap_slow_trace trace_list[MAX_SLOW];
    struct snap_log log[16];
    size_t n_log;
    struct snap_gap gap[8];
    struct snap_mark mark[8];
    struct snap_vm_event vm[FAKE_VM];
    struct str *strings;
    struct snap_heat_col heat_col[FAKE_COLS];
    uint32_t heat_bin[FAKE_COLS][FAKE_BINS];
    uint64_t dist_bin[FAKE_BINS];
    float trend[2 * SNAP_TREND];
};

static const char *const tiers[] = {"parsing", "handle", "formatter", "db", "accounting"};
static const char *const idents[] = {"read", "create", "update", "delete"};
static const double tier_us[] = {85, 2100, 320, 1650, 41};
static const double ident_factor[] = {1.0, 2.5, 3.25, 1.75};
static const uint64_t ident_count[] = {4210, 1204, 611, 87};

const char *fake_str(struct fake *f, const char *s)
{
    size_t n = strlen(s) + 1;
    struct str *p = malloc(sizeof *p + n);
    if (!p) {
        abort();
    }
    memcpy(p->bytes, s, n);
    p->next = f->strings;
    f->strings = p;
    return p->bytes;
}

static void put(char *to, size_t cap, const char *s)
{
    snprintf(to, cap, "%s", s);
}

struct fake *fake_new(void)
{
    struct fake *f = calloc(1, sizeof *f);
    if (!f) {
        abort();
    }
    struct snapshot *s = &f->snap;
    slow_store_init(&f->traces, 0);
    s->wall_ns = WALL_NS;
    s->elapsed_s = 65.0;
    s->window = WINDOW_10S;
    s->window_s = 10.0;
    s->time.now_s = 4000;
    s->time.zero_wall_ns = WALL_NS / 1000000000u * 1000000000u - 4000 * 1000000000ull;
    s->time.from_s = 3990;
    s->time.to_s = 4000;
    s->time.oldest_s = 25;
    put(s->node.name, sizeof s->node.name, "app@host");
    put(s->node.otp, sizeof s->node.otp, "25");
    s->node.no_gc = true;
    put(s->node.transport, sizeof s->node.transport, "dist");
    s->node.connected = s->node.tracing = true;
    s->node.uptime_s = 3 * 86400 + 4 * 3600 + 12 * 60;
    s->node.run_queue = 3;
    s->node.scheduler_use = 0.42;
    s->node.memory_bytes = 512ull << 20;
    s->node.processes = 1834;
    s->lean = true;
    s->has_entry = s->has_identity = true;
    s->sample = s->sample_asked = 1;
    s->cost =
        (struct snap_cost){.known = true, .percent = 0.8, .limit_percent = 5, .call_ns = 1350};
    s->clock = (struct snap_clock){.error_known = true, .error_us = 180.4, .drift_ppm = -12.5};
    s->events_per_s = 12345.6;
    s->lag_ms = 4.2;
    s->oldest_event_ms = 48.25;
    s->ring_fill = 0.03;
    return f;
}

void fake_free(struct fake *f)
{
    if (!f) {
        return;
    }
    while (f->strings) {
        struct str *next = f->strings->next;
        free(f->strings);
        f->strings = next;
    }
    slow_store_release(&f->traces);
    free(f->rows);
    free(f);
}

struct snap_row *fake_row(struct fake *f, unsigned tier, const char *tier_name, const char *ident,
                          uint64_t count, double base_us)
{
    if (f->n_rows == f->cap_rows) {
        f->cap_rows = f->cap_rows ? 2 * f->cap_rows : 32;
        f->rows = realloc(f->rows, f->cap_rows * sizeof *f->rows);
        if (!f->rows) {
            abort();
        }
    }
    struct snap_row *r = &f->rows[f->n_rows++];
    memset(r, 0, sizeof *r);
    r->tier = (uint16_t)tier;
    r->tier_name = fake_str(f, tier_name);
    r->ident = ident ? fake_str(f, ident) : NULL;
    r->ident_n = ident ? (uint16_t)f->n_rows : IDENT_ALL;
    r->count = r->est_count = count;
    r->run_count = ident ? 0 : count;
    r->rate = (double)count / f->snap.window_s;
    r->busy = r->wait_mean_us = r->wait_max_us = NAN;
    r->wait_p50_us = r->wait_p90_us = r->wait_p99_us = r->wait_p999_us = NAN;
    if (count == 0) {
        return r;
    }
    r->errors = count / 400;
    r->min_us = base_us * 0.25;
    r->p25_us = base_us * 0.75;
    r->p50_us = base_us;
    r->p75_us = base_us * 1.5;
    r->p90_us = base_us * 2.25;
    r->p95_us = base_us * 3.0;
    r->p99_us = base_us * 6.5;
    r->p999_us = base_us * 20.0;
    r->max_us = base_us * 31.0;
    r->mean_us = base_us * 1.25;
    r->sd_us = base_us * 0.875;
    r->self_us = base_us * 0.625;
    r->share = base_us / 8000.0;
    return r;
}

void fake_waits(struct snap_row *r)
{
    r->waits = r->count;
    r->wait_mean_us = r->mean_us / 3;
    r->wait_p50_us = r->p50_us / 3;
    r->wait_p90_us = r->p90_us / 3;
    r->wait_p99_us = r->p99_us / 3;
    r->wait_p999_us = r->p999_us / 3;
    r->wait_max_us = r->max_us / 3;
    r->busy = r->ident ? 0.21 : 0.97;
    r->busiest = r->busiest_all = r->load = 0.97;
    r->busiest_pid = 87;
    r->processes = 1;
}

static void fill_slow_parts(struct fake *f, struct snap_slow *s, size_t n)
{
    struct snap_slow_tier *p = f->parts[s - f->slow];
    struct snap_slow_sum *sum = f->sums[s - f->slow];
    for (size_t i = 0; i < n; i++) {
        p[i].tier = (uint16_t)i;
        p[i].name = tiers[i];
        p[i].start_us = 100 * i;
        p[i].duration_us = (uint64_t)(s->duration_us / (double)(i + 1));
        p[i].self_us = p[i].duration_us / (n - i);
        p[i].pid = s->pid;
        sum[i] = (struct snap_slow_sum){.name = tiers[i],
                                        .calls = 1,
                                        .sum_us = (double)p[i].duration_us,
                                        .self_us = (double)p[i].self_us,
                                        .pid = p[i].pid,
                                        .who = s->who};
    }
    s->tiers = p;
    s->n_tiers = n;
    s->sums = sum;
    s->n_sums = n;
}

struct snap_slow *fake_slow(struct fake *f, const char *tier_name, const char *ident,
                            double duration_us, size_t n_tiers)
{
    if (f->n_slow == MAX_SLOW) {
        return &f->slow[MAX_SLOW - 1];
    }
    size_t i = f->n_slow++;
    struct snap_slow *s = &f->slow[i];
    s->seq = 1000 - i;
    s->wall_ns = WALL_NS - i * 1370000000ull;
    s->pid = (uint64_t)(i % 3) << 32 | (123 + i);
    s->tier_name = fake_str(f, tier_name);
    s->ident = fake_str(f, ident);
    s->who = i % 2 ? "kv_server" : NULL;
    s->request = 7000 + i;
    s->duration_us = duration_us;
    s->request_us = i % 5 == 4 ? 0 : duration_us * 1.25;
    s->error = i % 4 == 3;
    s->done = i % 5 == 4 ? 0 : 1000 - i;
    s->n_slow = 1 + (uint32_t)i % 3;
    f->calls[i] = (struct snap_slow_call){.tier_name = s->tier_name,
                                          .calls = s->n_slow,
                                          .duration_us = duration_us,
                                          .pid = s->pid,
                                          .error = s->error};
    s->calls = &f->calls[i];
    s->n_calls = 1;
    size_t most = sizeof tiers / sizeof *tiers;
    fill_slow_parts(f, s, s->done ? (n_tiers < most ? n_tiers : most) : 0);
    return s;
}

void fake_log(struct fake *f, const char *text)
{
    size_t max = sizeof f->log / sizeof *f->log;
    size_t keep = f->n_log < max ? f->n_log : max - 1;
    memmove(f->log + 1, f->log, keep * sizeof *f->log);
    f->n_log = keep + 1;
    f->log[0].text = fake_str(f, text);
    f->log[0].wall_ns = WALL_NS - 60000000000ull + f->n_log * 1000000000ull;
}

void fake_gap(struct fake *f, double from_s, double to_s, enum gap_reason reason)
{
    struct snapshot *s = &f->snap;
    f->gap[s->n_gaps++] = (struct snap_gap){from_s, to_s, reason};
    s->gaps = f->gap;
    s->gap_s += from_s - to_s;
}

void fake_mark(struct fake *f, double ago_s, const char *module)
{
    struct snapshot *s = &f->snap;
    f->mark[s->n_marks++] = (struct snap_mark){.wall_ns = WALL_NS - (uint64_t)(ago_s * 1e9),
                                               .ago_s = ago_s,
                                               .module = fake_str(f, module)};
    s->marks = f->mark;
}

struct snap_vm_event *fake_vm(struct fake *f, enum vm_event_kind kind, double ago_s, double took_us)
{
    struct snapshot *s = &f->snap;
    size_t at = s->vm.n++;
    uint64_t wall_ns = WALL_NS - (uint64_t)(int64_t)(ago_s * 1e9);
    while (at > 0 && f->vm[at - 1].wall_ns < wall_ns) {
        f->vm[at] = f->vm[at - 1];
        at--;
    }
    f->vm[at] =
        (struct snap_vm_event){.kind = kind, .id = s->vm.n, .wall_ns = wall_ns, .took_us = took_us};
    s->vm.of = f->vm;
    s->vm.state = VM_EVENTS_ON;
    return &f->vm[at];
}

static void fake_vm_of(struct fake *f, enum vm_event_kind kind, double ago_s, double took_us,
                       uint64_t value, const char *detail)
{
    struct snap_vm_event *e = fake_vm(f, kind, ago_s, took_us);
    e->pid = UINT64_C(1) << 32 | 87;
    e->who = "accounting";
    e->value = value;
    e->detail = detail;
}

void fake_vm_events(struct fake *f)
{
    fake_vm_of(f, VM_EVENT_LONG_GC, 1.2, 84000, 65000000, NULL);
    fake_vm_of(f, VM_EVENT_LONG_SCHEDULE, 1.21, 73000, 0, "lists:sort/1");
    fake_vm_of(f, VM_EVENT_LONG_GC, 12.5, 61000, 130000000, NULL);
    fake_vm_of(f, VM_EVENT_LARGE_HEAP, 12.44, 0, 130000000, NULL);
    fake_vm_of(f, VM_EVENT_BUSY_PORT, 20, 0, 0, "#Port<0.5>");
    fake_vm_of(f, VM_EVENT_LONG_QUEUE, 33, 9500000, 1000, NULL);
    /* during the newest slow request */
    fake_vm_of(f, VM_EVENT_LONG_GC, -0.02, 52000, 65000000, NULL);
    fake_vm_of(f, VM_EVENT_LONG_SCHEDULE, -0.06, 66000, 0, "lists:sort/1");
    fake_vm_of(f, VM_EVENT_BUSY_PORT, -0.139, 0, 0, "#Port<0.5>");
    fake_vm(f, VM_EVENT_RUN_QUEUE, 9, 4000000)->value = 61;
    fake_vm(f, VM_EVENT_LOADED, 3, 0)->detail = "MyApp.Repo";
    fake_vm_of(f, VM_EVENT_LONG_QUEUE, 0.5, 500000, 1000, NULL);
    f->vm[3].open = true;
    f->vm[4].more = 3;
    f->snap.vm.lost = 12;
}

struct snapshot *fake_snap(struct fake *f)
{
    struct snapshot *s = &f->snap;
    uint64_t aggregated = 0, finished = 0;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct snap_row *r = &f->rows[i];
        if (!r->ident && r->tier != TIER_TOTAL) {
            aggregated += r->count;
        } else if (!r->ident) {
            finished += r->count;
        }
    }
    s->calls.aggregated = aggregated;
    s->calls.received = aggregated + s->calls.open + s->calls.expired + s->calls.unattributed;
    s->requests.finished = finished;
    s->requests.started = finished + s->requests.open + s->requests.expired;
    s->rows = f->rows;
    s->n_rows = f->n_rows;
    s->slow = f->slow;
    s->n_slow = f->n_slow;
    s->n_slow_recent = f->n_slow;
    for (uint32_t i = 0; i < f->traces.n; i++) {
        f->trace_list[i].request = slow_store_request(&f->traces, i);
        f->trace_list[i].wall_ns = WALL_NS - i * 1370000000ull;
    }
    s->slow_traces = f->trace_list;
    s->n_slow_traces = f->traces.n;
    s->tier_names = tiers;
    s->n_tier_names = sizeof tiers / sizeof *tiers;
    s->log = f->log;
    s->n_log = f->n_log;
    return s;
}

/* handle in one process calls db in another twice (the first time from 95), and the second call
 * fails; parsing and formatter run in the first process, accounting is late. */
static void keep(struct fake *f, struct snap_slow *s)
{
    static const struct {
        unsigned tier, from, to, self, proc, flags; /* from, to, self: in thousandths */
    } call[] = {{0, 20, 90, 70, 0, 0},
                {3, 130, 420, 290, 1, SLOW_TRACE_MAILBOX},
                {3, 430, 800, 330, 1, SLOW_TRACE_ERROR},
                {0, 520, 560, 40, 1, 0},
                {2, 850, 990, 140, 0, 0},
                {4, 1200, 1250, 50, 2, SLOW_TRACE_LATE},
                {4, 1300, 0, 0, 2, SLOW_TRACE_LATE | SLOW_TRACE_RUNNING}};
    uint64_t start = 1000000000, unit = (uint64_t)s->request_us;
    int at = slow_store_begin(&f->traces, s->request, start);
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        struct slow_trace_call c = {
            .start_ns = start + unit * call[i].from,
            .end_ns = call[i].to ? start + unit * call[i].to : 0,
            .self_ns = unit * call[i].self,
            .pid = s->pid + call[i].proc,
            .tier = (uint8_t)call[i].tier,
            .mailbox_us = call[i].flags & SLOW_TRACE_MAILBOX ? (uint32_t)(unit * 35 / 1000) : 0,
            .flags = (uint8_t)call[i].flags};
        slow_store_add(&f->traces, at, &c);
    }
    struct slow_trace_call entry = {.start_ns = start,
                                    .end_ns = start + unit * 1000,
                                    .self_ns = unit * 130,
                                    .pid = s->pid,
                                    .tier = 1};
    f->traces.building[at]->end_ns = entry.end_ns;
    snprintf(f->traces.building[at]->ident, SLOW_TRACE_IDENT_BYTES, "%.100s", s->ident);
    s->trace = slow_store_close(&f->traces, at, &entry);
}

static void standard_tier(struct fake *f, unsigned tier, const char *name, double us)
{
    uint64_t all = 0;
    for (size_t i = 0; i < 4; i++) {
        all += ident_count[i];
    }
    fake_row(f, tier, name, NULL, all, us * 1.5);
    for (size_t i = 0; i < 4; i++) {
        struct snap_row *r =
            fake_row(f, tier, name, idents[i], ident_count[i], us * ident_factor[i]);
        if (tier == 3 && i == 1) {
            r->oldest_open_us = 2.5e6;
        }
    }
}

void fake_events(struct fake *f, size_t n_slow, size_t n_open, size_t n_log)
{
    static const char *const lines[] = {
        "connected to app@host, OTP 25", "tracing on: 5 tiers, entry parsing",
        "module kv_db was loaded again: patterns set again after 0.2 s"};
    static const char *const who[] = {"kv_db", NULL, "my_pool:init/1"};
    for (size_t i = 0; i < n_slow && i < MAX_SLOW; i++) {
        fake_slow(f, tiers[(i * 3 + 3) % 5], idents[i % 4], 123456.0 / (double)(i + 1), 1 + i % 5);
    }
    for (size_t i = f->n_slow; i-- > 0;) {
        if (f->slow[i].request_us > 0) {
            keep(f, &f->slow[i]);
        }
    }
    f->snap.open = f->open;
    f->snap.n_open = n_open < MAX_OPEN ? n_open : MAX_OPEN;
    for (size_t i = 0; i < f->snap.n_open; i++) {
        f->open[i] = (struct snap_open){.pid = 140 + i / 2, /* two of them in one process */
                                        .start_ns = 1 + i,
                                        .tier_name = tiers[(3 + 4 * i) % 5],
                                        .ident = i ? "read" : "undefined",
                                        .who = who[i % 3],
                                        .age_us = 61e6 / (double)(1 + 7 * i)};
    }
    for (size_t i = 0; i < n_log; i++) {
        fake_log(f, lines[i % 3]);
    }
}

struct fake *fake_standard(size_t n_slow)
{
    struct fake *f = fake_new();
    for (unsigned t = 0; t < 5; t++) {
        standard_tier(f, t, tiers[t], tier_us[t]);
    }
    standard_tier(f, TIER_TOTAL, "_total", 4800);
    f->snap.calls.open = 7;
    f->snap.calls.unattributed = 12;
    f->snap.requests.open = 2;
    fake_events(f, n_slow, 3, 3);
    fake_trends(f);
    return f;
}

struct fake *fake_tripped(void)
{
    struct fake *f = fake_standard(3);
    struct snap_breaker *b = &fake_snap(f)->breaker;
    b->state = BREAKER_OPEN;
    b->trips = 2;
    b->next_try_s = 7.4;
    strcpy(b->reason, "a trace message was 1.3 s old");
    return f;
}

struct fake *fake_many(size_t n_rows)
{
    struct fake *f = fake_new();
    char name[32], id[32];
    for (size_t i = 0; i < n_rows; i++) {
        snprintf(name, sizeof name, "tier_%zu", i / 50);
        snprintf(id, sizeof id, "/path/%03zu", i % 50);
        fake_row(f, (unsigned)(i / 50), name, i % 50 ? id : NULL, 100000 - 50 * (i % 50),
                 10.0 + 37.0 * (double)(i * 7919 % 1000));
    }
    return f;
}

struct fake *fake_hostile(void)
{
    static const char *const bad[] = {
        "\x1b[2J\x1b[31mred\x07\x1b]0;title\x07",
        "tab\there\nnewline\rcr\x7f",
        "bytes \xff\xfe\xc3\x28 \xe2\x82 \xf0\x9f\x98 end",
        "rtl \xe2\x80\xae"
        "gnp.exe \xe2\x81\xa6iso\xe2\x81\xa9",
        "wide \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xf0\x9f\x98\x80 end",
        "combining e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86\xcc\x87\xcc\x88\xcc\x89 "
        "zero\xe2\x80\x8bwidth",
        "c1 \xc2\x9b"
        "31m nel\xc2\x85 surrogate \xed\xa0\x80 over \xc0\xaf",
        "",
    };
    char long_atom[256];
    memset(long_atom, 'x', 255);
    long_atom[255] = 0;
    struct fake *f = fake_new();
    for (unsigned t = 0; t < 2; t++) {
        const char *name = t ? long_atom : bad[0];
        fake_row(f, t, name, NULL, 9000, 1000);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            fake_row(f, t, name, bad[i], 1000 - i, 500.0 * (double)(i + 1));
        }
        fake_row(f, t, name, long_atom, 17, 99);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct snap_slow *s = fake_slow(f, bad[i], bad[(i + 1) % 8], 5000, 2);
        s->args = s->who = bad[(i + 2) % 8];
        fake_log(f, bad[i]);
    }
    put(f->snap.node.name, sizeof f->snap.node.name, bad[0]);
    put(f->snap.node.state, sizeof f->snap.node.state, bad[2]);
    put(f->snap.breaker.reason, sizeof f->snap.breaker.reason, bad[6]);
    f->snap.breaker.state = BREAKER_OPEN;
    return f;
}

/* Number of calls in a bin: most are near the bin `at`, with a long tail above. */
static uint32_t hump(double at, double top, size_t bin)
{
    double d = (double)bin - at;
    return (uint32_t)(top * exp(-d * d / 18) + (d > 0 && bin % 5 == 0 ? top / 60 / (1 + d) : 0));
}

static void fake_heat_col(struct fake *f, size_t i, bool slow_spot)
{
    struct snap_heat_col *k = &f->heat_col[i];

    for (size_t b = 0; b < FAKE_BINS; b++) {
        f->heat_bin[i][b] =
            hump(16 + sin((double)i / 9) * 4, 40, b) + (slow_spot ? hump(44, 9, b) : 0);
        k->count += f->heat_bin[i][b];
    }
    k->errors = slow_spot ? i % 13 : 0;
    k->bin = f->heat_bin[i];
}

void fake_heat(struct fake *f, const struct snap_row *r, size_t n, uint32_t col_s)
{
    struct snap_heat *h = &f->snap.heat;
    uint64_t now = f->snap.time.now_s, span = n * col_s;
    size_t bin = scale_bin((uint64_t)(r->p50_us * 1e3));

    *h = (struct snap_heat){.there = true,
                            .tier = r->tier,
                            .ident_n = r->ident_n,
                            .from_s = now > span ? now - span : 0,
                            .col_s = col_s,
                            .n = n,
                            .low = bin > 16 ? bin - 16 : 0,
                            .n_bins = FAKE_BINS,
                            .col = f->heat_col};
    for (size_t i = 0; i < n; i++) {
        struct snap_heat_col *k = &f->heat_col[i];
        bool kept = n - i < 60 || n - i > 62, gap = n - i > 40 && n - i < 45;
        *k = (struct snap_heat_col){.from_s = h->from_s + i * col_s,
                                    .to_s = h->from_s + (i + 1) * col_s,
                                    .known = kept,
                                    .gap_s = gap ? col_s : 0,
                                    .gap = gap ? GAP_OVERLOAD : GAP_NONE};
        if (kept && !gap)
            fake_heat_col(f, i, i % 40 > 25 && i % 40 < 30);
    }
}

void fake_dist(struct fake *f, const struct snap_row *r)
{
    struct snap_dist *d = &f->snap.dist;
    size_t bin = scale_bin((uint64_t)(r->p50_us * 1e3));

    *d = (struct snap_dist){.there = true,
                            .tier = r->tier,
                            .ident_n = r->ident_n,
                            .low = bin > 16 ? bin - 16 : 0,
                            .bin = f->dist_bin};
    for (size_t b = 0; b < 36; b++) {
        f->dist_bin[b] = hump(16, 900, b);
        d->count += f->dist_bin[b];
        d->n = f->dist_bin[b] ? b + 1 : d->n;
    }
}

void fake_trends(struct fake *f)
{
    for (size_t i = 0; i < SNAP_TREND; i++) {
        bool gap = i > 20 && i < 26;
        f->trend[i] = gap ? NAN : (float)(100 + 90 * sin((double)i / 7));
        f->trend[SNAP_TREND + i] = gap ? NAN : (float)(i == 48 ? 9000 : 300 + 10 * (double)(i % 9));
    }
    for (size_t i = 0; i < f->n_rows; i++) {
        f->rows[i].trend_rate = f->trend;
        f->rows[i].trend_p99_us = f->trend + SNAP_TREND;
    }
}
