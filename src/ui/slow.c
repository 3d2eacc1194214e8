#include "slow.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <stdio.h>
#include <stdlib.h>

static void draw_bar(struct canvas *c, int row, int col, int cols, double from, double to)
{
    if (cols < 8) {
        return;
    }
    int a = (int)(from * cols), b = (int)(to * cols + 0.5);
    a = a < 0 ? 0 : a > cols - 1 ? cols - 1 : a;
    b = b <= a ? a + 1 : b > cols ? cols : b;
    for (int i = 0; i < cols; i++) {
        bool in = i >= a && i < b;
        const char *full = c->ascii ? "#" : "\xe2\x96\x88", *none = c->ascii ? "." : "\xc2\xb7";
        canvas_text(c, row, col + i, 1, in ? STYLE_GOOD : STYLE_DIM, in ? full : none);
    }
}

static void draw_part(struct canvas *c, int row, struct rect a, const struct snap_slow_tier *p,
                      double whole_us)
{
    char text[FORMAT_BYTES];
    int name = a.cols < 60 ? 12 : 20;
    int col = a.col + 2;
    canvas_name(c, row, col, name, STYLE_BOLD, p->name);
    col += name + 1;
    format_us((double)p->start_us, text + 1);
    text[0] = '+';
    canvas_right(c, row, col, 8, STYLE_DIM, text);
    col += 8 + 1;
    format_us((double)p->duration_us, text);
    canvas_right(c, row, col, 7, p->error ? STYLE_BAD : STYLE_NORMAL, text);
    col += 7 + 1;
    if (a.cols >= 60) {
        snapshot_pid(p->pid, text);
        canvas_text(c, row, col, 12, STYLE_NORMAL, text);
        col += 12 + 1;
    }
    double end = (double)(p->start_us + p->duration_us);
    if (whole_us > 0) {
        draw_bar(c, row, col, a.col + a.cols - col, (double)p->start_us / whole_us, end / whole_us);
    }
}

static double whole_of(const struct snap_slow *s)
{
    double whole = s->request_us;
    for (size_t i = 0; i < s->n_tiers; i++) {
        double end = (double)(s->tiers[i].start_us + s->tiers[i].duration_us);
        whole = end > whole ? end : whole;
    }
    return whole;
}

static void draw_detail(struct canvas *c, struct rect a, const struct snap_slow *s)
{
    char text[FORMAT_BYTES];
    format_us(s->request_us, text);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "REQUEST %llu  %s  %s%s",
                 (unsigned long long)s->request, s->ident, s->request_us > 0 ? text : "still open",
                 s->n_tiers ? "" : "  (its tiers are not known)");
    double whole = whole_of(s);
    for (size_t i = 0; i < s->n_tiers && (int)i + 1 < a.rows; i++) {
        draw_part(c, a.row + 1 + (int)i, a, &s->tiers[i], whole);
    }
}

static void draw_none(struct canvas *c, struct rect a, const struct snapshot *s)
{
    char took[24] = "", line[120];
    if (s && s->slow_ns) {
        slow_list_threshold_text(s->slow_ns, took, sizeof took);
        snprintf(line, sizeof line, "No call has taken %s or longer. s sets the threshold.", took);
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
    size_t parts = sel ? sel->n_tiers + 1 : 0;
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
        message_set(
            &sh->message,
            !w->request ? "this call belongs to no request"
            : w->request_us <= 0
                ? "its request has not ended yet"
                : "the calls of this request are gone: only the newest 200 slow requests are kept",
            true);
    }
    free(p.at);
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)own;
    (void)key;
    if (act != ACT_OPEN) {
        return slow_list_key(&sh->slow, &sh->dialog, act, s);
    }
    if (s) {
        open_waterfall(sh, s, &out->open);
    }
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
