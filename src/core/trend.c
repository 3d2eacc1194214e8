#include "trend.h"
#include "hist_codec.h"
#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUANTILE 0.99

void trend_init(struct trend *t)
{
    memset(t, 0, sizeof *t);
    figures_init(&t->tier_sum);
}

static void forget(struct trend *t)
{
    for (size_t i = 0; t->row && i < (size_t)ROW_TIERS * (t->idents + 1u); i++) {
        free(t->row[i]);
        t->row[i] = NULL;
    }
}

void trend_release(struct trend *t)
{
    forget(t);
    free(t->row);
    figures_release(&t->tier_sum);
    for (size_t i = 0; t->total && i <= t->idents; i++)
        figures_release(&t->total[i]);
    free(t->total);
    memset(t, 0, sizeof *t);
}

static void make_memory(struct trend *t, uint16_t idents)
{
    t->idents = idents;
    t->row = calloc((size_t)ROW_TIERS * (idents + 1u), sizeof *t->row);
    t->total = calloc(idents + 1u, sizeof *t->total);
    if (!t->row || !t->total)
        abort();
    for (size_t i = 0; i <= idents; i++)
        figures_init(&t->total[i]);
}

static struct trend_row **row_at(const struct trend *t, uint16_t tier, uint16_t ident)
{
    return &t->row[(size_t)tier * (t->idents + 1u) + (ident < t->idents ? ident : t->idents)];
}

static struct trend_row *row_new(struct trend *t, uint16_t tier, uint16_t ident)
{
    struct trend_row **r = row_at(t, tier, ident);

    if (*r)
        return *r;
    *r = malloc(sizeof **r);
    if (!*r)
        abort();
    for (size_t i = 0; i < SNAP_TREND; i++) {
        (*r)->rate[i] = t->known[i] ? 0 : NAN;
        (*r)->p99_us[i] = (*r)->errors[i] = NAN;
    }
    return *r;
}

static void set(struct trend *t, uint16_t tier, uint16_t ident, size_t at, uint64_t seconds,
                const struct hist_codec_said *said)
{
    struct trend_row *r = row_new(t, tier, ident);

    r->rate[at] = (float)((double)said->est / (double)seconds);
    r->p99_us[at] = (float)((double)said->value_ns / 1e3);
    r->errors[at] = (float)((double)said->errors / (double)said->calls);
}

/* Sets the values of a row from the sums of a slot, and resets the sums. */
static void set_sum(struct trend *t, uint16_t tier, uint16_t ident, size_t at, uint64_t seconds,
                    struct figures *f)
{
    if (f->hist.count == 0)
        return;
    set(t, tier, ident, at, seconds,
        &(struct hist_codec_said){f->tally.calls, f->hist.count, f->tally.errors,
                                  hist_quantile(&f->hist, QUANTILE)});
    figures_clear(f);
}

static void read_slot(struct trend *t, const struct windows *w, const struct slot *s,
                      uint64_t begins_s, uint64_t ends_s, size_t at)
{
    const uint8_t *p = s->block, *end = s->block + s->bytes;
    struct figures *all = &t->total[t->idents], *ident_sum = t->total;
    struct figures *tier_sum = &t->tier_sum;
    uint64_t seconds = ends_s - begins_s;
    uint16_t tier_now = UINT16_MAX;
    uint32_t row;

    while (p && p < end && hist_codec_peek(p, end, &row)) {
        uint16_t tier = (uint16_t)(row / w->idents), ident = (uint16_t)(row % w->idents);
        struct figures *const into[] = {tier_sum, all, &ident_sum[ident]};
        struct hist_codec_said said;
        if (tier != tier_now)
            set_sum(t, tier_now, IDENT_ALL, at, seconds, tier_sum);
        tier_now = tier;
        if (tier >= ROW_TIERS || !windows_wants(w, row, ends_s)) {
            p = hist_codec_add(p, end, NULL, HIST_CODEC_ALL);
            continue;
        }
        p = hist_codec_spread(p, end, into, t->all_tiers && tier != ROW_TOTAL ? 3 : 1, QUANTILE,
                              &said);
        if (p && said.calls)
            set(t, tier, ident, at, seconds, &said);
    }
    set_sum(t, tier_now, IDENT_ALL, at, seconds, tier_sum);
    for (uint16_t i = 0; t->all_tiers && i <= t->idents; i++)
        set_sum(t, ROW_TOTAL, i < t->idents ? i : IDENT_ALL, at, seconds, &ident_sum[i]);
}

/* Begins the second at `at` for all rows, without calls. */
static void second_begin(struct trend *t, size_t at, bool known)
{
    t->known[at] = known;
    for (size_t i = 0; i < (size_t)ROW_TIERS * (t->idents + 1u); i++) {
        struct trend_row *r = t->row[i];
        if (!r)
            continue;
        r->rate[at] = known ? 0 : NAN;
        r->p99_us[at] = r->errors[at] = NAN;
    }
}

static void second_like_before(struct trend *t, size_t at, size_t before)
{
    for (size_t i = 0; i < (size_t)ROW_TIERS * (t->idents + 1u); i++) {
        struct trend_row *r = t->row[i];
        if (!r)
            continue;
        r->rate[at] = r->rate[before];
        r->p99_us[at] = r->p99_us[before];
        r->errors[at] = r->errors[before];
    }
}

void trend_make(struct trend *t, const struct windows *w, uint64_t end_s, bool all_tiers)
{
    if (!t->row)
        make_memory(t, w->idents);
    if (t->generation != w->generation || t->all_tiers != all_tiers)
        t->valid = false;
    uint64_t from = end_s > SNAP_TREND ? end_s - SNAP_TREND : 0;
    if (t->valid && t->end_s <= end_s && t->end_s > from) {
        from = t->end_s;
    } else {
        forget(t);
        memset(t->known, 0, sizeof t->known);
    }
    t->all_tiers = all_tiers;
    t->generation = w->generation;
    t->end_s = end_s;
    t->valid = true;
    const struct slot *last = NULL;
    for (uint64_t s = from; s < end_s; s++) {
        struct history history;
        uint64_t begins, ends;
        size_t at = s % SNAP_TREND;
        history_begin(&history, w, s, s + 1);
        const struct slot *slot = history_next(&history, &begins, &ends);
        second_begin(t, at, slot != NULL);
        if (slot && slot == last)
            second_like_before(t, at, (s - 1) % SNAP_TREND);
        else if (slot)
            read_slot(t, w, slot, begins, ends, at);
        last = slot;
    }
}

void trend_copy(const struct trend *t, uint16_t tier, uint16_t ident, struct trend_row *out)
{
    const struct trend_row *r = *row_at(t, tier, ident);

    for (uint64_t i = 0; i < SNAP_TREND; i++) {
        uint64_t s =
            t->end_s + i; /* stands for the second s - SNAP_TREND, which has the same index */
        size_t at = s % SNAP_TREND;
        bool known = s >= SNAP_TREND && t->known[at];
        out->rate[i] = !known ? NAN : r ? r->rate[at] : 0;
        out->p99_us[i] = known && r ? r->p99_us[at] : NAN;
        out->errors[i] = known && r ? r->errors[at] : NAN;
    }
}
