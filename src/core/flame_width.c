#include <kprof/core/flame.h>

#include <assert.h>

uint64_t flame_metric_width(enum flame_by by, int64_t value, int64_t delta)
{
    switch (by) {
    case FLAME_GROWTH:
        return delta > 0 ? (uint64_t)delta : 0;
    case FLAME_SHRINKAGE:
        return delta < 0 ? 0 - (uint64_t)delta : 0;
    default:
        assert(by == FLAME_VALUE);
        return value > 0 ? (uint64_t)value : 0;
    }
}

static const enum flame_by of_metric[] = {FLAME_VALUE, FLAME_GROWTH, FLAME_SHRINKAGE};
#define OF_METRIC (sizeof of_metric / sizeof *of_metric)
_Static_assert(FLAME_WIDTHS_MAX == 1 + OF_METRIC * STACK_METRICS, "all widths");

static void find(const struct stack_view *v, bool has[STACK_METRICS][OF_METRIC])
{
    for (size_t i = 0; i < stack_view_count(v); i++) {
        struct stack_metrics m;
        stack_view_metrics(v, i, &m);
        for (unsigned k = 0; m.known >> k; k++)
            for (size_t by = 0; (m.known >> k & 1) && by < OF_METRIC; by++)
                has[k][by] |= flame_metric_width(of_metric[by], m.value[k], m.delta[k]) > 0;
    }
}

size_t flame_widths(const struct stack_view *v, struct flame_width out[FLAME_WIDTHS_MAX])
{
    bool has[STACK_METRICS][OF_METRIC] = {{false}};
    size_t n = 0;

    find(v, has);
    out[n++] = (struct flame_width){.by = FLAME_SAMPLES};
    for (unsigned k = 0; k < STACK_METRICS; k++)
        for (size_t by = 0; by < OF_METRIC; by++)
            if (has[k][by])
                out[n++] = (struct flame_width){of_metric[by], (enum stack_metric)k};
    return n;
}

void flame_width_text(struct buf *out, const struct flame_width *w, enum stack_unit unit)
{
    static const char *const UNIT[] = {[STACK_UNIT_SAMPLES] = "samples",
                                       [STACK_UNIT_NS] = "time",
                                       [STACK_UNIT_US] = "time",
                                       [STACK_UNIT_BYTES] = "bytes"};
    static const char *const BY[] = {
        [FLAME_VALUE] = "", [FLAME_GROWTH] = "growth of ", [FLAME_SHRINKAGE] = "shrinkage of "};
    if (w->by == FLAME_SAMPLES)
        buf_adds(out, UNIT[unit]);
    else
        buf_addf(out, "%s%s", BY[w->by], stack_metric_name(w->metric));
}
