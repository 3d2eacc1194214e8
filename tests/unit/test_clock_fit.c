/* trace/clock_fit and base/envelope: the fit on simulated clocks and delays, with known offset and
 * drift. */
#include "rng.h"

#include <kprof/base/envelope.h>
#include <kprof/trace/clock_fit.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS  1e6
#define SEC 1e9

static double uniform(void)
{
    return (double)(rng() >> 11) / 9007199254740992.0;
}

/* ---- envelope ---- */

static void a_line_over_points(void **state)
{
    struct envelope_line l;

    (void)state;
    for (int round = 0; round < rng_rounds(2000); round++) {
        struct envelope_point p[60];
        size_t n = 2 + rng_below(58);
        double sum = 0, x = -100 * uniform();
        for (size_t i = 0; i < n; i++) {
            p[i].x = x += 0.1 + uniform();
            p[i].y = 50 * uniform();
        }
        assert_true(envelope_above(p, n, &l));
        for (size_t i = 0; i < n; i++) {
            double over = l.at_mean + l.slope * (p[i].x - l.mean_x) - p[i].y;
            assert_true(over > -1e-9);
            sum += over;
        }
        assert_true(fabs(sum / (double)n - l.distance) < 1e-6);
        /* no other line through two points is above all points and closer */
        for (size_t a = 0; a < n; a++) {
            for (size_t b = a + 1; b < n; b++) {
                double slope = (p[b].y - p[a].y) / (p[b].x - p[a].x), all = 0, least = 0;
                for (size_t i = 0; i < n; i++) {
                    double over = p[a].y + slope * (p[i].x - p[a].x) - p[i].y;
                    all += over;
                    least = fmin(least, over);
                }
                assert_true(least < -1e-9 || all > sum - 1e-6);
            }
        }
    }
    assert_false(envelope_above(&(struct envelope_point){1, 1}, 1, &l));
}

/* ---- simulated clocks ---- */

struct world {
    struct clock_fit f;
    double t;             /* true time of the target's last message, ns */
    double drift, offset; /* target = t + offset, offset grows by drift */
    uint64_t lack;        /* sum of the reported steps, added to the timestamps */
    int64_t step;         /* reported last */
    double stepped;       /* all steps */
    double noise, base;   /* one-way delay: base plus an exponential part with this mean */
    double spikes;        /* share of messages that are late by up to a quarter second */
    double stuck;         /* additional delay, from the target to us only */
    double came;          /* true time of the last arrival: the link keeps the order */
    bool asks;            /* round trips: the next question is two seconds after an answer */
    double next_beat, asked, next_answer;
};

static double delay(const struct world *w)
{
    double d = w->base - w->noise * log(1 - uniform());
    return uniform() < w->spikes ? d + 250 * MS * uniform() : d;
}

static void ask_later(struct world *w, double at)
{
    w->asked = at;
    w->next_answer = at + delay(w);
}

static void world_new(struct world *w)
{
    memset(w, 0, sizeof *w);
    clock_fit_init(&w->f);
    w->came = w->t = 4e12 + 1e15 * uniform();
    w->offset = 1e17 * (uniform() - 0.5);
    w->next_beat = w->t;
    ask_later(w, w->t);
}

/* target clock minus our clock */
static double truth(const struct world *w, double at)
{
    return w->offset + w->drift * (at - w->t) + (double)(int64_t)w->lack;
}

static uint64_t stamp_at(const struct world *w, double at)
{
    return (uint64_t)at + (uint64_t)(int64_t)truth(w, at);
}

/* The next message of the target: a heartbeat every half second, or an answer. */
static void turn(struct world *w)
{
    bool answer = w->asks && w->next_answer < w->next_beat;
    double at = answer ? w->next_answer : w->next_beat;

    w->offset += w->drift * (at - w->t);
    w->t = at;
    w->came = fmax(w->came, at + delay(w) + w->stuck);
    uint64_t stamp = stamp_at(w, at), came = (uint64_t)w->came;
    w->step = answer ? clock_fit_round_trip(&w->f, (uint64_t)w->asked, stamp, came)
                     : clock_fit_message(&w->f, stamp, came);
    if (w->step) { /* undo the step */
        clock_fit_shift(&w->f, 0 - (uint64_t)w->step);
        w->lack -= (uint64_t)w->step;
        w->stepped += fabs((double)w->step);
    }
    if (answer)
        ask_later(w, w->came + 2 * SEC);
    else
        w->next_beat = at + 500 * MS + w->noise * uniform();
}

/* the present error of the offset */
static double wrong(const struct world *w)
{
    struct clock_reading r = clock_fit_read(&w->f);
    assert_true(r.known);
    return (double)clock_reading_offset(&r, (uint64_t)w->came) - truth(w, w->came);
}

static double error_of(const struct world *w)
{
    struct clock_reading r = clock_fit_read(&w->f);
    return clock_reading_error_ns(&r, (uint64_t)w->came);
}

static void some_link(struct world *w)
{
    w->drift = (uniform() - 0.5) * 4e-4;
    w->base = 20 * MS * uniform() * uniform();
    w->noise = 5 * MS * uniform() * uniform();
    w->spikes = 0.2 * uniform() * uniform();
}

/* With round trips: the true offset is always within the error bound, and the bound is small. */
static void round_trips_bound_the_error(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(60); round++) {
        struct world w;
        world_new(&w);
        some_link(&w);
        w.asks = true;
        for (int i = 0; i < 4000; i++) {
            turn(&w);
            if (!clock_fit_read(&w.f).bounded) {
                assert_true(i < 4);
                continue;
            }
            if (fabs(wrong(&w)) > error_of(&w) + 20e3)
                fail_msg("round %d, message %d: wrong by %.0f us, said %.0f (drift %.1f ppm, fit "
                         "%.1f, wander %.1f)",
                         round, i, wrong(&w) / 1e3, error_of(&w) / 1e3, w.drift * 1e6,
                         w.f.drift * 1e6, w.f.wander * 1e6);
            if (i > 200)
                assert_true(error_of(&w) < w.base + 3 * w.noise + 4 * MS);
        }
        struct clock_reading r = clock_fit_read(&w.f);
        assert_true(r.drift_known);
        assert_true(fabs(r.drift - w.drift) < r.wander);
        assert_true(r.wander < 4e-5);
        assert_int_equal(w.lack, 0);
    }
}

/* Without round trips: the offset includes the smallest delay. */
static void messages_alone(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(60); round++) {
        struct world w;
        world_new(&w);
        some_link(&w);
        for (int i = 0; i < 4000; i++) {
            turn(&w);
            assert_false(clock_fit_read(&w.f).bounded);
            if (i > 40 && fabs(wrong(&w) + w.base) > 5 * MS)
                fail_msg("round %d, message %d: wrong by %.0f us (drift %.1f ppm, fit %.1f)", round,
                         i, (wrong(&w) + w.base) / 1e3, w.drift * 1e6, w.f.drift * 1e6);
        }
        assert_true(clock_fit_read(&w.f).drift_known);
        assert_true(fabs(w.f.drift - w.drift) < w.f.wander + 1e-5);
        assert_int_equal(w.lack, 0);
    }
}

/* After a step the offset is right again within this number of messages; the step is reported once.
 */
static void steps(void **state)
{
    static const double by[] = {1, -1, 3600, -3600, 0.2, -0.2, 30, -30};

    (void)state;
    for (int round = 0; round < rng_rounds(80); round++) {
        struct world w;
        double step = by[rng_below(8)] * SEC;
        world_new(&w);
        some_link(&w);
        w.spikes = 0;
        w.asks = true;
        for (int i = 0; i < 20 + (int)rng_below(3000); i++)
            turn(&w);
        double before = truth(&w, w.came);
        w.offset += step;
        for (int i = 0; i < 400; i++) {
            turn(&w);
            if (i > 12 && fabs(wrong(&w)) > w.base + 5 * w.noise + 2 * MS)
                fail_msg("round %d: %d messages after a step by %.1f s wrong by %.0f us", round, i,
                         step / SEC, wrong(&w) / 1e3);
        }
        assert_true(fabs(truth(&w, w.came) - before) < 250 * MS);
        assert_true(fabs(w.stepped - fabs(step)) < 250 * MS);
        assert_false(clock_fit_in_doubt(&w.f, (uint64_t)w.came));
    }
}

/* Our clock jumps forward (or the target was stopped), and back, which a monotonic clock never
 * does. */
static void steps_of_ours(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(80); round++) {
        struct world w;
        double step = (round % 2 ? 3600 : -900) * SEC;
        world_new(&w);
        some_link(&w);
        w.spikes = 0;
        w.asks = round % 4 < 2;
        for (int i = 0; i < 20 + (int)rng_below(2000); i++)
            turn(&w);
        w.t += step;
        w.offset -= step;
        w.next_beat += step;
        w.came = w.t;
        ask_later(&w, w.t);
        for (int i = 0; i < 400; i++) {
            turn(&w);
            double low = w.asks ? 0 : w.base; /* cannot be detected without round trips */
            if (i > 16 && fabs(wrong(&w) + low) > w.base + 5 * w.noise + 5 * MS)
                fail_msg("round %d: %d messages after a step of ours wrong by %.0f us", round, i,
                         wrong(&w) / 1e3);
        }
    }
}

/* The node's VM corrects its clock: 1 % faster or slower, for minutes. */
static void a_slew(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(60); round++) {
        struct world w;
        double worst = 0;
        world_new(&w);
        w.drift = (uniform() - 0.5) * 1e-4;
        w.base = 0.2 * MS;
        w.noise = 0.2 * MS;
        w.asks = true;
        for (int i = 0; i < 20 + (int)rng_below(3000); i++)
            turn(&w);
        for (int part = 0; part < 2; part++) {
            w.drift += (round + part) % 2 ? 0.01 : -0.01;
            for (int i = 0; i < 600; i++) {
                turn(&w);
                assert_true(fabs(wrong(&w)) < 25 * MS); /* 2 s, until the next answer */
                if (i > 20)
                    worst = fmax(worst, fabs(wrong(&w)));
            }
        }
        if (worst > 5 * MS)
            fail_msg("round %d: wrong by up to %.0f us", round, worst / 1e3);
    }
}

/* A delay of the link is not a clock step: round trips show the difference. */
static void a_stuck_link_is_no_step(void **state)
{
    int doubted = 0;

    (void)state;
    for (int round = 0; round < rng_rounds(40); round++) {
        struct world w;
        int most = doubted + 20;
        world_new(&w);
        some_link(&w);
        w.asks = true;
        for (int i = 0; i < 200; i++)
            turn(&w);
        w.stuck = (0.6 + 5 * uniform()) * SEC;
        for (int i = 0; i < 200; i++) {
            turn(&w);
            doubted += clock_fit_in_doubt(&w.f, (uint64_t)w.came);
        }
        assert_true(fabs(wrong(&w)) <= error_of(&w) + 20e3);
        assert_int_equal(w.lack, 0);
        assert_false(clock_fit_in_doubt(&w.f, (uint64_t)w.came));
        assert_true(doubted < most);
    }
    assert_true(doubted > 0);
}

static uint64_t any_time(void)
{
    uint64_t v = rng();
    return rng_below(3) ? v >> rng_below(64) : v | ~UINT64_C(0) << rng_below(64);
}

/* Any values of a node or a recording. */
static void any_stamps(void **state)
{
    static struct clock_fit f;
    uint64_t now = 0;

    (void)state;
    clock_fit_init(&f);
    assert_false(clock_fit_read(&f).known);
    for (int i = 0; i < rng_rounds(60000); i++) {
        now = rng_below(50) ? now + (rng() >> (20 + rng_below(40))) : any_time();
        uint64_t stamp = rng_below(3) ? any_time() : now + (rng() >> 40);
        if (rng_below(4))
            clock_fit_message(&f, stamp, now);
        else if (rng_below(3))
            clock_fit_event(&f, stamp, now);
        else
            clock_fit_round_trip(&f, rng_below(3) ? now - (rng() >> 30) : any_time(), stamp, now);
        struct clock_reading r = clock_fit_read(&f);
        assert_true(isfinite(r.drift) && fabs(r.drift) <= 0.031);
        assert_true(isfinite(r.error_ns) && r.error_ns >= 0 && isfinite(r.wander));
        clock_reading_offset(&r, any_time());
        if (rng_below(30) == 0)
            clock_fit_shift(&f, rng());
        clock_fit_in_doubt(&f, now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_over_points),      cmocka_unit_test(round_trips_bound_the_error),
        cmocka_unit_test(messages_alone),          cmocka_unit_test(steps),
        cmocka_unit_test(steps_of_ours),           cmocka_unit_test(a_slew),
        cmocka_unit_test(a_stuck_link_is_no_step), cmocka_unit_test(any_stamps),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
