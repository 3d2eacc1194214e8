/* Reads a window: closed slots are summed into `win` of the rows, which then advances from second
 * to second. */
#include "hist_codec.h"
#include "history.h"
#include "window.h"

#include <kprof/base/clock.h>
#include <string.h>

/* The coarsest level for a window of that length: the start of the window moves in steps of that
 * level. */
static int level_of(uint64_t seconds)
{
    return seconds <= 60 ? 0 : seconds <= 300 ? 1 : seconds <= 1800 ? 2 : 3;
}

static void slot_add(struct windows *w, const struct slot *s, uint64_t ends_s,
                     enum hist_codec_what what)
{
    const uint8_t *p = s->block, *end = p ? p + s->bytes : NULL;
    uint32_t row;

    while (p < end && hist_codec_peek(p, end, &row))
        p = hist_codec_add(p, end, windows_wants(w, row, ends_s) ? &w->row[row]->win : NULL, what);
}

/* Adds the seconds [from, to), at each step with the coarsest slot that begins there and ends by
 * `to`. Returns the number of seconds covered. */
static uint64_t range_add(struct windows *w, int coarsest, uint64_t from, uint64_t to,
                          enum hist_codec_what what)
{
    uint64_t covered = 0;

    for (uint64_t t = from; t < to;) {
        const struct slot *s = NULL;
        int l = coarsest;
        for (; l >= 0; l--)
            if (t % windows_level_s(l) == 0 && t + windows_level_s(l) <= to &&
                (s = windows_slot(w, l, t)))
                break;
        if (!s) {
            t++;
            continue;
        }
        slot_add(w, s, t + windows_level_s(l), what);
        covered += windows_level_s(l);
        t += windows_level_s(l);
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

/* Advances the view: buckets are added and subtracted; scalars are summed again, because minimum
 * and maximum cannot be subtracted. False: a slot is missing. */
static bool view_move(struct windows *w, int coarsest, uint64_t from)
{
    uint64_t was_from = w->view_from, was_to = w->view_sec;

    if (from < was_from || from > was_to ||
        range_add(w, coarsest, was_to, w->sec, HIST_CODEC_BUCKETS) != w->sec - was_to ||
        range_add(w, coarsest, was_from, from, HIST_CODEC_TAKE) != from - was_from)
        return false;
    for (size_t i = 0; i < (size_t)ROW_KINDS * w->idents; i++)
        if (w->row[i])
            scalars_clear(&w->row[i]->win);
    w->view_covered_s = range_add(w, coarsest, from, w->sec, HIST_CODEC_SCALARS);
    return true;
}

static void view_clear(struct windows *w)
{
    for (size_t i = 0; i < (size_t)ROW_KINDS * w->idents; i++)
        if (w->row[i])
            figures_clear(&w->row[i]->win);
}

static uint64_t second_ns(const struct windows *w, uint64_t second)
{
    return w->start_ns + second * CLOCK_SEC_NS;
}

static uint64_t running_ns(const struct windows *w)
{
    return w->now_ns - second_ns(w, w->sec);
}

/* How much of covered_ns, the time of a view that ends at to_ns, was before the end of the run. */
static uint64_t before_end(const struct windows *w, uint64_t covered_ns, uint64_t to_ns)
{
    uint64_t after_ns = w->end_ns && to_ns > w->end_ns ? to_ns - w->end_ns : 0;
    return covered_ns > after_ns ? covered_ns - after_ns : 0;
}

uint64_t windows_view_last(struct windows *w, uint64_t seconds)
{
    int coarsest = level_of(seconds);
    uint64_t step = windows_level_s(coarsest);
    uint64_t most = seconds <= 1 ? 1 : seconds - 1; /* one of them is the running second */
    uint64_t from = w->sec > most ? w->sec - most : 0;

    from = (from + step - 1) / step * step;
    w->with_running = seconds > 1;
    if (!w->view_valid || w->view != VIEW_LAST || w->view_asked_s != seconds ||
        (w->view_sec != w->sec && !view_move(w, coarsest, from))) {
        view_clear(w);
        w->view_covered_s = range_add(w, coarsest, from, w->sec, HIST_CODEC_ALL);
    }
    w->view = VIEW_LAST;
    w->view_asked_s = seconds;
    w->view_from = from;
    w->view_sec = w->sec;
    w->view_valid = true;
    uint64_t covered_ns = w->view_covered_s * CLOCK_SEC_NS;
    return w->with_running ? before_end(w, covered_ns + running_ns(w), w->now_ns)
                           : before_end(w, covered_ns, second_ns(w, w->sec));
}

uint64_t windows_view(struct windows *w, enum window which)
{
    if (which != WINDOW_RUN)
        return windows_view_last(w, window_ns(which) / CLOCK_SEC_NS);
    w->view = VIEW_RUN;
    w->with_running = true;
    w->view_valid = false;
    return before_end(w, w->now_ns - w->zero_ns, w->now_ns);
}

uint64_t windows_view_past(struct windows *w, uint64_t *from_s, uint64_t *to_s)
{
    struct history history;
    const struct slot *s;
    uint64_t begins, ends;

    if (w->view_valid && w->view == VIEW_PAST && w->view_asked_s == *from_s &&
        w->view_sec == *to_s) {
        *from_s = w->view_from;
        *to_s = w->view_to;
        w->with_running = false;
        return before_end(w, w->view_covered_s * CLOCK_SEC_NS, second_ns(w, *to_s));
    }
    w->view = VIEW_PAST;
    w->view_valid = true;
    w->with_running = false;
    w->view_asked_s = *from_s;
    w->view_sec = *to_s;
    w->view_covered_s = 0;
    view_clear(w);
    history_begin(&history, w, *from_s, *to_s);
    while ((s = history_next(&history, &begins, &ends))) {
        slot_add(w, s, ends, HIST_CODEC_ALL);
        *from_s = begins < *from_s ? begins : *from_s;
        *to_s = ends > *to_s ? ends : *to_s;
        w->view_covered_s += ends - begins;
    }
    w->view_from = *from_s;
    w->view_to = *to_s;
    return before_end(w, w->view_covered_s * CLOCK_SEC_NS, second_ns(w, *to_s));
}

uint64_t windows_view_since(struct windows *w, uint64_t *from_s)
{
    uint64_t to_s = w->sec;

    windows_view_past(w, from_s, &to_s);
    w->with_running = true;
    return before_end(w, w->view_covered_s * CLOCK_SEC_NS + running_ns(w), w->now_ns);
}

void windows_viewed_time(const struct windows *w, uint64_t *from_ns, uint64_t *to_ns)
{
    uint64_t to_s = w->view == VIEW_PAST ? w->view_to : w->view_sec;

    *from_ns = w->view == VIEW_RUN ? w->zero_ns : second_ns(w, w->view_from);
    *to_ns = w->with_running ? w->now_ns : second_ns(w, to_s);
    if (w->end_ns && *to_ns > w->end_ns)
        *to_ns = w->end_ns > *from_ns ? w->end_ns : *from_ns;
}

void windows_read(const struct windows *w, const struct row *r, struct figures *into)
{
    figures_merge(into, w->view == VIEW_RUN ? &r->run : &r->win);
    if (w->with_running)
        figures_merge(into, &r->cur);
}
