/* Events for the tests of core: three tiers, the first is the entry; timestamps in ms. */
#ifndef KPROF_TEST_CORE_FIXTURE_H
#define KPROF_TEST_CORE_FIXTURE_H

#include "core_test.h"

#include <kprof/core/core.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define T0 (UINT64_C(1000) * MS)

enum { E, A, B, TIERS };         /* tier numbers; E is the entry */
enum { FN_E = 100, FN_A, FN_B }; /* their functions */
enum { M0 = 200, M1, M2 };       /* functions that are not traced */
enum { P1 = 11, P2, P3 };        /* processes */

struct fix {
    struct intern *names;
    struct core *c;
    uint32_t create, del;
};

static inline struct core_limits small(void)
{
    struct core_limits l;
    core_limits_default(&l);
    l.open_requests = 64;
    l.processes = 64;
    l.slow_entries = 8;
    l.history_bytes = 1 << 20;
    return l;
}

static inline struct fix fix_of(struct core_limits l)
{
    struct fix f;
    f.names = intern_new(1000, 1 << 16);
    f.create = intern_add(f.names, "create", 6);
    f.del = intern_add(f.names, "delete", 6);
    f.c = core_new(&l, f.names);
    assert_int_equal(core_tier_add(f.c, "entry", "m:e/1"), E);
    assert_int_equal(core_tier_add(f.c, "a", "m:a/1"), A);
    assert_int_equal(core_tier_add(f.c, "b", "m:b/1"), B);
    core_tier_set_fn(f.c, E, FN_E);
    core_tier_set_fn(f.c, A, FN_A);
    core_tier_set_fn(f.c, B, FN_B);
    core_set_entry(f.c, E);
    core_set_identity(f.c, true);
    return f;
}

static inline struct fix fix(void)
{
    return fix_of(small());
}

static inline void done(struct fix *f)
{
    core_free(f->c);
    intern_free(f->names);
}

/* ---- events: times in ms after T0 ---- */

static inline void feed(struct fix *f, struct event ev)
{
    core_feed(f->c, &ev, 1);
    struct snapshot *s = core_snapshot(f->c, WINDOW_RUN, 0);
    assert_true(snapshot_conserves(s));
    assert_int_equal(s->requests.started,
                     s->requests.finished + s->requests.open + s->requests.expired);
    snapshot_free(s);
}

static inline struct event call_ev(double ms, uint64_t pid, uint64_t label, uint16_t tier,
                                   uint32_t caller)
{
    return (struct event){.ts_ns = T0 + (uint64_t)(ms * 1e6),
                          .pid = pid,
                          .label = label,
                          .tier = tier,
                          .fn = FN_E + tier,
                          .caller = caller,
                          .weight = 1,
                          .kind = tier == E ? EVENT_ENTRY : EVENT_CALL};
}

static inline void call(struct fix *f, double ms, uint64_t pid, uint64_t label, uint16_t tier,
                        uint32_t caller)
{
    feed(f, call_ev(ms, pid, label, tier, caller));
}

static inline void call_id(struct fix *f, double ms, uint64_t pid, uint64_t label, uint16_t tier,
                           uint32_t caller, uint32_t ident)
{
    struct event ev = call_ev(ms, pid, label, tier, caller);
    ev.ident = ident;
    feed(f, ev);
}

static inline void entry_prev(struct fix *f, double ms, uint64_t pid, uint64_t label, uint64_t prev,
                              uint32_t caller)
{
    struct event ev = call_ev(ms, pid, label, E, caller);
    ev.prev = prev;
    feed(f, ev);
}

static inline void mark(struct fix *f, double ms, uint64_t pid, uint8_t kind, uint32_t fn)
{
    feed(f, (struct event){.ts_ns = T0 + (uint64_t)(ms * 1e6), .pid = pid, .fn = fn, .kind = kind});
}

static inline void ret(struct fix *f, double ms, uint64_t pid, uint32_t to)
{
    mark(f, ms, pid, EVENT_RETURN_TO, to);
}

static inline void until(struct fix *f, double ms)
{
    core_advance(f->c, T0 + (uint64_t)(ms * 1e6));
}

/* ---- results ---- */

static inline struct snap_row row_in(struct fix *f, enum window w, uint16_t tier, const char *ident)
{
    struct snapshot *s = core_snapshot(f->c, w, 0);
    struct snap_row r = {0};
    r.tier = UINT16_MAX;
    assert_true(snapshot_conserves(s));
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == tier &&
            (ident ? s->rows[i].ident && !strcmp(s->rows[i].ident, ident) : !s->rows[i].ident))
            r = s->rows[i];
    snapshot_free(s);
    return r;
}

static inline struct snap_row row(struct fix *f, uint16_t tier, const char *ident)
{
    return row_in(f, WINDOW_RUN, tier, ident);
}

static inline void expect_ms(double us, double ms)
{
    if (fabs(us - ms * 1000) > 0.001)
        fail_msg("%f us is not %f ms", us, ms);
}

static inline void expect_near(double v, double want)
{
    if (fabs(v - want) > 1e-6)
        fail_msg("%f is not %f", v, want);
}

#define EXPECT_CALLS(f, rec, agg, opn, exp, una)                                                   \
    do {                                                                                           \
        struct snapshot *s_ = core_snapshot((f)->c, WINDOW_RUN, 0);                                \
        assert_int_equal(s_->calls.received, rec);                                                 \
        assert_int_equal(s_->calls.aggregated, agg);                                               \
        assert_int_equal(s_->calls.open, opn);                                                     \
        assert_int_equal(s_->calls.expired, exp);                                                  \
        assert_int_equal(s_->calls.unattributed, una);                                             \
        snapshot_free(s_);                                                                         \
    } while (0)

#define EXPECT_REQUESTS(f, sta, fin, opn, exp)                                                     \
    do {                                                                                           \
        struct snapshot *s_ = core_snapshot((f)->c, WINDOW_RUN, 0);                                \
        assert_int_equal(s_->requests.started, sta);                                               \
        assert_int_equal(s_->requests.finished, fin);                                              \
        assert_int_equal(s_->requests.open, opn);                                                  \
        assert_int_equal(s_->requests.expired, exp);                                               \
        snapshot_free(s_);                                                                         \
    } while (0)

static inline uint64_t orphan_returns(struct fix *f)
{
    struct snapshot *s = core_snapshot(f->c, WINDOW_RUN, 0);
    uint64_t n = s->anomalies.orphan_returns;
    snapshot_free(s);
    return n;
}

#endif
