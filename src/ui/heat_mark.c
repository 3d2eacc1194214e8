#include "heat_mark.h"
#include "bins.h"

#include <kprof/base/format.h>
#include <kprof/base/scale.h>
#include <kprof/core/tier.h>
#include <stdio.h>

struct heat_marked heat_mark_between(size_t col, size_t group, size_t other_col, size_t other_group)
{
    return (struct heat_marked){.on = true,
                                .first = col < other_col ? col : other_col,
                                .last = col < other_col ? other_col : col,
                                .low = group < other_group ? group : other_group,
                                .high = group < other_group ? other_group : group};
}

/* "of 50ms or longer", "with db of 50ms-80ms" */
static void describe(const struct heat_map *m, const struct snap_row *r, const struct view_cells *k,
                     size_t low, size_t high, char *out, size_t cap)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES], with[48] = "";
    bins_mark(low, m->per, from);
    bins_mark(high + 1, m->per, to);
    if (r->tier != TIER_TOTAL) {
        snprintf(with, sizeof with, "with %.40s ", r->tier_name);
    }
    snprintf(out, cap, k->end_bin ? "%sof %s-%s" : "%sof %s or longer", with, from, to);
}

struct intent heat_mark_intent(const struct heat_map *m, const struct snap_row *r, size_t group,
                               bool now)
{
    const struct snap_heat *h = m->h;
    struct intent in = {.kind = INTENT_FLAME_INSIDE,
                        .cells = {.tier = r->tier, .ident = r->ident_n}};
    struct heat_marked k = m->mark;
    if (!k.on) {
        k = (struct heat_marked){
            .first = m->first, .last = m->first + m->n - 1, .low = group, .high = group};
    }
    const struct snap_heat_col *first = &h->col[heat_map_holder(h, k.first)];
    const struct snap_heat_col *last = &h->col[heat_map_holder(h, k.last)];
    in.cells.from_s = first->from_s;
    in.cells.to_s = now && !m->mark.on ? 0 : last->to_s;
    in.cells.low_bin = (uint32_t)bins_first(k.low, m->per);
    in.cells.end_bin = m->mark.on ? (uint32_t)bins_first(k.high + 1, m->per) : 0;
    describe(m, r, &in.cells, k.low, k.high, in.text, sizeof in.text);
    return in;
}
