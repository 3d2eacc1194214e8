/* Any bytes as folded stacks, in pieces: bounded, each line counted once, and the sums of the graph
 * are right. */
#include <kprof/core/flame.h>
#include <kprof/core/folded.h>
#include <kprof/export/stacks.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool count(void *arg, const char *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)arg += n;
    return true;
}

static void check_graph(const struct stack_view *v, const struct flame_query *q)
{
    struct flame *f = flame_build(v, q);
    uint64_t selfs = 0;
    for (uint32_t i = 0; i < f->nodes; i++)
        selfs += f->node[i].self;
    must(selfs == f->node[0].total);
    flame_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct stack_profile_limits small = {.max_texts = 50, .max_frames = 60, .max_stacks = 70};
    if (n == 0)
        return 0;
    struct stack_profile *p = stack_profile_new(data[0] & 1 ? &small : NULL);
    size_t piece = 1 + data[0] / 2u;
    struct folded *f = folded_new(p);
    for (size_t at = 1; at < n; at += piece)
        folded_feed(f, (const char *)data + at, at + piece < n ? piece : n - at);
    struct folded_counts c = folded_end(f);
    struct stack_profile_counts k = stack_profile_counts(p);
    must(c.lines == k.added && c.deep <= c.lines);
    struct stack_view *v = stack_profile_view(p);
    must(k.added == stack_view_count(v) + k.dropped + k.left_out);
    check_graph(v, &(struct flame_query){.group = FLAME_PROCESS, .fold_recursion = true});
    size_t bytes = 0;
    int how = data[0] % STACKS_FORMATS;
    if (how != STACKS_EFLAME) /* number of lines according to the counts */
        must(stacks_write(v, (enum stacks_format)how, &(struct stacks_options){0}, count, &bytes));
    stack_view_release(v);
    stack_profile_free(p);
    return 0;
}
