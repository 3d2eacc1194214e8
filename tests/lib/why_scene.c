#include "why_scene.h"

#include <kprof/core/why.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const tier_names[] = {"web", "parse", "db", "acc"};
static const char *const kind_names[] = {"read", "write"};

struct snap_row *scene_row(struct scene *c, int tier, int kind)
{
    return &c->row[tier * (KINDS + 1) + (kind == KINDS ? 0 : kind + 1)];
}

static void fill_row(struct scene *c, int tier, int kind, double mean_us, double self_us)
{
    struct snap_row *r = scene_row(c, tier, kind);
    size_t at = (size_t)(r - c->row);

    *r = (struct snap_row){.tier = tier == TIERS ? TIER_TOTAL : (uint16_t)tier,
                           .ident_n = (uint16_t)(kind == KINDS ? IDENT_ALL : kind),
                           .tier_name = tier == TIERS ? "_total" : tier_names[tier],
                           .ident = kind == KINDS ? NULL : kind_names[kind],
                           .count = kind == KINDS ? 2000 : 1000,
                           .est_count = kind == KINDS ? 2000 : 1000,
                           .rate = kind == KINDS ? 200 : 100,
                           .mean_us = mean_us,
                           .p50_us = mean_us,
                           .p90_us = 1.5 * mean_us,
                           .p95_us = 3 * mean_us,
                           .p99_us = 4 * mean_us,
                           .self_us = self_us,
                           .share = self_us / 10000,
                           .d_rate = NAN,
                           .d_p50 = NAN,
                           .d_p99 = NAN};
    for (size_t i = 0; i < SNAP_TREND; i++)
        c->rate[at][i] = (float)r->rate;
    r->trend_rate = r->trend_p99_us = c->rate[at];
    r->trend_errors = c->errors[at];
    r->busy = NAN;
}

struct scene *scene_quiet(void)
{
    static const double mean[] = {10000, 2000, 4000, 1000, 10000};
    static const double self[] = {3000, 2000, 4000, 1000, 10000};
    struct scene *c = calloc(1, sizeof *c);
    assert_non_null(c);
    for (int t = 0; t <= TIERS; t++)
        for (int k = 0; k <= KINDS; k++)
            fill_row(c, t, k, mean[t], self[t]);
    for (size_t i = 0; i < LOADS; i++)
        c->load[i] = (struct snap_load){.wall_ns = WALL - (LOADS - i) * SEC,
                                        .scheduler_use = 0.4,
                                        .memory_bytes = 500u << 20,
                                        .run_queue = 2};
    struct snapshot *s = &c->s;
    s->wall_ns = WALL;
    s->window_s = 10;
    s->time.now_s = s->time.to_s = 120;
    s->time.from_s = 110;
    s->time.zero_wall_ns = WALL - 120 * SEC;
    s->node.connected = s->node.tracing = true;
    s->node.schedulers = 4;
    s->slow_ns = 20 * MS;
    strcpy(s->node.name, "app@host");
    strcpy(s->node.otp, "29");
    strcpy(s->compared, "yesterday.rec");
    s->has_entry = s->has_identity = true;
    s->entry = WEB;
    s->sample = s->sample_asked = 1;
    s->rows = c->row;
    s->n_rows = ROWS;
    s->tier_names = tier_names;
    s->n_tier_names = TIERS;
    s->slow = c->slow;
    s->slow_traces = c->trace;
    s->open = c->open;
    s->load = c->load;
    s->n_load = LOADS;
    return c;
}

void scene_free(struct scene *c)
{
    for (size_t i = 0; i < c->s.n_slow_traces; i++)
        slow_trace_unref(c->trace[i].request);
    free(c);
}

const char *scene_who(void *arg, uint64_t pid, uint64_t wall_ns)
{
    (void)arg;
    (void)wall_ns;
    return pid == 87 ? "accounting" : NULL;
}

/* ---- slow requests ---- */

void scene_trace(struct scene *c, int kind, double ago_ms, const struct made_call *call, size_t n)
{
    size_t at = c->s.n_slow_traces++;
    struct slow_trace_request *r = calloc(1, sizeof *r + n * sizeof r->call[0]);
    uint64_t took = (uint64_t)(call[0].to_ms * 1e6);

    assert_non_null(r);
    assert_true(at < SLOWS);
    atomic_store(&r->refs, 1);
    r->id = at + 1;
    r->n = r->cap = (uint32_t)n;
    r->end_ns = 1000 * SEC - (uint64_t)(ago_ms * 1e6);
    r->start_ns = r->end_ns - took;
    snprintf(r->ident, sizeof r->ident, "%s", kind_names[kind]);
    for (size_t i = 0; i < n; i++)
        r->call[i] =
            (struct slow_trace_call){.start_ns = r->start_ns + (uint64_t)(call[i].from_ms * 1e6),
                                     .end_ns = r->start_ns + (uint64_t)(call[i].to_ms * 1e6),
                                     .pid = call[i].pid,
                                     .tier = (uint8_t)call[i].tier};
    c->made = r;
    c->trace[at] =
        (struct snap_slow_trace){.request = r, .wall_ns = WALL - (uint64_t)(ago_ms * 1e6) - took};
}

void scene_slow(struct scene *c, int kind, const double self_ms[TIERS], uint64_t pid)
{
    size_t at = c->s.n_slow++;
    struct snap_slow *w = &c->slow[at];

    assert_true(at < SLOWS);
    *w = (struct snap_slow){.seq = at + 1,
                            .done = at + 1,
                            .wall_ns = WALL - at * 10 * MS,
                            .tier_name = tier_names[0],
                            .ident = kind_names[kind],
                            .request = at + 1,
                            .trace = at + 1,
                            .sums = c->sum[at],
                            .n_sums = TIERS};
    for (int t = 0; t < TIERS; t++) {
        c->sum[at][t] = (struct snap_slow_sum){
            .name = tier_names[t], .calls = 1, .self_us = self_ms[t] * 1e3, .pid = pid};
        w->request_us += self_ms[t] * 1e3;
    }
    w->duration_us = w->request_us;
}

void scene_queued(struct scene *c, int n, double wait_ms, bool one_process)
{
    for (int i = 0; i < n; i++) {
        struct made_call call[] = {
            {WEB, 0, 60, 40 + (uint64_t)i},
            {DB, 1, 5, 40 + (uint64_t)i},
            {ACC, 5 + wait_ms, 9 + wait_ms, one_process ? 87 : 187 + (uint64_t)i}};
        scene_trace(c, WRITE, 5 * i, call, 3);
    }
}

void scene_piece(struct scene *c, enum time_part p, uint64_t other)
{
    struct made_call call[] = {{WEB, 0, 60, 40}};
    scene_trace(c, WRITE, 5, call, 1);
    struct slow_trace_request *r = c->made;
    r->piece = calloc(1, sizeof *r->piece);
    r->what = calloc(1, sizeof *r->what);
    assert_non_null(r->piece);
    assert_non_null(r->what);
    r->n_pieces = r->n_whats = 1;
    strcpy(r->what[0], "prim_file:read_nif/2");
    *r->piece = (struct time_part_piece){
        .from_ns = r->start_ns, .to_ns = r->end_ns, .part = (uint8_t)p, .what = 1, .other = other};
}

void scene_locked(struct scene *c, int n, double each_ms, double lap)
{
    for (int i = 0; i < n; i++) {
        struct made_call call[] = {{WEB, 0, 200, 40 + (uint64_t)i % 20},
                                   {ACC, 190, 190 + each_ms, 40 + (uint64_t)i % 20}};
        scene_trace(c, WRITE, 7 * (1 - lap) * i, call, 2);
    }
    scene_row(c, TIERS, KINDS)->mean_us = 90000; /* 18 are open at a time */
}

struct time_part_view *scene_part(struct scene *c, int tier, enum time_part p, double share)
{
    struct time_part_view *v = &c->parts[tier];

    *v = (struct time_part_view){.calls = 100, .slow_from_us = 41000};
    v->share[p] = share;
    scene_row(c, tier, KINDS)->parts = v;
    return v;
}

void scene_run_queue(struct scene *c, size_t from, uint32_t length)
{
    for (size_t i = from; i < LOADS; i++)
        c->load[i].run_queue = length;
}

/* ---- checks ---- */

const struct snap_finding *scene_found(struct scene *c, const char *rule)
{
    why_add(&c->s, scene_who, NULL);
    assert_true(c->s.why.there);
    for (size_t i = 0; i < c->s.why.n; i++)
        if (strcmp(c->s.why.of[i].rule, rule) == 0)
            return &c->s.why.of[i];
    return NULL;
}

enum snap_missing scene_missing(struct scene *c, const char *rule)
{
    const struct why_rule_text *r;

    why_add(&c->s, scene_who, NULL);
    for (size_t i = 0; (r = why_rule(i)); i++)
        if (strcmp(r->name, rule) == 0)
            return why_missing(&c->s.why, i);
    fail_msg("there is no rule %s", rule);
    return MISSING_COUNT;
}

bool scene_unknown(struct scene *c, const char *rule)
{
    return scene_missing(c, rule) != MISSING_COUNT;
}

const struct snap_finding *scene_first(struct scene *c, const char *rule, const char *text)
{
    const struct snap_finding *w = scene_found(c, rule);

    assert_non_null(w);
    assert_string_equal(w->text, text);
    if (w != &c->s.why.of[0])
        fail_msg("%s is not the first, but %s: %s", rule, c->s.why.of[0].rule, c->s.why.of[0].text);
    return w;
}

void scene_none(struct scene *c, const char *rule)
{
    const struct snap_finding *w = scene_found(c, rule);

    if (w)
        fail_msg("%s says: %s", rule, w->text);
}

/* ---- a scene for each rule ---- */

static void make_gap(struct scene *c)
{
    c->gap = (struct snap_gap){5, 0.8, GAP_OVERLOAD};
    c->s.gaps = &c->gap;
    c->s.n_gaps = 1;
    c->s.gap_s = 4.2;
    strcpy(c->s.breaker.reason, "a trace message was 1.3 s old");
}

static void make_lost(struct scene *c)
{
    c->s.lost.ring = 8000;
    c->s.lost.target = 123;
}

static void make_queue(struct scene *c)
{
    scene_queued(c, 30, 48, true);
    scene_row(c, ACC, KINDS)->rate = 200;
    scene_row(c, ACC, KINDS)->mean_us = 4850;
}

static void make_lock(struct scene *c)
{
    scene_locked(c, 40, 6.5, 0);
}

static void make_run_queue(struct scene *c)
{
    scene_run_queue(c, 90, 48);
}

static void make_gc(struct scene *c)
{
    scene_part(c, DB, PART_GC, 0.63);
}

static void make_dirty(struct scene *c)
{
    scene_part(c, DB, PART_DIRTY, 0.63);
    scene_piece(c, PART_DIRTY, 0);
}

static void make_port(struct scene *c)
{
    scene_part(c, DB, PART_PORT, 0.63);
}

static void make_tier(struct scene *c)
{
    const double most_db[TIERS] = {5, 3, 34, 1};

    for (int i = 0; i < 5; i++) {
        struct made_call call[] = {{WEB, 0, 43, 40 + (uint64_t)i}, {DB, 5, 39, 40 + (uint64_t)i}};
        scene_trace(c, WRITE, 5 * i, call, 2);
        scene_slow(c, WRITE, most_db, 40 + (uint64_t)i);
    }
}

static void make_differs(struct scene *c)
{
    scene_row(c, TIERS, WRITE)->mean_us = 31000;
    scene_row(c, DB, WRITE)->self_us = 24500;
}

static void make_repeats(struct scene *c)
{
    scene_row(c, DB, READ)->count = 43000;
    scene_row(c, DB, READ)->mean_us = 93;
    scene_row(c, DB, READ)->self_us = 93;
}

static void make_hangs(struct scene *c)
{
    c->open[0] = (struct snap_open){
        .pid = 87, .start_ns = 5, .tier_name = "web", .ident = "read", .age_us = 41.5e6};
    c->open[1] = c->open[0];
    c->open[1].tier_name = "db";
    c->open[1].start_ns = 6;
    c->open[1].age_us = 41e6;
    c->s.n_open = 2;
}

static void make_errors(struct scene *c)
{
    scene_row(c, WEB, KINDS)->errors = scene_row(c, DB, KINDS)->errors = 200;
    scene_row(c, DB, READ)->errors = 5;
    scene_row(c, DB, WRITE)->errors = 195;
}

static void make_frequent(struct scene *c)
{
    float *rate = c->rate[scene_row(c, TIERS, READ) - c->row];

    for (size_t i = SNAP_TREND - 10; i < SNAP_TREND; i++)
        rate[i] = 320;
}

static void make_slower(struct scene *c)
{
    for (size_t i = 0; i < ROWS; i++) {
        c->row[i].then_count = 1000;
        c->row[i].d_p99 = 0.05;
    }
    scene_row(c, DB, WRITE)->d_p99 = 0.4;
}

static void make_memory(struct scene *c)
{
    for (size_t i = 0; i < LOADS; i++)
        c->load[i].memory_bytes += (uint64_t)i << 22;
}

/* Most of the run queue is waiting dirty jobs; without them it is short. */
static void make_dirty_queue(struct scene *c)
{
    for (size_t i = 90; i < LOADS; i++) {
        c->load[i].run_queue = 16;
        c->load[i].dirty_queue = 14;
    }
}

struct scene *scene_of(const char *rule)
{
    static const struct {
        const char *rule;
        void (*make)(struct scene *c);
    } all[] = {
        {"gap", make_gap},
        {"lost", make_lost},
        {"queue", make_queue},
        {"lock", make_lock},
        {"run_queue", make_run_queue},
        {"gc", make_gc},
        {"dirty", make_dirty},
        {"port", make_port},
        {"tier", make_tier},
        {"differs", make_differs},
        {"repeats", make_repeats},
        {"hangs", make_hangs},
        {"errors", make_errors},
        {"frequent", make_frequent},
        {"slower", make_slower},
        {"memory", make_memory},
        {"dirty_queue", make_dirty_queue},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].rule, rule) == 0) {
            struct scene *c = scene_quiet();
            all[i].make(c);
            return c;
        }
    }
    fail_msg("there is no scene for the rule %s", rule);
    return NULL;
}
