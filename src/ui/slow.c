#include "slow.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <stdio.h>
#include <stdlib.h>

/* Columns of a tier of the request, by the width of the screen. */
struct slots {
    int name, calls, sum, self, share, pid;
};

static struct slots slots_for(int cols)
{
    if (cols < 60) {
        return (struct slots){.name = 14, .self = 8, .share = 4};
    }
    int more = cols > 80 ? (cols - 80) / 2 : 0;
    return (struct slots){.name = 20 + (more < 20 ? more : 20),
                          .calls = 6,
                          .sum = 8,
                          .self = 8,
                          .share = 5,
                          .pid = cols < 76 ? 0 : 12};
}

static int slot(struct canvas *c, int row, int col, int cols, enum style st, const char *text)
{
    if (cols > 0) {
        canvas_right(c, row, col, cols, st, text);
        col += cols + 1;
    }
    return col;
}

/* The share of the request. */
static void draw_bar(struct canvas *c, int row, int col, int cols, double part)
{
    int full = (int)(part * cols + 0.5);
    for (int i = 0; i < cols && cols >= 8; i++) {
        const char *on = c->ascii ? "#" : "\xe2\x96\x88", *off = c->ascii ? "." : "\xc2\xb7";
        canvas_text(c, row, col + i, 1, i < full ? STYLE_GOOD : STYLE_DIM, i < full ? on : off);
    }
}

/* The name and the number of calls. Returns the column after them. */
static int draw_tier_name(struct canvas *c, int row, int col, const struct slots *w,
                          const char *name, uint64_t calls)
{
    char text[FORMAT_BYTES];

    canvas_name(c, row, col, w->name, STYLE_BOLD, name);
    snprintf(text, sizeof text, "%llu", (unsigned long long)calls);
    return slot(c, row, col + w->name + 1, w->calls, STYLE_NORMAL, text);
}

static void draw_tier(struct canvas *c, int row, struct rect a, const struct snap_slow_sum *t,
                      double whole_us)
{
    char text[FORMAT_BYTES];
    struct slots w = slots_for(a.cols);
    double part = whole_us > 0 ? t->self_us / whole_us : 0;
    int col = draw_tier_name(c, row, a.col + 2, &w, t->name, t->calls);
    format_us(t->sum_us, text);
    col = slot(c, row, col, w.sum, STYLE_NORMAL, text);
    format_us(t->self_us, text);
    col = slot(c, row, col, w.self, STYLE_NORMAL, text);
    snprintf(text, sizeof text, "%.0f%%", 100 * part);
    col = slot(c, row, col, w.share, STYLE_NORMAL, text);
    if (w.pid) {
        snapshot_pid(t->pid, text);
        canvas_text(c, row, col, w.pid, STYLE_NORMAL, text);
        col += w.pid + 1;
    }
    draw_bar(c, row, col, a.col + a.cols - col, part);
}

/* If a request has not ended, only its slow calls are known. */
static void draw_slow_call(struct canvas *c, int row, struct rect a, const struct snap_slow_call *f)
{
    char text[FORMAT_BYTES];
    struct slots w = slots_for(a.cols);
    int col = draw_tier_name(c, row, a.col + 2, &w, f->tier_name, f->calls);
    format_us(f->duration_us, text);
    col = slot(c, row, col, w.sum ? w.sum : w.self, f->error ? STYLE_BAD : STYLE_NORMAL, text);
    snapshot_pid(f->pid, text);
    col += canvas_text(c, row, col, a.col + a.cols - col, STYLE_NORMAL, text) + 1;
    if (f->args) {
        canvas_text(c, row, col, a.col + a.cols - col, STYLE_DIM, f->args);
    }
}

static void draw_head(struct canvas *c, struct rect a, const struct snap_slow *s)
{
    char took[FORMAT_BYTES], text[200];
    struct slots w = slots_for(a.cols);
    int col = a.col + 2 + w.name + 1;
    format_us(slow_took_us(s), took);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    if (!s->n_sums) {
        snprintf(text, sizeof text, "%s  %s%s", snapshot_name(s->ident), took,
                 !s->request         ? "  (no request)"
                 : s->request_us > 0 ? "  (its tiers are not known)"
                                     : "  (still open: its slow calls so far)");
        canvas_name(c, a.row, a.col, a.cols, STYLE_HEAD, text);
        return;
    }
    snprintf(text, sizeof text, "%s  %s", snapshot_name(s->ident), took);
    canvas_name(c, a.row, a.col, w.name + 2, STYLE_HEAD, text);
    col = slot(c, a.row, col, w.calls, STYLE_HEAD, "CALLS");
    col = slot(c, a.row, col, w.sum, STYLE_HEAD, "TOTAL");
    col = slot(c, a.row, col, w.self, STYLE_HEAD, "SELF");
    col = slot(c, a.row, col, w.share, STYLE_HEAD, "%");
    canvas_text(c, a.row, col, w.pid, STYLE_HEAD, "PROCESS");
}

static int by_self(const void *a, const void *b)
{
    const struct snap_slow_sum *const *x = a, *const *y = b;
    if ((*x)->self_us != (*y)->self_us) {
        return (*x)->self_us < (*y)->self_us ? 1 : -1;
    }
    return *x > *y ? 1 : -1;
}

/* The selected request, unfolded into its tiers, by self time. */
static void draw_detail(struct canvas *c, struct rect a, const struct snap_slow *s)
{
    const struct snap_slow_sum **sum = malloc((s->n_sums + 1) * sizeof *sum);
    if (!sum) {
        abort();
    }
    for (size_t i = 0; i < s->n_sums; i++) {
        sum[i] = &s->sums[i];
    }
    qsort(sum, s->n_sums, sizeof *sum, by_self);
    draw_head(c, a, s);
    for (int i = 0; i + 1 < a.rows; i++) {
        if (i < (int)s->n_sums) {
            draw_tier(c, a.row + 1 + i, a, sum[i], s->request_us);
        } else if (!s->n_sums && i < (int)s->n_calls) {
            draw_slow_call(c, a.row + 1 + i, a, &s->calls[i]);
        }
    }
    free(sum);
}

static void draw_none(struct canvas *c, struct rect a, const struct snapshot *s)
{
    char took[24] = "", line[160];
    if (s && s->slow_ns) {
        slow_list_threshold_text(s->slow_ns, took, sizeof took);
        snprintf(line, sizeof line,
                 s->node.replay && s->node.replay_share >= 1
                     ? "No call is known that took %s or longer. Slow calls are found while a "
                       "recording plays: replay it with --slow."
                     : "Since the threshold was set, no call has taken %s or longer. s changes it.",
                 took);
    } else {
        snprintf(line, sizeof line, "No slow-call threshold is set. s sets it.");
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, line);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)own;
    if (!s || !s->n_slow) {
        draw_none(c, a, s);
        return;
    }
    struct rect list = a, detail = a;
    struct slow_picks p = slow_list_pick(&sh->slow, s);
    const struct snap_slow *sel = slow_list_selected(&sh->slow, s, &p);
    size_t parts = sel ? (sel->n_sums ? sel->n_sums : sel->n_calls) + 1 : 0;
    int most = a.rows / 2;
    detail.rows = a.rows < 6 ? 0 : parts < (size_t)most ? (int)parts : most;
    list.rows -= detail.rows;
    detail.row += list.rows;
    slow_list_draw(&sh->slow, c, list, s, &p, true);
    if (sel && detail.rows) {
        draw_detail(c, detail, sel);
    }
    free(p.at);
}

/* --- keys --- */

static void open_waterfall(struct ui_shared *sh, const struct snapshot *s,
                           struct screen_request *open)
{
    struct slow_picks p = slow_list_pick(&sh->slow, s);
    const struct snap_slow *w = slow_list_selected(&sh->slow, s, &p);
    if (w && w->trace && slow_list_trace(s, w->trace) < s->n_slow_traces) {
        *open = (struct screen_request){.to = SCREEN_WATERFALL, .trace = w->trace};
    } else if (w) {
        message_set(&sh->message,
                    !w->request                     ? "this call is not part of a request"
                    : w->request_us <= 0 && w->done ? "the end of its request was not received"
                    : w->request_us <= 0
                        ? "its request has not ended yet"
                        : "the calls of this request are no longer stored: only the newest 200 "
                          "requests and the slowest of each identity keep their calls",
                    true);
    } else {
        message_set(&sh->message, "no slow request passes the filter; Esc clears it", true);
    }
    free(p.at);
}

/* Opens the flame graph of the process with the slowest part of the selected request. */
static void open_flame(struct ui_shared *sh, const struct snapshot *s, struct screen_reply *out)
{
    struct slow_picks p = slow_list_pick(&sh->slow, s);
    const struct snap_slow *w = slow_list_selected(&sh->slow, s, &p);
    if (w) {
        out->intent.kind = INTENT_SAMPLING;
        snapshot_pid(slow_pid(w), out->intent.text);
        out->open.to = SCREEN_FLAME;
    } else {
        message_set(&sh->message, "no slow request passes the filter; Esc clears it", true);
    }
    free(p.at);
}

/* The next request like the selected one. */
static void open_full(struct ui_shared *sh, const struct snapshot *s, struct screen_reply *out)
{
    struct slow_picks p = slow_list_pick(&sh->slow, s);
    const struct snap_slow *w = slow_list_selected(&sh->slow, s, &p);
    if (w) {
        out->full = full_offer_request(s, w->ident, slow_took_us(w));
        out->open = (struct screen_request){.to = SCREEN_FULL_ASK, .full = &out->full};
    } else {
        message_set(&sh->message, "no slow request passes the filter; Esc clears it", true);
    }
    free(p.at);
}

/* True: the key does nothing if the list is empty. */
static bool needs_list(enum action act)
{
    return act == ACT_OPEN || act == ACT_FLAME_OF || act == ACT_FULL || act == ACT_SORT_LEFT ||
           act == ACT_SORT_RIGHT || act == ACT_REVERSE || act == ACT_UP || act == ACT_DOWN ||
           act == ACT_PGUP || act == ACT_PGDN || act == ACT_HOME || act == ACT_END;
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)own;
    (void)key;
    if (needs_list(act) && (!s || !s->n_slow)) {
        message_set(&sh->message, "there is no slow request yet; s sets the threshold", true);
        return true;
    }
    if (act == ACT_FLAME_OF) {
        open_flame(sh, s, out);
        return true;
    }
    if (act == ACT_FULL) {
        open_full(sh, s, out);
        return true;
    }
    if (act != ACT_OPEN) {
        return slow_list_key(&sh->slow, &sh->dialog, act, s);
    }
    open_waterfall(sh, s, &out->open);
    return true;
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)own;
    return &sh->slow.at;
}

const struct screen_ops screen_slow = {
    .name = "slow",
    .key = 'S',
    .context = CTX_SLOW,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
