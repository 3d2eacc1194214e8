/* Samples by time: each range of cells is as wide as the flame graph of that time; gaps are where
 * no sample was taken. KPROF_SEED=n repeats a run. */
#include "fake_stacks.h"
#include "rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/core/sample_map.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

static struct stack_profile *random_profile(void)
{
    struct stack_profile *p = stack_profile_new(NULL);
    uint64_t at = 1 + rng_below(5000 * MS);
    int n = 1 + (int)rng_below(400);
    stack_profile_set_meta(p,
                           &(struct stack_profile_meta){
                               .wall_ns = rng_below(2) ? (int64_t)rng_below(UINT64_C(1) << 60) : 0,
                               .interval_ns = rng_below(2) * rng_below(200 * MS)});
    for (int i = 0; i < n; i++) {
        struct stack_metrics m = {.known = (uint32_t)rng_below(8)};
        for (int k = 0; k < 3; k++) {
            m.value[k] = (int64_t)rng_below(1000);
            m.delta[k] = (int64_t)rng_below(100) - 50;
        }
        struct stack_sample s = {
            .time_ns = at, .weight = 1 + rng_below(20), .status = (uint32_t)rng_below(3)};
        stack_profile_add(p, &s, &m);
        at += rng_below(rng_below(10) ? 40 * MS : 3000 * MS);
        if (rng_below(8) == 0 && at > 100 * MS)
            at -= rng_below(100 * MS); /* they may come out of order */
    }
    return p;
}

static void cells_are_as_wide_as_their_graph(void **state)
{
    static const uint32_t lines[] = {1, 2, 16, 25, 64, 100};
    (void)state;
    for (int i = 0; i < rng_rounds(800); i++) {
        struct stack_profile *p = random_profile();
        struct stack_view *v = stack_profile_view(p);
        struct sample_map_query q = {.by = (enum flame_by)rng_below(4),
                                     .metric = (enum stack_metric)rng_below(3),
                                     .cols = 1 + (uint32_t)rng_below(30),
                                     .lines = lines[rng_below(6)]};
        if (rng_below(3) == 0)
            q.filter.statuses = 1u << rng_below(3);
        struct sample_map *m = sample_map_make(v, &q);
        assert_non_null(m);
        if (rng_below(2)) { /* another part of the time */
            uint64_t back = rng_below(20), end_s = m->newest_s + 2;
            q.end_s = end_s > back ? end_s - back : 1;
            sample_map_free(m);
            m = sample_map_make(v, &q);
        }
        for (int k = 0; k < 5; k++) {
            uint64_t from = rng_below(sample_map_cells(m));
            uint64_t to = from + 1 + rng_below(sample_map_cells(m) - from);
            struct flame_query f = {.filter = q.filter, .by = q.by, .metric = q.metric};
            f.filter.from_ns = sample_map_begin_ns(m, from);
            f.filter.to_ns = sample_map_begin_ns(m, to);
            struct flame *graph = flame_build(v, &f);
            uint64_t sum = sample_map_sum(m, from, to);
            if (f.filter.to_ns) /* else all of it is before the node began */
                assert_int_equal(sum, graph->node[0].total);
            flame_free(graph);
            if (sample_map_begin_ns(m, from) > 0)
                assert_int_equal(sample_map_cell(m, sample_map_begin_ns(m, from)), from);
        }
        assert_int_equal(sample_map_sum(m, 0, sample_map_cells(m)), m->total);
        sample_map_free(m);
        stack_view_release(v);
        stack_profile_free(p);
    }
}

static bool any_sample(const struct stack_view *v, uint64_t from_ns, uint64_t to_ns)
{
    for (size_t i = 0; i < stack_view_count(v); i++) {
        uint64_t at = stack_view_at(v, i)->time_ns;
        if (at >= from_ns && at < to_ns)
            return true;
    }
    return false;
}

static void a_gap_has_no_samples(void **state)
{
    (void)state;
    for (int i = 0; i < rng_rounds(200); i++) {
        struct stack_profile *p = random_profile();
        struct stack_view *v = stack_profile_view(p);
        struct sample_map_query q = {.cols = 20, .lines = 20};
        struct sample_map *m = sample_map_make(v, &q);
        uint64_t least = 3 * stack_profile_meta(p)->interval_ns;
        least = least > SAMPLE_MAP_GAP_NS ? least : SAMPLE_MAP_GAP_NS;
        for (uint64_t c = 0; c < sample_map_cells(m); c++) {
            uint64_t from = sample_map_begin_ns(m, c), to = sample_map_begin_ns(m, c + 1);
            bool some = to > from && any_sample(v, from, to);
            if (m->gap[c])
                assert_false(some);
            /* far from any sample: a gap */
            uint64_t before = from > 2 * least ? from - 2 * least : 0;
            if (to > 0 && !some && !any_sample(v, before, to + 2 * least))
                assert_true(m->gap[c]);
            /* close to samples on both sides: none */
            if (!some && from > least / 3 && any_sample(v, from - least / 3, from) &&
                any_sample(v, to, to + least / 3))
                assert_false(m->gap[c]);
        }
        sample_map_free(m);
        stack_view_release(v);
        stack_profile_free(p);
    }
}

static void without_times_there_is_no_map(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct sample_map_query q = {.cols = 10, .lines = 10};
    struct stack_view *none = stack_profile_view(p);
    stack_profile_add(p, &(struct stack_sample){.weight = 3}, NULL);
    struct stack_view *v = stack_profile_view(p);
    assert_null(sample_map_make(none, &q));
    assert_null(sample_map_make(v, &q));
    stack_view_release(none);
    stack_view_release(v);
    stack_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_as_wide_as_their_graph),
        cmocka_unit_test(a_gap_has_no_samples),
        cmocka_unit_test(without_times_there_is_no_map),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
