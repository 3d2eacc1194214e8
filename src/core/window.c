#include <kprof/core/window.h>

#include <kprof/core/pack.h>
#include <stdlib.h>
#include <string.h>

#define SEC_NS UINT64_C(1000000000)

static const struct {
    uint32_t seconds, slots;
} LEVEL[WIN_LEVELS] = {{1, 60}, {10, 30}, {60, 60}, {300, 36}};

/* The coarsest level a window is made of: its far edge moves in steps of that. */
static const uint8_t LEVEL_OF[WINDOW_COUNT] = {0, 0, 0, 1, 2, 2, 3, 0};

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

void windows_forget_tier(struct windows *w, uint16_t tier)
{
    /* What closed slots hold of it has no row to go to any more. */
    for (uint16_t i = 0; i < w->idents; i++) {
        row_free(windows_row(w, tier, i));
        w->row[(size_t)tier * w->idents + i] = NULL;
    }
    w->view_valid = false;
}

struct row *windows_row_new(struct windows *w, uint16_t tier, uint16_t ident)
{
    struct row *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    figures_init(&r->cur);
    figures_init(&r->run);
    figures_init(&r->win);
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

/* A coarser slot out of the finer ones it covers: their rows are in order, so one walk merges them.
 */
static void roll(struct windows *w, int level)
{
    enum { MOST = 10 };
    const uint8_t *at[MOST], *end[MOST];
    uint64_t from = w->sec - LEVEL[level].seconds;
    size_t n = 0;

    for (uint32_t i = 0; i < LEVEL[level - 1].slots && n < MOST; i++) {
        const struct slot *s = &w->ring[level - 1].slot[i];
        if (s->block && s->start_s >= from && s->start_s < w->sec) {
            at[n] = s->block;
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
                at[i] = pack_add(at[i], end[i], &sum);
        if (least < (uint32_t)ROW_TIERS * w->idents && w->row[least])
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

static void view_add(struct windows *w, const struct slot *s)
{
    const uint8_t *p = s->block, *end = s->block + s->bytes;
    uint32_t row;

    while (p && p < end && pack_peek(p, end, &row)) {
        struct row *r = row < (uint32_t)ROW_TIERS * w->idents ? w->row[row] : NULL;
        p = pack_add(p, end, r ? &r->win : NULL);
    }
}

/* From the far edge on, each time the coarsest slot that begins there and has ended. */
static void view_build(struct windows *w, enum window which)
{
    int coarsest = LEVEL_OF[which];
    uint64_t step = LEVEL[coarsest].seconds, n = window_ns(which) / SEC_NS;
    uint64_t keep = which == WINDOW_1S ? 1 : n - 1; /* the running second is the n-th */
    uint64_t t = w->sec > keep ? w->sec - keep : 0;

    t = (t + step - 1) / step * step;
    w->view_covered_s = 0;
    while (t < w->sec) {
        const struct slot *s = NULL;
        int l = coarsest;
        for (; l >= 0 && !s; l--)
            if (t % LEVEL[l].seconds == 0 && t + LEVEL[l].seconds <= w->sec)
                s = slot_at(w, l, t);
        if (!s) {
            t++;
            continue;
        }
        view_add(w, s);
        w->view_covered_s += LEVEL[l + 1].seconds;
        t += LEVEL[l + 1].seconds;
    }
}

uint64_t windows_view(struct windows *w, enum window which)
{
    uint64_t running = w->now_ns - w->start_ns - w->sec * SEC_NS;

    if (which == WINDOW_RUN) {
        w->view = which;
        w->view_valid = false;
        return w->now_ns - w->zero_ns;
    }
    if (!w->view_valid || w->view != which || w->view_sec != w->sec) {
        for (size_t i = 0; i < (size_t)ROW_TIERS * w->idents; i++)
            if (w->row[i])
                figures_clear(&w->row[i]->win);
        view_build(w, which);
        w->view = which;
        w->view_sec = w->sec;
        w->view_valid = true;
    }
    return w->view_covered_s * SEC_NS + (which == WINDOW_1S ? 0 : running);
}

void windows_read(const struct windows *w, const struct row *r, struct figures *into)
{
    figures_merge(into, w->view == WINDOW_RUN ? &r->run : &r->win);
    if (w->view != WINDOW_1S)
        figures_merge(into, &r->cur);
}
