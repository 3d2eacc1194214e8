/* A snapshot's heat map. */
#include "snapshot_impl.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <string.h>

static void add_gap(const struct core *c, struct snap_heat_col *k)
{
    uint64_t zero = c->windows.start_ns, to_s = k->to_s < c->windows.sec ? k->to_s : c->windows.sec;

    if (!k->inside && to_s > k->from_s)
        k->gap_s = (double)gaps_ns(&c->gaps, zero + k->from_s * CLOCK_SEC_NS,
                                   zero + to_s * CLOCK_SEC_NS, &k->gap) /
                   1e9;
}

static void keep_columns(const struct core *c, struct snapshot *s, struct snap_heat *h)
{
    const struct heat *from = &c->heat;
    struct snap_heat_col *col = snapshot_take(s, h->n * sizeof *col);
    size_t low = SCALE_BINS, end = 0;

    for (size_t i = 0; i < h->n; i++) {
        const struct heat_col *k = heat_at(from, h->from_s + i * h->col_s);
        col[i] = (struct snap_heat_col){.from_s = k->from_s,
                                        .to_s = k->to_s,
                                        .known = k->known,
                                        .inside = k->inside,
                                        .count = k->count,
                                        .errors = k->errors,
                                        .estimated = k->estimated};
        add_gap(c, &col[i]);
        for (size_t b = 0; k->count && b < SCALE_BINS; b++) {
            low = k->bin[b] && b < low ? b : low;
            end = k->bin[b] && b >= end ? b + 1 : end;
        }
    }
    h->col = col;
    if (end == 0)
        return;
    h->low = low;
    h->n_bins = end - low;
    for (size_t i = 0; i < h->n; i++) {
        const struct heat_col *k = heat_at(from, h->from_s + i * h->col_s);
        if (k->count)
            col[i].bin = memcpy(snapshot_take(s, h->n_bins * sizeof *k->bin), k->bin + low,
                                h->n_bins * sizeof *k->bin);
    }
}

void snapshot_add_heat(struct core *c, struct snapshot *s, const struct view_query *l)
{
    struct snap_heat *h = &s->heat;
    bool total = l->tier == TIER_TOTAL, has_entry = c->tiers.entry != TIER_NONE;
    struct heat_row row = {.tier = l->tier, .tiers = 1, .ident = l->ident};

    if (!l->heat || l->heat_cols == 0 || l->heat_col_s == 0 || (l->tier >= TIER_MAX && !total) ||
        (l->ident != IDENT_ALL && l->ident >= c->windows.idents))
        return;
    if (total) {
        row.tier = has_entry ? ROW_TOTAL : 0;
        row.tiers = has_entry ? 1 : TIER_MAX;
    }
    uint64_t step = l->heat_col_s, cols = l->heat_cols < HEAT_COLS ? l->heat_cols : HEAT_COLS;
    uint64_t end = l->heat_end_s && l->heat_end_s < c->windows.sec ? l->heat_end_s : c->windows.sec;
    uint64_t to = (end + step - 1) / step * step;
    uint64_t from = to > cols * step ? to - cols * step : 0;
    *h = (struct snap_heat){.there = true,
                            .tier = l->tier,
                            .ident_n = l->ident,
                            .from_s = from,
                            .col_s = l->heat_col_s,
                            .n = (to - from) / step};
    heat_make(&c->heat, &c->windows, row, from, to, l->heat_col_s);
    keep_columns(c, s, h);
}
