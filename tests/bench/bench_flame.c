/* The times for a flame graph of 1,000,000 samples: loading, building the graph by each group and
 * by a metric, callers and callees of a function, a comparison, a search. Median of 3 runs. */
#include <kprof/base/clock.h>
#include <kprof/core/flame.h>
#include <kprof/core/folded.h>
#include <kprof/core/sample_map.h>
#include <kprof/export/stacks.h>
#include <ui/flame_draw.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1000000, STACKS = 20000, RUNS = 3, DEPTH = 40, PROCESSES = 100, MANY = 1000 };

static uint32_t random_state = 1;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

static uint32_t frame(struct stack_profile *p, uint32_t i)
{
    char module[32], function[32];
    int m = snprintf(module, sizeof module, "my_module_%u", i / 20);
    int f = snprintf(function, sizeof function, "function_%u", i % 20);
    struct stack_frame k = {.module = stack_profile_text(p, module, (size_t)m),
                            .function = stack_profile_text(p, function, (size_t)f),
                            .line = 10 + i,
                            .arity = i % 5};
    return stack_profile_frame(p, &k);
}

/* As in a decoder: a stack is pushed once, and samples refer to it by number. */
static struct stack_profile *load(uint32_t processes, uint32_t stacks)
{
    struct stack_profile_limits l = {.max_bytes = (size_t)512 << 20};
    struct stack_profile *p = stack_profile_new(&l);
    uint32_t *stack = calloc(stacks, sizeof *stack);
    if (!stack)
        abort();
    for (uint32_t i = 1; i < stacks; i++)
        stack[i] = i % DEPTH ? stack_profile_push(p, stack[i - 1], frame(p, below(3000))) : 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        struct stack_metrics m = {.known = 0xffff};
        for (int k = 0; k < STACK_METRICS; k++) {
            m.value[k] = below(1u << 20);
            m.delta[k] = (int64_t)below(1u << 12) - (1 << 11);
        }
        struct stack_sample s = {.time_ns = i * UINT64_C(90000),
                                 .weight = 1,
                                 .process = 100 + below(processes),
                                 .stack = stack[below(stacks)],
                                 .status = 1 + below(3)};
        stack_profile_add(p, &s, &m);
    }
    free(stack);
    return p;
}

static bool append(void *arg, const char *bytes, size_t n)
{
    buf_add(arg, bytes, n);
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *ms)
{
    qsort(ms, RUNS, sizeof *ms, by_value);
    return ms[RUNS / 2];
}

static double since_ms(uint64_t begin_ns)
{
    return (double)(clock_mono_ns() - begin_ns) / 1e6;
}

static void report_build(const struct stack_view *v, const char *what, const struct flame_query *q)
{
    double ms[RUNS];
    uint32_t nodes = 0;
    for (int r = 0; r < RUNS; r++) {
        uint64_t begin = clock_mono_ns();
        struct flame *f = flame_build(v, q);
        ms[r] = since_ms(begin);
        nodes = f->nodes;
        flame_free(f);
    }
    printf("flame graph of %d samples, %s: %.0f ms, %u nodes\n", SAMPLES, what, median(ms), nodes);
}

static void report_search(const struct flame *f)
{
    double ms[RUNS];
    uint64_t sum = 0;
    for (int r = 0; r < RUNS; r++) {
        uint64_t begin = clock_mono_ns();
        bool *hit = calloc((size_t)f->labels + 1, sizeof *hit);
        for (uint32_t l = 1; hit && l <= f->labels; l++)
            hit[l] = strstr(flame_label_text(f, l, NULL), "function_7/") != NULL;
        sum = flame_sum(f, hit, 0);
        ms[r] = since_ms(begin);
        free(hit);
    }
    printf("flame graph, search over %u nodes: %.1f ms (limit: 50), %.1f%% match\n", f->nodes,
           median(ms), 100.0 * (double)sum / (double)f->node[0].total);
}

static bool count_bytes(void *arg, const char *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)arg += n;
    return true;
}

static void report_files(const struct stack_view *v)
{
    static const enum stacks_format all[] = {STACKS_FOLDED, STACKS_SPEEDSCOPE, STACKS_PPROF,
                                             STACKS_HTML, STACKS_PERF};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        enum stacks_format f = all[i];
        size_t bytes = 0;
        uint64_t begin = clock_mono_ns();
        stacks_write(v, f, &(struct stacks_options){0}, count_bytes, &bytes);
        printf("%d samples as %s: %.0f ms, %.1f MB\n", SAMPLES, stacks_format_name(f),
               since_ms(begin), (double)bytes / 1e6);
    }
}

/* A file with a line for each stack. */
static void report_folded(const struct stack_view *v)
{
    struct buf text;
    buf_init(&text, (size_t)1 << 30);
    uint64_t begin = clock_mono_ns();
    stacks_write(v, STACKS_FOLDED, &(struct stacks_options){.query.group = FLAME_PROCESS}, append,
                 &text);
    printf("folded stacks written: %.0f ms, %.0f MB\n", since_ms(begin), (double)text.len / 1e6);
    begin = clock_mono_ns();
    struct stack_profile *p =
        stack_profile_new(&(struct stack_profile_limits){.max_bytes = (size_t)512 << 20});
    struct folded *f = folded_new(p);
    folded_feed(f, text.data, text.len);
    struct folded_counts n = folded_end(f);
    printf("folded stacks read: %.0f ms, %.0f lines (limit: 3,000 for 1,000,000)\n",
           since_ms(begin), (double)n.lines);
    stack_profile_free(p);
    buf_release(&text);
}

/* The time of Enter and Esc: the graph is unchanged, its boxes are laid out again and drawn. */
static void report_zoom(struct flame *f)
{
    struct flame_pane pane = {0};
    struct canvas c;
    double ms[RUNS];
    canvas_init(&c, 60, 200, false);
    flame_pane_set(&pane, f, false);
    for (int r = 0; r < RUNS; r++) {
        uint64_t begin = clock_mono_ns();
        flame_pane_zoom(&pane, pane.graph->node[0].first_child + (uint32_t)r);
        flame_draw(&pane, &c, (struct rect){0, 0, 60, 200}, false, true);
        ms[r] = since_ms(begin);
    }
    printf("flame graph, zoom and picture of 200x60: %.2f ms (limit: 50)\n", median(ms));
    flame_pane_release(&pane);
    canvas_release(&c);
}

/* The sub-second heat map: made when new samples come, and when the width changes. */
static void report_map(const struct stack_view *v)
{
    const struct sample_map_query q = {
        .by = FLAME_GROWTH, .metric = STACK_BIN_VHEAP_SIZE, .cols = 90, .lines = 50};
    double ms[RUNS];
    for (int r = 0; r < RUNS; r++) {
        uint64_t begin = clock_mono_ns();
        sample_map_free(sample_map_make(v, &q));
        ms[r] = since_ms(begin);
    }
    printf("sub-second heat map of %d samples by the growth of a metric: %.0f ms (limit: 300)\n",
           SAMPLES, median(ms));
}

/* The most nodes: nearly each sample has a stack that its process has not had before. */
static void report_many_groups(void)
{
    struct stack_profile *p = load(MANY, STACKS / 4);
    struct stack_view *v = stack_profile_view(p);
    report_build(v, "by process, 1,000 processes with 5,000 random stacks (limit: 2,000)",
                 &(struct flame_query){.group = FLAME_PROCESS});
    stack_view_release(v);
    stack_profile_free(p);
}

int main(void)
{
    uint64_t begin = clock_mono_ns();
    struct stack_profile *p = load(PROCESSES, STACKS);
    printf("flame graph, %d samples with %d metrics loaded: %.0f ms (limit: 3,000), %.0f MB\n",
           SAMPLES, STACK_METRICS, since_ms(begin), (double)stack_profile_counts(p).bytes / 1e6);
    struct stack_view *v = stack_profile_view(p);
    struct flame_query q = {0};
    report_build(v, "not grouped", &q);
    q.group = FLAME_STATUS;
    report_build(v, "by status", &q);
    q.group = FLAME_PROCESS;
    report_build(v, "by process", &q);
    q = (struct flame_query){.by = FLAME_GROWTH, .metric = STACK_BIN_VHEAP_SIZE};
    report_build(v, "by the growth of a metric", &q);
    q = (struct flame_query){.lines = true};
    report_build(v, "by lines", &q);
    q = (struct flame_query){.part = FLAME_CALLERS, .focus = 1};
    report_build(v, "callers of a function", &q);
    q = (struct flame_query){0};
    struct flame *f = flame_build(v, &q);
    begin = clock_mono_ns();
    struct flame *both = flame_compare(f, f);
    printf("flame graph, comparison of two: %.0f ms\n", since_ms(begin));
    report_search(f);
    flame_free(both);
    report_zoom(f);
    report_map(v);
    report_folded(v);
    report_files(v);
    report_many_groups();
    stack_view_release(v);
    stack_profile_free(p);
    return 0;
}
