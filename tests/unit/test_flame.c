/* Flame graphs, compared with a count by paths: the width of each node is the sum of the samples
 * whose path begins with the path of the node, for random samples and queries. */
#include "rng.h"

#include <kprof/base/buf.h>
#include <kprof/core/flame.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 300, FRAMES = 6, STACKS = 60, PATH_BYTES = 512 };

struct world {
    struct stack_profile *p;
    struct stack_view *v;
    uint32_t frame[FRAMES], stack[STACKS];
};

static uint32_t text(struct stack_profile *p, const char *s)
{
    return stack_profile_text(p, s, strlen(s));
}

static uint32_t frame_of(struct stack_profile *p, const char *module, const char *name,
                         uint32_t line)
{
    struct stack_frame f = {
        .module = text(p, module), .function = text(p, name), .line = line, .arity = 0};
    return stack_profile_frame(p, &f);
}

static void add_sample(struct world *w, size_t i)
{
    static const char *const names[] = {"db", "web", "cache"};
    struct stack_metrics m = {.known =
                                  (uint32_t)rng() & (1u << STACK_REDUCTIONS | 1u << STACK_MEMORY)};
    m.value[STACK_REDUCTIONS] = (int64_t)rng_below(1000);
    m.delta[STACK_REDUCTIONS] = (int64_t)rng_below(200) - 100;
    m.value[STACK_MEMORY] = (int64_t)rng_below(100000);
    uint64_t request = rng_below(3);
    struct stack_sample s = {.time_ns = i,
                             .weight = 1 + rng_below(3),
                             .process = 1 + rng_below(4),
                             .request = request,
                             .stack = w->stack[rng_below(STACKS)],
                             .initial_call = w->frame[rng_below(2)],
                             .name = rng_below(2) ? text(w->p, names[rng_below(3)]) : 0,
                             .application = rng_below(2) ? text(w->p, "app") : 0,
                             .tier = request ? text(w->p, names[rng_below(3)]) : 0,
                             .identity = request ? text(w->p, names[rng_below(2)]) : 0,
                             .status = (uint32_t)rng_below(STACK_STATUSES)};
    assert_true(stack_profile_add(w->p, &s, &m));
}

static void make_world(struct world *w)
{
    w->p = stack_profile_new(NULL);
    for (uint32_t i = 0; i < FRAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", (unsigned)i / 2); /* two lines in each function */
        w->frame[i] = frame_of(w->p, "m", name, 1 + i);
    }
    w->stack[0] = 0;
    for (uint32_t i = 1; i < STACKS; i++)
        w->stack[i] = stack_profile_push(w->p, w->stack[rng_below(i)], w->frame[rng_below(FRAMES)]);
    for (size_t i = 0; i < SAMPLES; i++)
        add_sample(w, i);
    w->v = stack_profile_view(w->p);
}

static void free_world(struct world *w)
{
    stack_view_release(w->v);
    stack_profile_free(w->p);
}

static struct flame_query random_query(const struct world *w)
{
    struct flame_query q = {.by = (enum flame_by)rng_below(4),
                            .metric = rng_below(2) ? STACK_REDUCTIONS : STACK_MEMORY,
                            .group = (enum flame_group)rng_below(FLAME_GROUPS),
                            .fold_recursion = rng_below(2),
                            .lines = rng_below(2),
                            .part = (enum flame_part)rng_below(3),
                            .focus = w->frame[rng_below(FRAMES)]};
    const struct stack_sample *one = stack_view_at(w->v, rng_below(SAMPLES));
    switch (rng_below(12)) {
    case 0:
        q.filter.from_ns = rng_below(SAMPLES);
        break;
    case 1:
        q.filter.to_ns = 1 + rng_below(SAMPLES);
        break;
    case 2:
        q.filter.process = one->process;
        break;
    case 3:
        q.filter.statuses = 1 + (uint32_t)rng_below(127);
        break;
    case 4:
        q.filter.initial_call = one->initial_call;
        break;
    case 5:
        q.filter.name = one->name;
        break;
    case 6:
        q.filter.application = one->application;
        break;
    case 7:
        q.filter.tier = one->tier;
        break;
    case 8:
        q.filter.identity = one->identity;
        break;
    case 9:
        q.filter.memory_decade = 1 + (unsigned)rng_below(6);
        break;
    case 10:
        q.filter.inside = true;
        break;
    default:
        break;
    }
    return q;
}

/* ---- the model ---- */

static bool counts(const struct world *w, const struct flame_filter *f, size_t i)
{
    const struct stack_sample *s = stack_view_at(w->v, i);
    struct stack_metrics m;
    char bytes[32];
    stack_view_metrics(w->v, i, &m);
    snprintf(bytes, sizeof bytes, "%lld", (long long)m.value[STACK_MEMORY]);
    unsigned decade = m.known >> STACK_MEMORY & 1 ? (unsigned)strlen(bytes) : 0;
    if (f->from_ns && s->time_ns < f->from_ns)
        return false;
    if (f->to_ns && s->time_ns >= f->to_ns)
        return false;
    if (f->process && s->process != f->process)
        return false;
    if (f->statuses && !(f->statuses & 1u << s->status))
        return false;
    if (f->initial_call && s->initial_call != f->initial_call)
        return false;
    if ((f->name && s->name != f->name) || (f->application && s->application != f->application))
        return false;
    if ((f->tier && s->tier != f->tier) || (f->identity && s->identity != f->identity))
        return false;
    if (f->memory_decade && f->memory_decade != decade)
        return false;
    return !f->inside || s->request;
}

static uint64_t width(const struct world *w, const struct flame_query *q, size_t i)
{
    struct stack_metrics m;
    stack_view_metrics(w->v, i, &m);
    int64_t d = m.delta[q->metric], value = m.value[q->metric];
    if (q->by == FLAME_SAMPLES)
        return stack_view_at(w->v, i)->weight;
    if (!(m.known >> q->metric & 1))
        return 0;
    if (q->by == FLAME_VALUE)
        return (uint64_t)value;
    return (uint64_t)(q->by == FLAME_GROWTH ? (d > 0 ? d : 0) : (d < 0 ? -d : 0));
}

static void add_step(struct buf *path, const char *s)
{
    buf_addch(path, ';');
    buf_adds(path, s);
}

/* The frames of a sample in the order of the query, as text; false: the sample is not in the graph.
 */
static bool path_of(const struct world *w, const struct flame_query *q, size_t i, struct buf *path)
{
    uint32_t leaf_first[STACKS], ordered[STACKS], n = 0, k = 0;
    for (uint32_t s = stack_view_at(w->v, i)->stack; s; s = stack_profile_caller(w->p, s))
        leaf_first[n++] = stack_profile_leaf(w->p, s);
    uint32_t top = n; /* position of the outermost focus, counted from the leaf; n: none */
    for (uint32_t a = 0; a < n; a++)
        if (stack_profile_function(w->p, leaf_first[a]) == stack_profile_function(w->p, q->focus))
            top = a;
    if (q->part != FLAME_WHOLE && top == n)
        return false;
    if (q->part == FLAME_CALLERS)
        for (uint32_t a = top; a < n; a++)
            ordered[k++] = leaf_first[a];
    else
        for (uint32_t a = q->part == FLAME_CALLEES ? top + 1 : n; a-- > 0;)
            ordered[k++] = leaf_first[a];
    uint32_t before = 0;
    for (uint32_t a = 0; a < k; a++) {
        uint32_t function = stack_profile_function(w->p, ordered[a]);
        struct buf one;
        if (q->fold_recursion && a > 0 && function == before)
            continue;
        buf_init(&one, 0);
        flame_frame_text(&one, w->p, ordered[a], q->lines);
        add_step(path, one.data);
        buf_release(&one);
        before = function;
    }
    return true;
}

/* the path of a node, without its group */
static void node_path(const struct flame *f, uint32_t node, uint32_t groups, struct buf *path)
{
    if (f->node[node].depth <= groups)
        return;
    node_path(f, f->node[node].parent, groups, path);
    add_step(path, flame_text(f, node, NULL));
}

static uint64_t model_width(const struct world *w, const struct flame_query *q, const char *path)
{
    uint64_t sum = 0;
    size_t n = strlen(path);
    for (size_t i = 0; i < SAMPLES; i++) {
        struct buf own;
        buf_init(&own, 0);
        if (counts(w, &q->filter, i) && path_of(w, q, i, &own) && strncmp(own.data, path, n) == 0 &&
            (own.data[n] == 0 || own.data[n] == ';'))
            sum += width(w, q, i);
        buf_release(&own);
    }
    return sum;
}

/* ---- invariants of every graph ---- */

static void expect_order(const struct flame *f)
{
    uint32_t next = 1, depth = 0;
    for (uint32_t i = 0; i < f->nodes; i++) {
        const struct flame_node *n = &f->node[i];
        uint64_t sum = n->self, base = n->base_self;
        assert_true(n->children == 0 || n->first_child == next);
        for (uint32_t c = next; c < next + n->children; c++) {
            assert_int_equal(f->node[c].parent, i);
            assert_int_equal(f->node[c].depth, n->depth + 1);
            assert_true(c == next || f->node[c - 1].total >= f->node[c].total);
            sum += f->node[c].total;
            base += f->node[c].base_total;
        }
        assert_int_equal(sum, n->total);
        assert_int_equal(base, n->base_total);
        assert_true(n->label >= 1 && n->label <= f->labels);
        next += n->children;
        depth = n->depth > depth ? n->depth : depth;
    }
    assert_int_equal(next, f->nodes);
    assert_int_equal(depth, f->depth);
}

static void each_node_is_as_wide_as_its_samples(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(40); round++) {
        struct world w;
        make_world(&w);
        for (int k = 0; k < 4; k++) {
            struct flame_query q = random_query(&w);
            struct flame *f = flame_build(w.v, &q);
            expect_order(f);
            assert_int_equal(f->node[0].total, model_width(&w, &q, ""));
            uint64_t groups = 0;
            for (uint32_t i = 1; q.group != FLAME_UNGROUPED && i < f->nodes; i++)
                groups += f->node[i].depth == 1 ? f->node[i].total : 0;
            assert_true(q.group == FLAME_UNGROUPED || groups == f->node[0].total);
            for (uint32_t i = 0; q.group == FLAME_UNGROUPED && i < f->nodes; i++) {
                struct buf path;
                buf_init(&path, 0);
                node_path(f, i, 0, &path);
                assert_int_equal(f->node[i].total, model_width(&w, &q, path.data));
                buf_release(&path);
            }
            flame_free(f);
        }
        free_world(&w);
    }
}

/* Groups divide the graph: the sums of equal paths over all groups are those of the graph without
 * groups. */
static void groups_add_up(void **state)
{
    (void)state;
    struct world w;
    make_world(&w);
    for (int g = 1; g < FLAME_GROUPS; g++) {
        struct flame_query q = {.group = (enum flame_group)g};
        struct flame *f = flame_build(w.v, &q);
        uint64_t sum = 0;
        for (uint32_t i = 1; i < f->nodes; i++) {
            struct buf path;
            buf_init(&path, 0);
            node_path(f, i, 1, &path);
            if (strcmp(path.data, ";m:f0/0") == 0)
                sum += f->node[i].total;
            buf_release(&path);
        }
        assert_int_equal(sum, model_width(&w, &q, ";m:f0/0"));
        assert_int_equal(f->node[0].total, model_width(&w, &q, ""));
        flame_free(f);
    }
    free_world(&w);
}

static void a_comparison_with_itself_shows_no_change(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(20); round++) {
        struct world w;
        make_world(&w);
        struct flame_query q = random_query(&w);
        struct flame *f = flame_build(w.v, &q);
        struct flame *same = flame_compare(f, f);
        expect_order(same);
        assert_int_equal(same->nodes, f->nodes);
        for (uint32_t i = 0; i < same->nodes; i++) {
            assert_int_equal(same->node[i].total, same->node[i].base_total);
            assert_int_equal(same->node[i].self, same->node[i].base_self);
        }
        struct flame_query other = random_query(&w);
        struct flame *base = flame_build(w.v, &other);
        struct flame *both = flame_compare(f, base);
        expect_order(both);
        assert_int_equal(both->node[0].total, f->node[0].total);
        assert_int_equal(both->node[0].base_total, base->node[0].total);
        assert_true(both->nodes >= f->nodes && both->nodes >= base->nodes);
        flame_free(both);
        flame_free(base);
        flame_free(same);
        flame_free(f);
        free_world(&w);
    }
}

/* With f0 highlighted, the sum is over all samples that contain f0; so are the callers and callees
 * of f0. */
static void the_halves_of_a_function_are_as_wide_as_it(void **state)
{
    (void)state;
    for (int round = 0; round < rng_rounds(40); round++) {
        struct world w;
        make_world(&w);
        struct flame_query q = {.fold_recursion = rng_below(2)};
        struct flame *f = flame_build(w.v, &q);
        bool *hit = calloc(f->labels + 1, sizeof *hit);
        for (uint32_t l = 1; l <= f->labels; l++)
            hit[l] = strcmp(flame_label_text(f, l, NULL), "m:f0/0") == 0;
        uint64_t sum = flame_sum(f, hit, 0);
        for (int part = FLAME_CALLEES; part <= FLAME_CALLERS; part++) {
            q.part = (enum flame_part)part;
            q.focus = w.frame[rng_below(2)]; /* either line of it */
            struct flame *half = flame_build(w.v, &q);
            assert_int_equal(half->node[0].total, sum);
            assert_true(half->nodes == 1 || half->node[0].children == 1);
            if (half->nodes > 1)
                assert_string_equal(flame_text(half, 1, NULL), "m:f0/0");
            flame_free(half);
        }
        free(hit);
        flame_free(f);
        free_world(&w);
    }
}

static void frames_are_written_as_people_do(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct buf b;
    buf_init(&b, 0);
    flame_frame_text(&b, p, frame_of(p, "lists", "map", 12), false);
    assert_string_equal(b.data, "lists:map/0");
    buf_clear(&b);
    flame_frame_text(&b, p, frame_of(p, "Elixir.MyApp.Repo", "get!", 12), true);
    assert_string_equal(b.data, "MyApp.Repo.get!/0:12");
    buf_clear(&b);
    struct stack_frame sleep = {.function = text(p, "SLEEP"), .arity = STACK_NO_ARITY};
    flame_frame_text(&b, p, stack_profile_frame(p, &sleep), true);
    assert_string_equal(b.data, "SLEEP");
    buf_release(&b);
    stack_profile_free(p);
}

static void no_samples_are_a_root_alone(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct stack_view *v = stack_profile_view(p);
    for (int g = 0; g < FLAME_GROUPS; g++) {
        struct flame_query q = {.group = (enum flame_group)g};
        struct flame *f = flame_build(v, &q);
        assert_int_equal(f->nodes, 1);
        assert_int_equal(f->node[0].total, 0);
        assert_int_equal(f->samples, 0);
        assert_string_equal(flame_text(f, 0, NULL), "all");
        assert_int_equal(flame_group_parse(flame_group_name((enum flame_group)g)), g);
        flame_free(f);
    }
    stack_view_release(v);
    stack_profile_free(p);
}

static void huge_widths_are_left_out_and_counted(void **state)
{
    (void)state;
    struct stack_profile *p = stack_profile_new(NULL);
    struct stack_metrics m = {.known = 1u << STACK_MEMORY};
    struct stack_sample s = {.weight = 1};
    int64_t value[] = {INT64_MAX, INT64_MAX / 2, INT64_MIN, 1};
    for (size_t i = 0; i < 4; i++) {
        m.value[STACK_MEMORY] = value[i];
        m.delta[STACK_MEMORY] = INT64_MIN;
        stack_profile_add(p, &s, &m);
    }
    struct stack_view *v = stack_profile_view(p);
    struct flame_query q = {.by = FLAME_VALUE, .metric = STACK_MEMORY};
    struct flame *f = flame_build(v, &q);
    assert_int_equal(f->left_out, 1);
    assert_int_equal(f->widthless, 1);
    assert_int_equal(f->node[0].total, (uint64_t)INT64_MAX / 2 + 1);
    flame_free(f);
    q.by = FLAME_SHRINKAGE;
    f = flame_build(v, &q);
    assert_int_equal(f->left_out, 4);
    flame_free(f);
    stack_view_release(v);
    stack_profile_free(p);
}

/* Only these five: the memory of no process changes. */
static void widths_are_those_that_samples_have(void **state)
{
    static const char *const want[] = {"samples", "reductions", "growth of reductions",
                                       "shrinkage of reductions", "memory"};
    struct flame_width all[FLAME_WIDTHS_MAX];
    struct stack_view *none;
    struct world w;
    (void)state;
    make_world(&w);
    size_t n = flame_widths(w.v, all);
    assert_int_equal(n, sizeof want / sizeof *want);
    for (size_t i = 0; i < n; i++) {
        struct buf text;
        buf_init(&text, 0);
        flame_width_text(&text, &all[i], STACK_UNIT_SAMPLES);
        assert_string_equal(text.data, want[i]);
        buf_release(&text);
    }
    stack_profile_clear(w.p);
    none = stack_profile_view(w.p);
    assert_int_equal(flame_widths(none, all), 1);
    stack_view_release(none);
    free_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_node_is_as_wide_as_its_samples),
        cmocka_unit_test(groups_add_up),
        cmocka_unit_test(a_comparison_with_itself_shows_no_change),
        cmocka_unit_test(the_halves_of_a_function_are_as_wide_as_it),
        cmocka_unit_test(frames_are_written_as_people_do),
        cmocka_unit_test(no_samples_are_a_root_alone),
        cmocka_unit_test(widths_are_those_that_samples_have),
        cmocka_unit_test(huge_widths_are_left_out_and_counted),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
