#include <kprof/core/window.h>

#include <kprof/core/pack.h>
#include <stdlib.h>
#include <string.h>

#define SEC_NS UINT64_C(1000000000)

static const struct {
    uint32_t seconds, slots;
} LEVEL[WIN_LEVELS] = {{1, 75}, {10, 32}, {60, 34}, {300, 37}};

/* The coarsest level a window is made of: its far edge moves in steps of that. Each ring has some
 * more slots than its longest window, so that what leaves a window can still be taken out of it. */
static const uint8_t LEVEL_OF[WINDOW_COUNT] = {0, 0, 0, 1, 2, 3, 3, 0};

/* After a gap this long no slot can hold anything. */
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
    return w < WINDOW_RUN ? seconds[w] * SEC_NS : UINT64_MAX;
}

/* ---- figures ---- */

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
    if (from->hist.count == 0)
        return;
    hist_merge(&into->hist, &from->hist);
    into->tally.est += from->tally.est;
    into->tally.late += from->tally.late;
    into->tally.errors += from->tally.errors;
    into->tally.self_ns += from->tally.self_ns;
    into->tally.share_ns += from->tally.share_ns;
}

/* ---- life ---- */

void windows_init(struct windows *w, uint16_t idents, size_t max_bytes)
{
    memset(w, 0, sizeof *w);
    w->idents = idents;
    w->max_bytes = max_bytes;
    w->row = calloc((size_t)ROW_TIERS * idents, sizeof(struct row *));
    if (!w->row)
        abort();
    for (int l = 0; l < WIN_LEVELS; l++) {
        w->ring[l].slot = calloc(LEVEL[l].slots, sizeof(struct slot));
        if (!w->ring[l].slot)
            abort();
    }
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
    free(s->block);
    memset(s, 0, sizeof *s);
}

static void forget_history(struct windows *w)
{
    for (int l = 0; l < WIN_LEVELS; l++)
        for (uint32_t i = 0; i < LEVEL[l].slots; i++)
            slot_clear(w, &w->ring[l].slot[i]);
    w->view_valid = false;
}

void windows_release(struct windows *w)
{
    forget_history(w);
    for (size_t i = 0; i < (size_t)ROW_TIERS * w->idents; i++)
        row_free(w->row[i]);
    for (int l = 0; l < WIN_LEVELS; l++)
        free(w->ring[l].slot);
    free(w->row);
    free(w->pack);
    memset(w, 0, sizeof *w);
}

void windows_zero(struct windows *w)
{
    forget_history(w);
    for (size_t i = 0; i < (size_t)ROW_TIERS * w->idents; i++) {
        row_free(w->row[i]);
        w->row[i] = NULL;
    }
    w->busy = 0;
    w->start_ns = w->zero_ns = w->now_ns;
    w->sec = 0;
}

/* What closed slots hold of it has no row to go to any more. */
static void forget_row(struct windows *w, size_t at)
{
    row_free(w->row[at]);
    w->row[at] = NULL;
    w->view_valid = false;
}

void windows_forget_tier(struct windows *w, uint16_t tier)
{
    for (uint16_t i = 0; i < w->idents; i++)
        forget_row(w, (size_t)tier * w->idents + i);
}

void windows_fold_ident(struct windows *w, uint16_t ident, uint16_t into)
{
    for (uint16_t t = 0; t < ROW_TIERS; t++) {
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

static bool drop_oldest(struct windows *w, int level)
{
    struct slot *oldest = NULL;

    for (uint32_t i = 0; i < LEVEL[level].slots; i++) {
        struct slot *s = &w->ring[level].slot[i];
        if (s->block && (!oldest || s->start_s < oldest->start_s))
            oldest = s;
    }
    if (!oldest)
        return false;
    slot_clear(w, oldest);
    w->dropped_slots++;
    w->view_valid = false;
    return true;
}

static void ring_put(struct windows *w, int level, uint64_t start_s)
{
    struct slot *s = &w->ring[level].slot[w->ring[level].at];

    w->ring[level].at = (w->ring[level].at + 1) % LEVEL[level].slots;
    slot_clear(w, s);
    s->start_s = start_s;
    s->used = true;
    if (w->pack_n == 0)
        return;
    for (int l = WIN_LEVELS - 1; w->bytes + w->pack_n > w->max_bytes;)
        if (!drop_oldest(w, l) && --l < 0)
            break;
    if (w->pack_n > w->max_bytes)
        return;
    s->block = malloc(w->pack_n);
    if (!s->block)
        abort();
    memcpy(s->block, w->pack, w->pack_n);
    s->bytes = w->pack_n;
    w->bytes += s->bytes;
}

static void pack_append(struct windows *w, uint32_t row, const struct figures *f)
{
    if (w->pack_cap - w->pack_n < PACK_ROW_MAX) {
        w->pack_cap = w->pack_cap * 2 + PACK_ROW_MAX;
        w->pack = realloc(w->pack, w->pack_cap);
        if (!w->pack)
            abort();
    }
    w->pack_n += pack_row(row, f, w->pack + w->pack_n);
}

/* Whether a slot that ends there holds anything of the row that has this number now. */
static bool wants(const struct windows *w, uint32_t row, uint64_t ends_s)
{
    return row < (uint32_t)ROW_TIERS * w->idents && w->row[row] && w->row[row]->born_s < ends_s;
}

/* A coarser slot out of the finer ones it covers: their rows are in order, so one walk merges them.
 */
static void roll(struct windows *w, int level)
{
    enum { MOST = 10 };
    const uint8_t *at[MOST], *end[MOST];
    uint64_t ends_s[MOST];
    uint64_t from = w->sec - LEVEL[level].seconds;
    size_t n = 0;

    for (uint32_t i = 0; i < LEVEL[level - 1].slots && n < MOST; i++) {
        const struct slot *s = &w->ring[level - 1].slot[i];
        if (s->block && s->start_s >= from && s->start_s < w->sec) {
            at[n] = s->block;
            ends_s[n] = s->start_s + LEVEL[level - 1].seconds;
            end[n++] = s->block + s->bytes;
        }
    }
    w->pack_n = 0;
    struct figures sum;
    figures_init(&sum);
    for (;;) {
        uint32_t least = UINT32_MAX, row;
        for (size_t i = 0; i < n; i++)
            if (at[i] && pack_peek(at[i], end[i], &row) && row < least)
                least = row;
        if (least == UINT32_MAX)
            break;
        for (size_t i = 0; i < n; i++)
            if (at[i] && pack_peek(at[i], end[i], &row) && row == least)
                at[i] = pack_add(at[i], end[i], wants(w, least, ends_s[i]) ? &sum : NULL, PACK_ALL);
        if (sum.hist.count)
            pack_append(w, least, &sum);
        figures_clear(&sum);
    }
    figures_release(&sum);
    ring_put(w, level, from);
}

static void close_second(struct windows *w)
{
    w->pack_n = 0;
    for (size_t i = 0; w->busy && i < (size_t)ROW_TIERS * w->idents; i++) {
        struct row *r = w->row[i];
        if (!r || r->cur.hist.count == 0)
            continue;
        pack_append(w, (uint32_t)i, &r->cur);
        figures_merge(&r->run, &r->cur);
        figures_clear(&r->cur);
    }
    w->busy = 0;
    ring_put(w, 0, w->sec++);
    for (int l = 1; l < WIN_LEVELS; l++)
        if (w->sec % LEVEL[l].seconds == 0)
            roll(w, l);
}

void windows_advance(struct windows *w, uint64_t now_ns)
{
    if (!w->started) {
        if (now_ns == 0) /* nobody knows the time yet */
            return;
        w->started = true;
        w->start_ns = w->zero_ns = w->now_ns = now_ns;
    }
    if (now_ns > w->now_ns)
        w->now_ns = now_ns;
    uint64_t to = (w->now_ns - w->start_ns) / SEC_NS;
    if (w->sec < to && to - w->sec > GAP_S) {
        close_second(w);
        forget_history(w);
        w->sec = (to - GAP_S) / 300 * 300;
    }
    while (w->sec < to)
        close_second(w);
}

/* ---- reading ---- */

static const struct slot *slot_at(const struct windows *w, int level, uint64_t start_s)
{
    for (uint32_t i = 0; i < LEVEL[level].slots; i++) {
        const struct slot *s = &w->ring[level].slot[i];
        if (s->used && s->start_s == start_s)
            return s;
    }
    return NULL;
}

static void slot_add(struct windows *w, const struct slot *s, uint64_t ends_s, enum pack_what what)
{
    const uint8_t *p = s->block, *end = s->block + s->bytes;
    uint32_t row;

    while (p && p < end && pack_peek(p, end, &row))
        p = pack_add(p, end, wants(w, row, ends_s) ? &w->row[row]->win : NULL, what);
}

/* Adds the seconds [from, to), each time by the coarsest slot that begins there and ends in time;
 * returns how many of them there were. */
static uint64_t range_add(struct windows *w, int coarsest, uint64_t from, uint64_t to,
                          enum pack_what what)
{
    uint64_t covered = 0;

    for (uint64_t t = from; t < to;) {
        const struct slot *s = NULL;
        int l = coarsest;
        for (; l >= 0; l--)
            if (t % LEVEL[l].seconds == 0 && t + LEVEL[l].seconds <= to && (s = slot_at(w, l, t)))
                break;
        if (!s) {
            t++;
            continue;
        }
        slot_add(w, s, t + LEVEL[l].seconds, what);
        covered += LEVEL[l].seconds;
        t += LEVEL[l].seconds;
    }
    return covered;
}

static void scalars_clear(struct figures *f)
{
    f->hist.count = f->hist.max_ns = f->hist.clipped = 0;
    f->hist.min_ns = UINT64_MAX;
    f->hist.sum_ns = f->hist.sumsq_ns = 0;
    memset(&f->tally, 0, sizeof f->tally);
}

/* Moves the view on: buckets are added and taken away; scalars, of which least and greatest cannot
 * be taken away, are summed anew. False: something is missing. */
static bool view_move(struct windows *w, int coarsest, uint64_t from)
{
    uint64_t was_from = w->view_from, was_to = w->view_sec;

    if (from < was_from || from > was_to ||
        range_add(w, coarsest, was_to, w->sec, PACK_BUCKETS) != w->sec - was_to ||
        range_add(w, coarsest, was_from, from, PACK_TAKE) != from - was_from)
        return false;
    for (size_t i = 0; i < (size_t)ROW_TIERS * w->idents; i++)
        if (w->row[i])
            scalars_clear(&w->row[i]->win);
    w->view_covered_s = range_add(w, coarsest, from, w->sec, PACK_SCALARS);
    return true;
}

uint64_t windows_view(struct windows *w, enum window which)
{
    uint64_t running = w->now_ns - w->start_ns - w->sec * SEC_NS;
    int coarsest = LEVEL_OF[which];

    if (which == WINDOW_RUN) {
        w->view = which;
        w->view_valid = false;
        return w->now_ns - w->zero_ns;
    }
    uint64_t n = window_ns(which) / SEC_NS, step = LEVEL[coarsest].seconds;
    uint64_t most = which == WINDOW_1S ? 1 : n - 1; /* the running second is the n-th */
    uint64_t from = w->sec > most ? w->sec - most : 0;
    from = (from + step - 1) / step * step;
    if (!w->view_valid || w->view != which ||
        (w->view_sec != w->sec && !view_move(w, coarsest, from))) {
        for (size_t i = 0; i < (size_t)ROW_TIERS * w->idents; i++)
            if (w->row[i])
                figures_clear(&w->row[i]->win);
        w->view_covered_s = range_add(w, coarsest, from, w->sec, PACK_ALL);
    }
    w->view = which;
    w->view_from = from;
    w->view_sec = w->sec;
    w->view_valid = true;
    return w->view_covered_s * SEC_NS + (which == WINDOW_1S ? 0 : running);
}

void windows_read(const struct windows *w, const struct row *r, struct figures *into)
{
    figures_merge(into, w->view == WINDOW_RUN ? &r->run : &r->win);
    if (w->view != WINDOW_1S)
        figures_merge(into, &r->cur);
}
