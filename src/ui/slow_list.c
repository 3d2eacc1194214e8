#include "slow_list.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/core/waterfall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slow_picks slow_list_pick(const struct slow_list *l, const struct snapshot *s)
{
    struct slow_picks p = {.at = malloc((s->n_slow + 1) * sizeof *p.at)};
    if (!p.at) {
        abort();
    }
    struct slow_filter f = slow_filter_at(&l->filter, s);
    for (size_t i = 0; i < s->n_slow; i++) {
        if (slow_matches(&f, &s->slow[i])) {
            p.at[p.n++] = i;
        }
    }
    return p;
}

/* The selected call stays selected while newer ones push it down. */
static void find_selection(struct slow_list *l, const struct snapshot *s,
                           const struct slow_picks *p)
{
    for (size_t i = 0; l->seq && i < p->n; i++) {
        if (s->slow[p->at[i]].seq == l->seq) {
            l->at.sel = i;
            return;
        }
    }
    if (!l->seq) {
        l->at.sel = 0;
    } else if (l->at.sel >= p->n) {
        l->at.sel = p->n ? p->n - 1 : 0;
    }
}

const struct snap_slow *slow_list_selected(struct slow_list *l, const struct snapshot *s,
                                           const struct slow_picks *p)
{
    find_selection(l, s, p);
    return p->n ? &s->slow[p->at[l->at.sel]] : NULL;
}

size_t slow_list_trace(const struct snapshot *s, uint64_t id)
{
    size_t i = 0;
    while (i < s->n_slow_traces && s->slow_traces[i].request->id != id) {
        i++;
    }
    return i;
}

/* --- filter and threshold --- */

bool slow_list_filter_time(struct slow_list *l, const struct snapshot *s, uint64_t from_ns,
                           uint64_t to_ns)
{
    struct slow_filter f = {.from_ns = from_ns, .to_ns = to_ns};
    for (size_t i = 0; i < s->n_slow; i++) {
        if (slow_matches(&f, &s->slow[i])) {
            l->filter = f;
            l->seq = 0;
            return true;
        }
    }
    return false;
}

bool slow_list_forget_filter(struct slow_list *l)
{
    bool was = slow_filter_set(&l->filter);
    memset(&l->filter, 0, sizeof l->filter);
    return was;
}

void slow_list_threshold_text(uint64_t ns, char *out, size_t cap)
{
    if (ns % 1000000000u == 0) {
        snprintf(out, cap, "%" PRIu64 "s", ns / 1000000000u);
    } else if (ns % 1000000u == 0) {
        snprintf(out, cap, "%" PRIu64 "ms", ns / 1000000u);
    } else {
        snprintf(out, cap, "%" PRIu64 "us", ns / 1000u);
    }
}

void slow_list_ask_threshold(struct dialog *d, const struct snapshot *s)
{
    char now[32] = "";
    if (s && s->slow_ns) {
        slow_list_threshold_text(s->slow_ns, now, sizeof now);
    }
    dialog_prompt(d, PROMPT_SLOW, now);
}

bool slow_list_why_none(const struct snapshot *s, uint64_t from_ns, uint64_t to_ns, char *out,
                        size_t cap)
{
    char took[FORMAT_BYTES], from[FORMAT_BYTES], to[FORMAT_BYTES];
    const struct snap_slow *oldest = s->n_slow ? &s->slow[s->n_slow - 1] : NULL;
    format_us((double)s->slow_ns / 1e3, took);
    format_time(from_ns, false, from);
    format_time(to_ns, false, to);
    if (!s->slow_ns) {
        snprintf(out, cap, "no slow-call threshold is set; s sets it");
    } else if (oldest && oldest->seq > 1 && to_ns < oldest->wall_ns) {
        snprintf(out, cap, "slow calls before %s are no longer kept", to);
        return false;
    } else {
        snprintf(out, cap, "no call of %s or longer ended %s-%s", took, from, to);
    }
    return true;
}

/* --- drawing --- */

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

/* There are slow calls, but the filter or the time range leaves none of them. */
static void draw_empty(struct canvas *c, struct rect a, const struct snapshot *s,
                       const struct slow_filter *filter)
{
    struct slow_filter f = slow_filter_at(filter, s);
    char line[200];
    if (f.text[0]) {
        snprintf(line, sizeof line, "no slow call%s contains that text",
                 f.to_ns ? " of that time" : "");
    } else {
        slow_list_why_none(s, f.from_ns, f.to_ns, line, sizeof line);
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, line);
}

void slow_list_draw(struct slow_list *l, struct canvas *c, struct rect a, const struct snapshot *s,
                    const struct slow_picks *p, bool focus)
{
    struct slots w = slots_for(a.cols);
    find_selection(l, s, p);
    int lines = a.rows > 1 ? a.rows - 1 : 0;
    scroll_fit(&l->at, p->n, (size_t)lines);
    l->at.row = a.row + 1;
    draw_titles(c, a, &w, p->n, &l->filter);
    if (p->n == 0 && lines > 0) {
        draw_empty(c, (struct rect){a.row + 1, a.col, lines, a.cols}, s, &l->filter);
    }
    for (int i = 0; i < lines && l->at.top + (size_t)i < p->n; i++) {
        size_t at = l->at.top + (size_t)i;
        draw_call(c, a.row + 1 + i, a, &w, &s->slow[p->at[at]], focus && at == l->at.sel);
    }
}

/* --- keys --- */

static bool scroll_calls(struct slow_list *l, enum action act, const struct snapshot *s)
{
    struct slow_picks p = slow_list_pick(l, s);
    find_selection(l, s, &p);
    bool moved = p.n && scroll_key(&l->at, act, p.n);
    if (moved) {
        l->seq = l->at.sel == 0 ? 0 : s->slow[p.at[l->at.sel]].seq;
    }
    free(p.at);
    return moved;
}

bool slow_list_key(struct slow_list *l, struct dialog *d, enum action act, const struct snapshot *s)
{
    switch (act) {
    case ACT_FILTER:
        dialog_prompt(d, PROMPT_SLOW_FILTER, l->filter.text);
        return true;
    case ACT_THRESHOLD:
    case ACT_SORT: /* the same key, in the pane */
        slow_list_ask_threshold(d, s);
        return true;
    case ACT_BACK:
        return slow_list_forget_filter(l);
    default:
        return s && scroll_calls(l, act, s);
    }
}
