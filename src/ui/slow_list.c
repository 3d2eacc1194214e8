#include "slow_list.h"
#include "part_bar.h"
#include "slow_parts.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <kprof/core/tier.h>
#include <kprof/core/waterfall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- contents and order of the list --- */

/* The share of the tier's self time in the request; negative: not known. */
static double share(const struct snap_slow *w)
{
    const struct snap_slow_sum *most = slow_most(w);
    return most && w->request_us > 0 ? most->self_us / w->request_us : -1;
}

static double self_us(const struct snap_slow *w)
{
    const struct snap_slow_sum *most = slow_most(w);
    return most && w->request_us > 0 ? most->self_us : -1;
}

static int by_number(double a, double b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

/* The newest first. In the snapshot, requests that have not ended come before all others, and stay
 * there; the others are in the order in which they were complete, some time after their end, so
 * they are sorted by their end. */
static int by_time(const struct snap_slow *a, const struct snap_slow *b)
{
    if (!a->done || !b->done) {
        return 0;
    }
    return a->wall_ns < b->wall_ns ? 1 : a->wall_ns > b->wall_ns ? -1 : 0;
}

static int in_column(enum slow_column by, const struct snap_slow *a, const struct snap_slow *b)
{
    switch (by) {
    case SLOW_IDENTITY:
        return strcmp(snapshot_name(a->ident), snapshot_name(b->ident));
    case SLOW_TOOK:
        return by_number(slow_took_us(a), slow_took_us(b));
    case SLOW_TIER:
        return strcmp(slow_tier(a), slow_tier(b));
    case SLOW_SELF:
        return by_number(self_us(a), self_us(b));
    case SLOW_SHARE:
        return by_number(share(a), share(b));
    case SLOW_PROCESS:
        return slow_pid(a) < slow_pid(b) ? -1 : slow_pid(a) > slow_pid(b);
    case SLOW_TIME:
        return by_time(a, b);
    case SLOW_PARTS: /* compare */
    case SLOW_COLUMNS:
        break;
    }
    return 0;
}

struct order {
    const struct snap_slow *of;
    const struct slow_list *l;
    const double *not_run; /* SLOW_PARTS: by request, the share of the time in which it did not
                              run; -1: not recorded */
};

/* The caller frees it. */
static double *not_run(const struct snapshot *s)
{
    double *v = malloc((s->n_slow + 1) * sizeof *v), share[PART_COUNT];
    if (!v) {
        abort();
    }
    for (size_t i = 0; i < s->n_slow; i++) {
        v[i] = slow_parts_shares(s, &s->slow[i], share) ? 1 - share[PART_RUN] : -1;
    }
    return v;
}

static int compare(const void *x, const void *y, void *arg)
{
    const struct order *o = arg;
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    int way = o->not_run ? by_number(o->not_run[a], o->not_run[b])
                         : in_column(o->l->sort, &o->of[a], &o->of[b]);
    way = way ? way : a < b ? -1 : 1; /* the newer one first */
    return o->l->reverse ? -way : way;
}

struct slow_picks slow_list_pick(const struct slow_list *l, const struct snapshot *s)
{
    struct slow_picks p = {.at = malloc((s->n_slow + 1) * sizeof *p.at)};
    double *parts = l->sort == SLOW_PARTS ? not_run(s) : NULL;
    struct order o = {s->slow, l, parts};
    if (!p.at) {
        abort();
    }
    struct slow_filter f = slow_filter_at(&l->filter, s);
    for (size_t i = 0; i < s->n_slow; i++) {
        if (slow_matches(&f, &s->slow[i])) {
            p.at[p.n++] = i;
        }
    }
    qsort_r(p.at, p.n, sizeof *p.at, compare, &o);
    free(parts);
    return p;
}

/* The selected line stays selected while newer ones move it down. If it has disappeared, the line
 * at its position is selected, and stays selected. */
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
    } else if (p->n) {
        l->at.sel = l->at.sel < p->n ? l->at.sel : p->n - 1;
        l->seq = s->slow[p->at[l->at.sel]].seq;
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
    } else if (ns % 1000u == 0) {
        snprintf(out, cap, "%" PRIu64 "us", ns / 1000u);
    } else {
        snprintf(out, cap, "%" PRIu64 "ns", ns);
    }
}

/* The P99 of whole requests; without an entry there is none, and no threshold is proposed. */
static double present_p99_us(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier == TIER_TOTAL && !s->rows[i].ident && s->rows[i].count) {
            return s->rows[i].p99_us;
        }
    }
    return 0;
}

/* Rounded down to two digits. */
static uint64_t round_us(double us)
{
    uint64_t unit = 1, n = us > 0 ? (uint64_t)us : 0;
    while (n / unit >= 100) {
        unit *= 10;
    }
    return n / unit * unit;
}

void slow_list_ask_threshold(struct dialog *d, const struct snapshot *s)
{
    char now[32] = "", title[64] = "Slow-call threshold", text[FORMAT_BYTES];
    double p99_us = s ? present_p99_us(s) : 0;
    uint64_t ns = s ? s->slow_ns : 0;
    if (p99_us > 0) {
        format_us(p99_us, text);
        size_t digits = strspn(text, "0123456789.");
        snprintf(title, sizeof title, "Slow-call threshold (P99 is %.*s %s)", (int)digits, text,
                 text + digits);
    }
    if (ns || p99_us >= 1) {
        slow_list_threshold_text(ns ? ns : round_us(p99_us) * 1000, now, sizeof now);
    }
    dialog_prompt_titled(d, PROMPT_SLOW, title, ns ? now : "");
    prompt_propose(&d->prompt); /* a typed one replaces it */
    if (!ns) {
        dialog_offer(d, now);
    }
}

bool slow_list_why_none(const struct snapshot *s, uint64_t from_ns, uint64_t to_ns, char *out,
                        size_t cap)
{
    char took[FORMAT_BYTES], from[FORMAT_BYTES], to[FORMAT_BYTES];
    const struct snap_slow *oldest = s->n_slow_recent ? &s->slow[s->n_slow_recent - 1] : NULL;
    format_us((double)s->slow_ns / 1e3, took);
    format_time(from_ns, false, from);
    format_time(to_ns, false, to);
    if (!s->slow_ns) {
        snprintf(out, cap, "no slow-call threshold is set; s sets it");
    } else if (oldest && oldest->seq > 1 && to_ns < oldest->wall_ns) {
        snprintf(out, cap, "before %s only the slowest requests are kept", to);
        return false;
    } else if (from_ns < s->slow_since_wall_ns) {
        char since[FORMAT_BYTES];
        format_time(s->slow_since_wall_ns, false, since);
        snprintf(out, cap, "not stored before %s: the threshold was set then", since);
    } else {
        snprintf(out, cap, "no call of %s or longer ended between %s and %s", took, from, to);
    }
    return true;
}

/* --- drawing --- */

enum { PARTS_COLS = 8 };

/* Columns by the width of the screen; 0: not shown. */
struct slots {
    int of[SLOW_COLUMNS];
};

static const char *const titles[SLOW_COLUMNS] = {
    [SLOW_IDENTITY] = "IDENTITY", [SLOW_TOOK] = "TOOK", [SLOW_TIER] = "TIER",
    [SLOW_SELF] = "SELF",         [SLOW_SHARE] = "%",   [SLOW_PARTS] = "PARTS",
    [SLOW_PROCESS] = "PROCESS"};

static bool is_right(enum slow_column k)
{
    return k == SLOW_TOOK || k == SLOW_SELF || k == SLOW_SHARE;
}

static struct slots slots_for(int cols, bool parts)
{
    struct slots w = {{12, 14, 7, 12, 7, 4, parts ? PARTS_COLS : 0, cols < 96 ? 10 : 12}};
    if (cols < 76) {
        w = (struct slots){
            {8, 11, 7, cols < 48 ? 10 : 12, cols < 56 ? 0 : 7, cols < 46 ? 0 : 4, 0, 0}};
    }
    int more = cols > 80 ? (cols - 80) / 4 : 0;
    w.of[SLOW_IDENTITY] += more < 18 ? more : 18;
    w.of[SLOW_TIER] += more < 12 ? more : 12;
    return w;
}

/* Room for the longest identity of the table, before the names of processes: long names often
 * differ only in the middle. */
static void widen(struct slots *w, int cols, const struct snapshot *s)
{
    int longest = 0, room = cols - w->of[SLOW_PROCESS];
    for (size_t i = 0; i < s->n_rows; i++) {
        const char *name = s->rows[i].tier == TIER_TOTAL ? snapshot_name(s->rows[i].ident) : NULL;
        int n = name ? (int)text_width(name, strlen(name)) : 0;
        longest = n > longest ? n : longest;
    }
    for (enum slow_column k = SLOW_TIME; k < SLOW_PROCESS; k++) {
        room -= w->of[k] + (w->of[k] > 0);
    }
    int more = longest - w->of[SLOW_IDENTITY];
    if (w->of[SLOW_PROCESS] && more > 0 && room > 0) {
        w->of[SLOW_IDENTITY] += more < room ? more : room;
    }
}

static void draw_titles(struct canvas *c, struct rect a, const struct slots *w, size_t n,
                        const struct slow_list *l)
{
    const struct slow_filter *f = &l->filter;
    char title[40];
    int col = a.col + w->of[SLOW_TIME] + 1;
    snprintf(title, sizeof title, w->of[SLOW_TIME] >= 12 ? "SLOW (%zu)" : "SLOW %zu", n);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_text(c, a.row, a.col, w->of[SLOW_TIME], STYLE_HEAD, title);
    if (slow_filter_set(f)) {
        canvas_textf(c, a.row, col, a.cols - col, STYLE_WARN, "%s%s%s%s(Esc: all)",
                     f->text[0] ? "with \"" : "", f->text, f->text[0] ? "\" " : "",
                     f->from_ns || f->to_ns ? "in this time range " : "");
        return;
    }
    for (enum slow_column k = SLOW_IDENTITY; k < SLOW_COLUMNS; k++) {
        int cols = w->of[k];
        if (cols > 0 && is_right(k)) {
            canvas_right(c, a.row, col, cols, STYLE_HEAD, titles[k]);
        } else if (cols > 0) {
            canvas_text(c, a.row, col, cols, STYLE_HEAD, titles[k]);
        }
        if (cols > 0 && k == l->sort) {
            canvas_style(c, a.row, col, cols, STYLE_KEY);
        }
        col += cols > 0 ? cols + 1 : 0;
    }
}

/* SELF and its share of the request, or why there is none. */
static int draw_self(struct canvas *c, int row, int col, const struct slots *w,
                     const struct snap_slow *s)
{
    char text[FORMAT_BYTES];
    int cols = w->of[SLOW_SELF], part = w->of[SLOW_SHARE];
    bool open = s->request && !s->done && s->request_us <= 0;
    if (cols > 0) {
        format_us(self_us(s), text);
        canvas_right(c, row, col, cols, STYLE_NORMAL, self_us(s) < 0 ? open ? "open" : "-" : text);
        col += cols + 1;
    }
    if (part > 0) {
        snprintf(text, sizeof text, "%.0f%%", 100 * share(s));
        canvas_right(c, row, col, part, STYLE_NORMAL,
                     share(s) >= 0       ? text
                     : open && cols <= 0 ? "open"
                                         : "");
        col += part + 1;
    }
    return col;
}

static void draw_process(struct canvas *c, int row, int col, struct rect a, const struct slots *w,
                         const struct snap_slow *s)
{
    char text[SNAPSHOT_PID_BYTES];
    int cols = w->of[SLOW_PROCESS];
    snapshot_pid(slow_pid(s), text);
    int used = canvas_text(c, row, col, a.cols - col, STYLE_NORMAL, text);
    col += used < cols ? cols + 1 : used + 1;
    if (slow_who(s)) {
        col += canvas_text(c, row, col, a.cols - col, STYLE_NORMAL, slow_who(s)) + 1;
    }
    if (s->args) {
        canvas_text(c, row, col, a.cols - col, STYLE_DIM, s->args);
    }
}

static void draw_line(struct canvas *c, int row, struct rect a, const struct slots *w,
                      const struct snapshot *snap, const struct snap_slow *s, bool selected)
{
    char text[FORMAT_BYTES];
    double parts[PART_COUNT];
    int col = a.col, bar;
    format_time(s->wall_ns, w->of[SLOW_TIME] >= 12, text);
    canvas_text(c, row, col, w->of[SLOW_TIME], STYLE_DIM, text);
    col += w->of[SLOW_TIME] + 1;
    canvas_name(c, row, col, w->of[SLOW_IDENTITY], STYLE_NORMAL, snapshot_name(s->ident));
    col += w->of[SLOW_IDENTITY] + 1;
    format_us(slow_took_us(s), text);
    canvas_right(c, row, col, w->of[SLOW_TOOK], s->error ? STYLE_BAD : STYLE_WARN, text);
    col += w->of[SLOW_TOOK] + 1;
    if (s->error) {
        canvas_text(c, row, col - 1, 1, STYLE_BAD, "!");
    }
    canvas_name(c, row, col, w->of[SLOW_TIER], STYLE_BOLD, slow_tier(s));
    col += w->of[SLOW_TIER] + 1;
    col = bar = draw_self(c, row, col, w, s);
    col += w->of[SLOW_PARTS] ? w->of[SLOW_PARTS] + 1 : 0;
    if (w->of[SLOW_PROCESS]) {
        draw_process(c, row, col, a, w, s);
    }
    if (selected) {
        canvas_style(c, row, a.col, a.cols, STYLE_SELECT);
    }
    if (w->of[SLOW_PARTS] && slow_parts_shares(snap, s, parts)) {
        part_bar_shares(c, row, bar, w->of[SLOW_PARTS], parts); /* keeps its colors */
    }
}

/* There are slow requests, but none passes the filter and the time range. */
static void draw_empty(struct canvas *c, struct rect a, const struct snapshot *s,
                       const struct slow_filter *filter)
{
    struct slow_filter f = slow_filter_at(filter, s);
    char line[200];
    if (f.text[0]) {
        snprintf(line, sizeof line, "no slow request%s contains this text",
                 f.to_ns ? " in this time range" : "");
    } else {
        slow_list_why_none(s, f.from_ns, f.to_ns, line, sizeof line);
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, line);
}

void slow_list_draw(struct slow_list *l, struct canvas *c, struct rect a, const struct snapshot *s,
                    const struct slow_picks *p, bool focus)
{
    struct slots w = slots_for(a.cols, slow_parts_any(s));
    widen(&w, a.cols, s);
    find_selection(l, s, p);
    int lines = a.rows > 1 ? a.rows - 1 : 0;
    scroll_fit(&l->at, p->n, (size_t)lines);
    l->at.row = a.row + 1;
    draw_titles(c, a, &w, p->n, l);
    if (p->n == 0 && lines > 0) {
        draw_empty(c, (struct rect){a.row + 1, a.col, lines, a.cols}, s, &l->filter);
    }
    for (int i = 0; i < lines && l->at.top + (size_t)i < p->n; i++) {
        size_t at = l->at.top + (size_t)i;
        draw_line(c, a.row + 1 + i, a, &w, s, &s->slow[p->at[at]], focus && at == l->at.sel);
    }
}

/* --- keys --- */

static bool scroll_lines(struct slow_list *l, enum action act, const struct snapshot *s)
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

static void step_sort(struct slow_list *l, bool right, const struct snapshot *s)
{
    int step = right ? 1 : SLOW_COLUMNS - 1;
    do {
        l->sort = (enum slow_column)(((int)l->sort + step) % SLOW_COLUMNS);
    } while (l->sort == SLOW_PARTS && !(s && slow_parts_any(s)));
}

bool slow_list_key(struct slow_list *l, struct dialog *d, enum action act, const struct snapshot *s)
{
    switch (act) {
    case ACT_FILTER:
        dialog_propose(d, PROMPT_SLOW_FILTER, l->filter.text);
        return true;
    case ACT_THRESHOLD:
    case ACT_SORT: /* the same key, in the pane */
        slow_list_ask_threshold(d, s);
        return true;
    case ACT_SORT_LEFT:
    case ACT_SORT_RIGHT:
        step_sort(l, act == ACT_SORT_RIGHT, s);
        return true;
    case ACT_REVERSE:
        l->reverse = !l->reverse;
        return true;
    case ACT_BACK:
        return slow_list_forget_filter(l);
    default:
        return s && scroll_lines(l, act, s);
    }
}
