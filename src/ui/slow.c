#include <inttypes.h>
#include <kprof/ui/format.h>
#include <kprof/ui/state.h>
#include <stdio.h>
#include <stdlib.h>
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

/* As the operator would type it: "20ms", "1500us", "2s". */
static void duration_text(uint64_t ns, char *out, size_t cap)
{
    if (ns % 1000000000u == 0) {
        snprintf(out, cap, "%" PRIu64 "s", ns / 1000000000u);
    } else if (ns % 1000000u == 0) {
        snprintf(out, cap, "%" PRIu64 "ms", ns / 1000000u);
    } else {
        snprintf(out, cap, "%" PRIu64 "us", ns / 1000u);
    }
}

static int slot(struct canvas *c, int row, int col, int cols, enum style st, const char *s)
{
    if (cols > 0) {
        canvas_text(c, row, col, cols, st, s);
        col += cols + 1;
    }
    return col;
}

static int slot_name(struct canvas *c, int row, int col, int cols, enum style st, const char *s)
{
    canvas_name(c, row, col, cols, st, s);
    return col + cols + 1;
}

static int slot_right(struct canvas *c, int row, int col, int cols, enum style st, const char *s)
{
    if (cols > 0) {
        canvas_right(c, row, col, cols, st, s);
        col += cols + 1;
    }
    return col;
}

static void draw_titles(struct canvas *c, struct rect a, const struct slots *w, size_t n,
                        const struct slow_filter *f)
{
    char title[40];
    snprintf(title, sizeof title, w->time >= 12 ? "SLOW (%zu)" : "SLOW %zu", n);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int col = slot(c, a.row, a.col, w->time, STYLE_HEAD, title);
    if (slow_filter_set(f)) {
        canvas_textf(c, a.row, col, a.cols - col, STYLE_WARN, "%s%s%s%s(Esc: all)",
                     f->text[0] ? "with \"" : "", f->text, f->text[0] ? "\" " : "",
                     f->from_ns || f->to_ns ? "at that time " : "");
        return;
    }
    col = slot(c, a.row, col, w->tier, STYLE_HEAD, "TIER");
    col = slot(c, a.row, col, w->ident, STYLE_HEAD, "IDENTITY");
    col = slot_right(c, a.row, col, w->took, STYLE_HEAD, "TOOK");
    col = slot_right(c, a.row, col, w->request, STYLE_HEAD, "REQUEST");
    slot(c, a.row, col, w->pid ? a.col + a.cols - col : 0, STYLE_HEAD, "PROCESS");
}

static void draw_call(struct canvas *c, int row, struct rect a, const struct slots *w,
                      const struct snap_slow *s, bool selected)
{
    char text[FORMAT_BYTES];
    format_time(s->wall_ns, w->time >= 12, text);
    int col = slot(c, row, a.col, w->time, STYLE_DIM, text);
    col = slot_name(c, row, col, w->tier, STYLE_BOLD, s->tier_name);
    col = slot_name(c, row, col, w->ident, STYLE_NORMAL, s->ident);
    format_us(s->duration_us, text);
    col = slot_right(c, row, col, w->took, s->error ? STYLE_BAD : STYLE_WARN, text);
    if (s->error) {
        canvas_text(c, row, col - 1, 1, STYLE_BAD, "!");
    }
    format_us(s->request_us, text);
    col = slot_right(c, row, col, w->request, STYLE_NORMAL, s->request_us > 0 ? text : "open");
    if (w->pid) {
        snapshot_pid(s->pid, text);
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

/* The calls that the filter lets through, by their place in the snapshot. */
struct picks {
    size_t *at;
    size_t n;
};

static struct picks pick(const struct slow_state *t, const struct snapshot *s)
{
    struct picks p = {.at = malloc((s->n_slow + 1) * sizeof *p.at)};
    if (!p.at) {
        abort();
    }
    struct slow_filter f = slow_filter_at(&t->filter, s);
    for (size_t i = 0; i < s->n_slow; i++) {
        if (slow_matches(&f, &s->slow[i])) {
            p.at[p.n++] = i;
        }
    }
    return p;
}

/* The selected call stays selected while newer ones push it down. */
static void find_selection(struct slow_state *t, const struct snapshot *s, const struct picks *p)
{
    for (size_t i = 0; t->seq && i < p->n; i++) {
        if (s->slow[p->at[i]].seq == t->seq) {
            t->at.sel = i;
            return;
        }
    }
    if (!t->seq) {
        t->at.sel = 0;
    } else if (t->at.sel >= p->n) {
        t->at.sel = p->n ? p->n - 1 : 0;
    }
}

bool slow_why_none(const struct snapshot *s, uint64_t from_ns, uint64_t to_ns, char *out,
                   size_t cap)
{
    char took[FORMAT_BYTES], from[FORMAT_BYTES], to[FORMAT_BYTES];
    const struct snap_slow *oldest = s->n_slow ? &s->slow[s->n_slow - 1] : NULL;
    format_us((double)s->slow_ns / 1e3, took);
    format_time(from_ns, false, from);
    format_time(to_ns, false, to);
    if (!s->slow_ns) {
        snprintf(out, cap, "slow calls are not logged");
    } else if (oldest && oldest->seq > 1 && to_ns < oldest->wall_ns) {
        snprintf(out, cap, "the slow log no longer reaches back to %s", to);
        return false;
    } else {
        snprintf(out, cap, "no call of %s or longer ended %s-%s", took, from, to);
    }
    return true;
}

/* There are slow calls, but the filter or the moment leaves none of them. */
static void draw_empty(struct canvas *c, struct rect a, const struct snapshot *s,
                       const struct slow_filter *filter)
{
    struct slow_filter f = slow_filter_at(filter, s);
    char line[200];
    if (f.text[0]) {
        snprintf(line, sizeof line, "no slow call%s contains that text",
                 f.to_ns ? " of that time" : "");
    } else {
        slow_why_none(s, f.from_ns, f.to_ns, line, sizeof line);
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, line);
}

static void draw_list(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s,
                      const struct picks *p, bool focus)
{
    struct slow_state *t = &u->slow;
    struct slots w = slots_for(a.cols);
    find_selection(t, s, p);
    int lines = a.rows > 1 ? a.rows - 1 : 0;
    scroll_fit(&t->at, p->n, (size_t)lines);
    t->at.row = a.row + 1;
    draw_titles(c, a, &w, p->n, &t->filter);
    if (p->n == 0 && lines > 0) {
        draw_empty(c, (struct rect){a.row + 1, a.col, lines, a.cols}, s, &t->filter);
    }
    for (int i = 0; i < lines && t->at.top + (size_t)i < p->n; i++) {
        size_t at = t->at.top + (size_t)i;
        draw_call(c, a.row + 1 + i, a, &w, &s->slow[p->at[at]], focus && at == t->at.sel);
    }
}

void slow_pane_draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s)
{
    struct picks p = pick(&u->slow, s);
    draw_list(u, c, a, s, &p, u->slow_focus);
    free(p.at);
}

void slow_ask_threshold(struct ui *u, const struct snapshot *s)
{
    char now[32] = "";
    if (s && s->slow_ns) {
        duration_text(s->slow_ns, now, sizeof now);
    }
    dialog_prompt(u, PROMPT_SLOW, now);
}

static bool scroll_calls(struct slow_state *t, enum action act, const struct snapshot *s)
{
    struct picks p = pick(t, s);
    find_selection(t, s, &p);
    bool moved = p.n && scroll_key(&t->at, act, p.n);
    if (moved) {
        t->seq = t->at.sel == 0 ? 0 : s->slow[p.at[t->at.sel]].seq;
    }
    free(p.at);
    return moved;
}

static void open_fall(struct ui *u, const struct snapshot *s)
{
    struct picks p = pick(&u->slow, s);
    find_selection(&u->slow, s, &p);
    const struct snap_slow *w = p.n ? &s->slow[p.at[u->slow.at.sel]] : NULL;
    if (w && !waterfall_open(u, s, w->trace)) {
        ui_message(
            u,
            !w->request ? "this call belongs to no request"
            : w->request_us <= 0
                ? "its request has not ended yet"
                : "the calls of this request are gone: only the newest 200 slow requests are kept",
            true);
    }
    free(p.at);
}

bool slow_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                 struct intent *out)
{
    (void)key;
    (void)out;
    struct slow_state *t = &u->slow;
    switch (act) {
    case ACT_OPEN:
        if (u->screen != &screen_slow) {
            u->screen = &screen_slow;
        } else if (s) {
            open_fall(u, s);
        }
        return true;
    case ACT_FILTER:
        dialog_prompt(u, PROMPT_SLOW_FILTER, t->filter.text);
        return true;
    case ACT_THRESHOLD:
    case ACT_SORT: /* the same key, in the pane */
        slow_ask_threshold(u, s);
        return true;
    case ACT_BACK:
        if (!slow_filter_set(&t->filter)) {
            return false;
        }
        memset(&t->filter, 0, sizeof t->filter);
        return true;
    default:
        return s && scroll_calls(t, act, s);
    }
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
    char text[FORMAT_BYTES];
    int name = a.cols < 60 ? 12 : 20;
    int col = slot_name(c, row, a.col + 2, name, STYLE_BOLD, p->name);
    format_us((double)p->start_us, text + 1);
    text[0] = '+';
    col = slot_right(c, row, col, 8, STYLE_DIM, text);
    format_us((double)p->duration_us, text);
    col = slot_right(c, row, col, 7, p->error ? STYLE_BAD : STYLE_NORMAL, text);
    if (a.cols >= 60) {
        snapshot_pid(p->pid, text);
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
        duration_text(s->slow_ns, took, sizeof took);
        snprintf(line, sizeof line, "No call has taken %s or longer. s sets the threshold.", took);
    } else {
        snprintf(line, sizeof line, "Slow calls are not logged. s sets the threshold.");
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, line);
}

static void draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s)
{
    if (!s || !s->n_slow) {
        draw_none(c, a, s);
        return;
    }
    struct rect list = a, detail = a;
    struct picks p = pick(&u->slow, s);
    find_selection(&u->slow, s, &p);
    const struct snap_slow *sel = p.n ? &s->slow[p.at[u->slow.at.sel]] : NULL;
    size_t parts = sel ? sel->n_tiers + 1 : 0;
    int most = a.rows / 2;
    detail.rows = a.rows < 6 ? 0 : parts < (size_t)most ? (int)parts : most;
    list.rows -= detail.rows;
    detail.row += list.rows;
    draw_list(u, c, list, s, &p, true);
    if (sel && detail.rows) {
        draw_detail(c, detail, sel);
    }
    free(p.at);
}

static struct scroll *list(struct ui *u)
{
    return &u->slow.at;
}

const struct screen_ops screen_slow = {
    .name = "slow",
    .key = 'S',
    .context = CTX_SLOW,
    .draw = draw,
    .on_key = slow_on_key,
    .list = list,
};
