#include <kprof/ui/figure.h>
#include <kprof/ui/state.h>
#include <stdio.h>
#include <string.h>

/* Columns of a slow call, by the width there is. */
struct slots {
    int time, tier, ident, took, request, pid;
};

static struct slots slots_for(int cols)
{
    struct slots w = {.time = 12, .tier = 12, .ident = 14, .took = 7, .request = 8, .pid = 12};
    if (cols < 76) {
        w = (struct slots){.time = 8, .tier = 12, .ident = 10, .took = 7};
    }
    int more = cols > 80 ? (cols - 80) / 4 : 0;
    w.tier += more < 12 ? more : 12;
    w.ident += more < 18 ? more : 18;
    return w;
}

static int slot(struct canvas *c, int row, int col, int cols, enum style st, const char *s)
{
    if (cols > 0) {
        canvas_text(c, row, col, cols, st, s);
        col += cols + 1;
    }
    return col;
}

static int slot_right(struct canvas *c, int row, int col, int cols, enum style st, const char *s)
{
    if (cols > 0) {
        canvas_right(c, row, col, cols, st, s);
        col += cols + 1;
    }
    return col;
}

static void draw_titles(struct canvas *c, struct rect a, const struct slots *w, size_t n)
{
    char title[40];
    snprintf(title, sizeof title, w->time >= 12 ? "SLOW (%zu)" : "SLOW %zu", n);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int col = slot(c, a.row, a.col, w->time, STYLE_HEAD, title);
    col = slot(c, a.row, col, w->tier, STYLE_HEAD, "TIER");
    col = slot(c, a.row, col, w->ident, STYLE_HEAD, "IDENTITY");
    col = slot_right(c, a.row, col, w->took, STYLE_HEAD, "TOOK");
    col = slot_right(c, a.row, col, w->request, STYLE_HEAD, "REQUEST");
    slot(c, a.row, col, w->pid ? a.col + a.cols - col : 0, STYLE_HEAD, "PROCESS");
}

static void draw_call(struct canvas *c, int row, struct rect a, const struct slots *w,
                      const struct snap_slow *s, bool selected)
{
    char text[FIGURE_BYTES];
    figure_time(s->wall_ns, w->time >= 12, text);
    int col = slot(c, row, a.col, w->time, STYLE_DIM, text);
    col = slot(c, row, col, w->tier, STYLE_BOLD, s->tier_name);
    col = slot(c, row, col, w->ident, STYLE_NORMAL, s->ident);
    figure_us(s->duration_us, text);
    col = slot_right(c, row, col, w->took, s->error ? STYLE_BAD : STYLE_WARN, text);
    if (s->error) {
        canvas_text(c, row, col - 1, 1, STYLE_BAD, "!");
    }
    figure_us(s->request_us, text);
    col = slot_right(c, row, col, w->request, STYLE_NORMAL, s->request_us > 0 ? text : "open");
    if (w->pid) {
        figure_pid(s->pid, text);
        int used = canvas_text(c, row, col, a.cols - col, STYLE_NORMAL, text);
        col += used < w->pid ? w->pid + 1 : used + 1;
        if (s->who) {
            col += canvas_text(c, row, col, a.cols - col, STYLE_NORMAL, s->who) + 1;
        }
        if (s->args) {
            canvas_text(c, row, col, a.cols - col, STYLE_DIM, s->args);
        }
    }
    if (selected) {
        canvas_style(c, row, a.col, a.cols, STYLE_SELECT);
    }
}

/* The selected call stays selected while newer ones push it down. */
static void find_selection(struct slow_state *t, const struct snapshot *s)
{
    for (size_t i = 0; t->seq && i < s->n_slow; i++) {
        if (s->slow[i].seq == t->seq) {
            t->at.sel = i;
            return;
        }
    }
    if (!t->seq) {
        t->at.sel = 0;
    } else if (t->at.sel >= s->n_slow) {
        t->at.sel = s->n_slow ? s->n_slow - 1 : 0;
    }
}

static void draw_list(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s,
                      bool focus)
{
    struct slow_state *t = &u->slow;
    struct slots w = slots_for(a.cols);
    find_selection(t, s);
    int lines = a.rows > 1 ? a.rows - 1 : 0;
    scroll_fit(&t->at, s->n_slow, (size_t)lines);
    draw_titles(c, a, &w, s->n_slow);
    for (int i = 0; i < lines && t->at.top + (size_t)i < s->n_slow; i++) {
        size_t at = t->at.top + (size_t)i;
        draw_call(c, a.row + 1 + i, a, &w, &s->slow[at], focus && at == t->at.sel);
    }
}

void slow_pane_draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s)
{
    draw_list(u, c, a, s, u->slow_focus);
}

bool slow_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                 struct intent *out)
{
    (void)key;
    (void)out;
    struct slow_state *t = &u->slow;
    if (act == ACT_OPEN && u->screen != &screen_slow) {
        u->screen = &screen_slow;
        return true;
    }
    if (!s || !s->n_slow) {
        return false;
    }
    find_selection(t, s);
    if (!scroll_key(&t->at, act, s->n_slow)) {
        return false;
    }
    t->seq = t->at.sel == 0 ? 0 : s->slow[t->at.sel].seq;
    return true;
}

/* --- the whole screen: the list, and the tiers of the selected request on a time axis --- */

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
    char text[FIGURE_BYTES];
    int name = a.cols < 60 ? 12 : 20;
    int col = slot(c, row, a.col + 2, name, STYLE_BOLD, p->name);
    figure_us((double)p->start_us, text + 1);
    text[0] = '+';
    col = slot_right(c, row, col, 8, STYLE_DIM, text);
    figure_us((double)p->duration_us, text);
    col = slot_right(c, row, col, 7, p->error ? STYLE_BAD : STYLE_NORMAL, text);
    if (a.cols >= 60) {
        figure_pid(p->pid, text);
        col = slot(c, row, col, 12, STYLE_NORMAL, text);
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
    char text[FIGURE_BYTES];
    figure_us(s->request_us, text);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "REQUEST %llu  %s  %s%s",
                 (unsigned long long)s->request, s->ident, s->request_us > 0 ? text : "still open",
                 s->n_tiers ? "" : "  (its tiers are not known)");
    double whole = whole_of(s);
    for (size_t i = 0; i < s->n_tiers && (int)i + 1 < a.rows; i++) {
        draw_part(c, a.row + 1 + (int)i, a, &s->tiers[i], whole);
    }
}

static void draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s)
{
    if (!s || !s->n_slow) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM,
                    "No slow calls. --slow 20ms logs every call that takes longer.");
        return;
    }
    struct rect list = a, detail = a;
    find_selection(&u->slow, s);
    size_t parts = s->slow[u->slow.at.sel].n_tiers + 1;
    int most = a.rows / 2;
    detail.rows = a.rows < 6 ? 0 : parts < (size_t)most ? (int)parts : most;
    list.rows -= detail.rows;
    detail.row += list.rows;
    draw_list(u, c, list, s, true);
    if (detail.rows) {
        draw_detail(c, detail, &s->slow[u->slow.at.sel]);
    }
}

const struct screen_ops screen_slow = {
    .name = "slow",
    .key = 'S',
    .context = CTX_SLOW,
    .draw = draw,
    .on_key = slow_on_key,
};
