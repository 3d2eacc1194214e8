#include "heat.h"
#include "hist_codec.h"
#include "history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void heat_init(struct heat *h)
{
    memset(h, 0, sizeof *h);
    figures_init(&h->sum);
}

void heat_release(struct heat *h)
{
    figures_release(&h->sum);
    free(h->col);
    memset(h, 0, sizeof *h);
}

static struct heat_col *place(const struct heat *h, uint64_t start_s)
{
    return &h->col[start_s / h->step_s % HEAT_COLS];
}

const struct heat_col *heat_at(const struct heat *h, uint64_t start_s)
{
    return place(h, start_s);
}

static bool is_same(const struct heat_row *a, const struct heat_row *b)
{
    return a->tier == b->tier && a->tiers == b->tiers && a->ident == b->ident;
}

/* Adds the calls of a slot in the row to the sum. Rows are in order of tier, then identity. */
static void slot_sum(struct heat *h, const struct windows *w, const struct slot *s, uint64_t ends_s)
{
    const uint8_t *p = s->block, *end = s->block + s->bytes;
    uint32_t first = (uint32_t)h->row.tier * w->idents, row;
    uint32_t last = first + (uint32_t)h->row.tiers * w->idents;

    while (p && p < end && hist_codec_peek(p, end, &row) && row < last) {
        bool ours = row >= first &&
                    (h->row.ident == IDENT_ALL || row % w->idents == h->row.ident) &&
                    windows_wants(w, row, ends_s);
        p = hist_codec_add(p, end, ours ? &h->sum : NULL, HIST_CODEC_ALL);
    }
}

static void column_fill(struct heat_col *c, const struct figures *sum)
{
    uint64_t bin[SCALE_BINS] = {0};

    c->count = sum->hist.count;
    c->errors = snapshot_estimate(
        &(struct snap_row){.count = sum->tally.calls, .est_count = sum->hist.count},
        sum->tally.errors);
    c->estimated = sum->hist.count != sum->tally.calls;
    memset(c->bin, 0, sizeof c->bin);
    if (c->count == 0)
        return;
    scale_add(&sum->hist, bin);
    for (size_t i = 0; i < SCALE_BINS; i++)
        c->bin[i] = bin[i] < UINT32_MAX ? (uint32_t)bin[i] : UINT32_MAX;
}

/* Computes the column that begins at start_s. *next_s: where the slots of the earlier columns end;
 * moved to the end of those of this column. False: some of its seconds are only in a slot that an
 * earlier column has used, too. */
static bool column_make(struct heat *h, const struct windows *w, uint64_t start_s, uint64_t *next_s)
{
    struct heat_col *c = place(h, start_s);
    uint64_t ends = start_s + h->step_s, from = start_s > *next_s ? start_s : *next_s;
    uint64_t slot_begins, slot_ends;
    struct history history;
    const struct slot *s;

    c->done = false;
    c->known = false;
    c->inside = ends <= *next_s;
    c->start_s = start_s;
    c->after_s = from;
    c->from_s = from;
    c->to_s = ends;
    figures_clear(&h->sum);
    history_begin(&history, w, from, c->inside ? from : ends);
    history.from_s = *next_s;
    uint64_t got_s = history.at_s;
    bool whole = true;
    while ((s = history_next(&history, &slot_begins, &slot_ends))) {
        whole = whole && slot_begins <= got_s;
        got_s = slot_ends;
        slot_sum(h, w, s, slot_ends);
        c->known = true;
        c->from_s = slot_begins < c->from_s ? slot_begins : c->from_s;
        c->to_s = slot_ends > c->to_s ? slot_ends : c->to_s;
        *next_s = slot_ends;
    }
    column_fill(c, &h->sum);
    c->done = c->known && ends <= w->sec;
    return c->inside || (whole && got_s >= history.to_s);
}

/* True: a column computed before is still correct next to the columns before it, whose slots reach
 * to next_s: no slot is in two columns or in none. */
static bool still_good(const struct heat_col *c, uint64_t start_s, uint64_t next_s)
{
    uint64_t after_s = start_s > next_s ? start_s : next_s;

    return c->done && c->start_s == start_s && c->after_s == after_s && next_s <= c->from_s;
}

/* False: columns that were computed before conflict with new ones. */
static bool make_all(struct heat *h, const struct windows *w, uint64_t from_s, uint64_t to_s)
{
    uint64_t next_s = 0;
    bool kept = false, whole = true;

    for (uint64_t t = from_s; t < to_s; t += h->step_s) {
        struct heat_col *c = place(h, t);
        if (still_good(c, t, next_s)) {
            next_s = c->to_s;
            kept = true;
        } else {
            whole &= column_make(h, w, t, &next_s);
        }
    }
    return whole || !kept;
}

void heat_make(struct heat *h, const struct windows *w, struct heat_row row, uint64_t from_s,
               uint64_t to_s, uint32_t step_s)
{
    assert(step_s > 0 && from_s % step_s == 0 && (to_s - from_s) / step_s <= HEAT_COLS);
    if (!h->col) {
        h->col = calloc(HEAT_COLS, sizeof *h->col);
        if (!h->col)
            abort();
    }
    if (!is_same(&h->row, &row) || h->step_s != step_s || h->generation != w->generation)
        for (size_t i = 0; i < HEAT_COLS; i++)
            h->col[i].done = false;
    h->row = row;
    h->step_s = step_s;
    h->generation = w->generation;
    if (make_all(h, w, from_s, to_s))
        return;
    /* The columns are finer than the slots that the history still has, so they do not fit the new
     * ones: all are computed again. */
    for (size_t i = 0; i < HEAT_COLS; i++)
        h->col[i].done = false;
    make_all(h, w, from_s, to_s);
}
