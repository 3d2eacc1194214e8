#include "window.h"
#include "hist_codec.h"
#include "history.h"

#include <kprof/base/clock.h>
#include <kprof/base/pages.h>
#include <stdlib.h>
#include <string.h>

/* least_s: the seconds of a level that windows that end now need; they stay when history_bytes are
 * full. It is more than the longest window made of the level, so that slots that leave a window can
 * still be subtracted. */
static const struct {
    uint32_t seconds, slots, least_s;
} LEVEL[WIN_LEVELS] = {{1, 11100, 75}, {10, 1110, 320}, {60, 185, 34 * 60}, {300, 37, 37 * 300}};

/* After a pause this long, all slots are empty. */
#define GAP_S ((uint64_t)300 * 37)

const char *window_name(enum window w)
{
    static const char *const name[WINDOW_COUNT] = {"1s",  "10s", "1m", "5m",
                                                   "30m", "60m", "3h", "run"};
    return w < WINDOW_COUNT ? name[w] : "?";
}

uint64_t window_ns(enum window w)
{
    static const uint32_t seconds[WINDOW_COUNT] = {1, 10, 60, 300, 1800, 3600, 10800, 0};
    return w < WINDOW_RUN ? seconds[w] * CLOCK_SEC_NS : UINT64_MAX;
}

/* ---- values of a row ---- */

void figures_init(struct figures *f)
{
    memset(f, 0, sizeof *f);
    hist_init(&f->hist);
}

void figures_release(struct figures *f)
{
    hist_release(&f->hist);
    figures_init(f);
}

void figures_clear(struct figures *f)
{
    hist_clear(&f->hist);
    memset(&f->tally, 0, sizeof f->tally);
}

void figures_merge(struct figures *into, const struct figures *from)
{
    if (figures_empty(from))
        return;
    hist_merge(&into->hist, &from->hist);
    into->tally.calls += from->tally.calls;
    into->tally.late += from->tally.late;
    into->tally.exits += from->tally.exits;
    into->tally.errors += from->tally.errors;
    into->tally.self_ns += from->tally.self_ns;
    into->tally.share_ns += from->tally.share_ns;
    into->tally.busy_ns += from->tally.busy_ns;
}

/* ---- creation ---- */

void windows_init(struct windows *w, uint16_t idents, size_t max_bytes)
{
    memset(w, 0, sizeof *w);
    w->idents = idents;
    w->max_bytes = max_bytes;
    w->row = calloc((size_t)ROW_KINDS * idents, sizeof(struct row *));
    if (!w->row)
        abort();
    for (int l = 0; l < WIN_LEVELS; l++) {
        w->ring[l].slot = calloc(LEVEL[l].slots, sizeof(struct slot));
        if (!w->ring[l].slot)
            abort();
    }
}

void windows_keep_history(struct windows *w, bool on)
{
    w->no_history = !on;
}

static void row_free(struct row *r)
{
    if (!r)
        return;
    figures_release(&r->cur);
    figures_release(&r->run);
    figures_release(&r->win);
    free(r);
}

static void slot_clear(struct windows *w, struct slot *s)
{
    w->bytes -= s->bytes;
    pages_free(s->block, s->bytes);
    memset(s, 0, sizeof *s);
}

static void forget_history(struct windows *w)
{
    for (int l = 0; l < WIN_LEVELS; l++) {
        for (uint32_t i = 0; i < LEVEL[l].slots; i++)
            slot_clear(w, &w->ring[l].slot[i]);
        w->ring[l].oldest_s = w->sec / LEVEL[l].seconds * LEVEL[l].seconds;
    }
    w->view_valid = false;
    w->generation++;
}

void windows_release(struct windows *w)
{
    forget_history(w);
    for (size_t i = 0; i < (size_t)ROW_KINDS * w->idents; i++)
        row_free(w->row[i]);
    for (int l = 0; l < WIN_LEVELS; l++)
        free(w->ring[l].slot);
    free(w->row);
    free(w->packed.bytes);
    memset(w, 0, sizeof *w);
}

void windows_zero(struct windows *w)
{
    w->sec = 0;
    forget_history(w);
    for (size_t i = 0; i < (size_t)ROW_KINDS * w->idents; i++) {
        row_free(w->row[i]);
        w->row[i] = NULL;
    }
    w->busy = 0;
    w->start_ns = w->zero_ns = w->now_ns;
    w->end_ns = 0;
}

void windows_end(struct windows *w, uint64_t at_ns)
{
    w->end_ns = at_ns > w->zero_ns ? at_ns : w->zero_ns;
}

/* The values of the closed slots have no row any more. */
static void forget_row(struct windows *w, size_t at)
{
    row_free(w->row[at]);
    w->row[at] = NULL;
    w->view_valid = false;
    w->generation++;
}

void windows_forget_tier(struct windows *w, uint16_t tier)
{
    for (uint16_t i = 0; i < w->idents; i++) {
        forget_row(w, (size_t)tier * w->idents + i);
        if (tier < TIER_MAX)
            forget_row(w, (size_t)(ROW_MAILBOX + tier) * w->idents + i);
    }
}

void windows_fold_ident(struct windows *w, uint16_t ident, uint16_t into)
{
    for (uint16_t t = 0; t < ROW_KINDS; t++) {
        struct row *r = windows_row(w, t, ident), *to = windows_row(w, t, into);
        if (!r)
            continue;
        if (!to)
            to = windows_row_new(w, t, into);
        figures_merge(&to->cur, &r->cur);
        figures_merge(&to->run, &r->run);
        forget_row(w, (size_t)t * w->idents + ident);
    }
}

struct row *windows_row_new(struct windows *w, uint16_t tier, uint16_t ident)
{
    struct row *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    figures_init(&r->cur);
    figures_init(&r->run);
    figures_init(&r->win);
    r->born_s = w->sec;
    w->row[(size_t)tier * w->idents + ident] = r;
    return r;
}

/* ---- closing seconds ---- */

/* The position of a slot follows from its start. */
static struct slot *place(const struct windows *w, int level, uint64_t start_s)
{
    return &w->ring[level].slot[start_s / LEVEL[level].seconds % LEVEL[level].slots];
}

/* Frees the oldest block of those that end by until_s, and empty slots before it: the rest of a
 * level is contiguous. False: there is none. */
static bool drop_oldest(struct windows *w, int level, uint64_t until_s)
{
    uint64_t *at_s = &w->ring[level].oldest_s, step = LEVEL[level].seconds;

    while (*at_s + step <= until_s) {
        struct slot *s = place(w, level, *at_s);
        bool had = s->block && s->start_s == *at_s;
        if (s->used && s->start_s == *at_s)
            slot_clear(w, s);
        *at_s += step;
        if (!had)
            continue;
        return true;
    }
    return false;
}

/* Drops slots that no window that ends now needs. */
static bool drop_past(struct windows *w, int level)
{
    return w->sec >= LEVEL[level].least_s && drop_oldest(w, level, w->sec - LEVEL[level].least_s);
}

/* Makes room for n bytes. Fine slots that no window that ends now needs are dropped first, as soon
 * as two thirds are in use, because blocks of many sizes fragment the heap. Then the oldest part of
 * the history is dropped. */
static void make_room(struct windows *w, size_t n)
{
    for (int l = 0; l < WIN_LEVELS && w->bytes + n > w->max_bytes / 3 * 2;)
        if (drop_past(w, l))
            w->dropped_slots++;
        else
            l++;
    for (int l = WIN_LEVELS - 1; l >= 0 && w->bytes + n > w->max_bytes;) {
        if (!drop_oldest(w, l, w->sec)) {
            l--;
            continue;
        }
        w->dropped_slots++;
        w->view_valid = false;
    }
}

static void ring_put(struct windows *w, int level, uint64_t start_s)
{
    struct slot *s = place(w, level, start_s);

    slot_clear(w, s);
    make_room(w, w->packed.n);
    s->start_s = start_s;
    s->used = true;
    if (start_s < w->ring[level].oldest_s)
        w->ring[level].oldest_s = start_s;
    if (w->packed.n == 0 || w->packed.n > w->max_bytes)
        return;
    s->block = memcpy(pages_new(w->packed.n), w->packed.bytes, w->packed.n);
    s->bytes = w->packed.n;
    w->bytes += s->bytes;
}

static void hist_codec_append(struct windows *w, uint32_t row, const struct figures *f)
{
    if (w->packed.cap - w->packed.n < HIST_CODEC_ROW_MAX) {
        w->packed.cap = w->packed.cap * 2 + HIST_CODEC_ROW_MAX;
        w->packed.bytes = realloc(w->packed.bytes, w->packed.cap);
        if (!w->packed.bytes)
            abort();
    }
    w->packed.n += hist_codec_row(row, f, w->packed.bytes + w->packed.n);
}

uint32_t windows_level_s(int level)
{
    return LEVEL[level].seconds;
}

uint64_t windows_reach_s(int level)
{
    return (uint64_t)LEVEL[level].seconds * LEVEL[level].slots;
}

const struct slot *windows_slot(const struct windows *w, int level, uint64_t start_s)
{
    const struct slot *s = place(w, level, start_s);
    return s->used && s->start_s == start_s ? s : NULL;
}

bool windows_wants(const struct windows *w, uint32_t row, uint64_t ends_s)
{
    return row < (uint32_t)ROW_KINDS * w->idents && w->row[row] && w->row[row]->born_s < ends_s;
}

/* Makes a coarser slot from the finer slots that it covers: their rows are in order, so one walk
 * merges them. */
static void roll(struct windows *w, int level)
{
    enum { MOST = 10 };
    const uint8_t *at[MOST], *end[MOST];
    uint64_t ends_s[MOST];
    uint64_t from = w->sec - LEVEL[level].seconds;
    size_t n = 0;

    for (uint64_t t = from; t < w->sec && n < MOST; t += LEVEL[level - 1].seconds) {
        const struct slot *s = windows_slot(w, level - 1, t);
        if (s && s->block) {
            at[n] = s->block;
            ends_s[n] = t + LEVEL[level - 1].seconds;
            end[n++] = s->block + s->bytes;
        }
    }
    w->packed.n = 0;
    struct figures sum;
    figures_init(&sum);
    for (;;) {
        uint32_t least = UINT32_MAX, row;
        for (size_t i = 0; i < n; i++)
            if (at[i] && hist_codec_peek(at[i], end[i], &row) && row < least)
                least = row;
        if (least == UINT32_MAX)
            break;
        for (size_t i = 0; i < n; i++)
            if (at[i] && hist_codec_peek(at[i], end[i], &row) && row == least)
                at[i] =
                    hist_codec_add(at[i], end[i], windows_wants(w, least, ends_s[i]) ? &sum : NULL,
                                   HIST_CODEC_ALL);
        if (!figures_empty(&sum))
            hist_codec_append(w, least, &sum);
        figures_clear(&sum);
    }
    figures_release(&sum);
    ring_put(w, level, from);
}

static void close_second(struct windows *w)
{
    w->packed.n = 0;
    for (size_t i = 0; w->busy && i < (size_t)ROW_KINDS * w->idents; i++) {
        struct row *r = w->row[i];
        if (!r || figures_empty(&r->cur))
            continue;
        hist_codec_append(w, (uint32_t)i, &r->cur);
        figures_merge(&r->run, &r->cur);
        figures_clear(&r->cur);
    }
    w->busy = 0;
    ring_put(w, 0, w->sec++);
    for (int l = 1; l < WIN_LEVELS; l++)
        if (w->sec % LEVEL[l].seconds == 0)
            roll(w, l);
    for (int l = 0; w->no_history && l < WIN_LEVELS; l++)
        while (drop_past(w, l))
            ;
}

void windows_advance(struct windows *w, uint64_t now_ns)
{
    if (!w->started) {
        if (now_ns == 0) /* the time is not known yet */
            return;
        w->started = true;
        w->start_ns = w->zero_ns = w->now_ns = now_ns;
    }
    if (now_ns > w->now_ns)
        w->now_ns = now_ns;
    uint64_t to = (w->now_ns - w->start_ns) / CLOCK_SEC_NS;
    if (w->sec < to && to - w->sec > GAP_S) {
        close_second(w);
        w->sec = (to - GAP_S) / 300 * 300;
        forget_history(w);
    }
    while (w->sec < to)
        close_second(w);
}
