#include "heat.h"
#include "bins.h"
#include "heat_map.h"
#include "heat_mark.h"
#include "heat_says.h"
#include "shared.h"
#include "vm_lane.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

static const uint32_t steps[] = {1, 2, 5, 10, 30, 60, 300};
#define STEPS (sizeof steps / sizeof *steps)

bool heat_to_now(struct heat_state *t)
{
    bool was_past = t->end_s != 0;
    t->end_s = 0;
    t->has_cursor = false;
    return was_past;
}

void heat_query(const struct heat_state *t, const struct ui_shared *sh, struct view_query *q)
{
    int cols = (sh->cols ? sh->cols : 80) - HEAT_LABEL_COLS;
    q->heat_cols = cols > 0 ? (uint32_t)cols : 1;
    q->heat_col_s = steps[t->step];
    q->heat_end_s = t->end_s ? t->end_s : q->end_s;
    if (!sh->time_range.paused && !t->end_s) {
        q->heat_end_s = 0;
    }
}

/* --- the cursor --- */

/* Column of the cursor; SIZE_MAX: there is none. */
static size_t cursor_col(const struct heat_state *t, const struct heat_map *m)
{
    const struct snap_heat *h = m->h;
    if (m->n == 0) {
        return SIZE_MAX;
    }
    if (!t->has_cursor || t->cursor_s >= h->from_s + h->n * h->col_s) {
        return h->n - 1;
    }
    uint64_t i = t->cursor_s > h->from_s ? (t->cursor_s - h->from_s) / h->col_s : 0;
    return i < m->first ? m->first : (size_t)i;
}

/* Group of the cursor: until it is moved, the group with most of the column's calls. */
static size_t cursor_group(const struct heat_state *t, const struct heat_map *m, size_t col)
{
    size_t top = m->low + (m->lines > 0 ? m->lines - 1 : 0);
    if (!t->has_cursor) {
        return heat_map_fullest(m, col);
    }
    size_t g = bins_group(t->cursor_bin, m->per);
    return g < m->low ? m->low : g > top ? top : g;
}

/* Marks the cells between the mark and the cursor. */
static void set_mark(const struct heat_state *t, struct heat_map *m)
{
    struct heat_state other = *t;
    size_t at = cursor_col(t, m);
    if (!t->marked || at == SIZE_MAX) {
        return;
    }
    other.has_cursor = true;
    other.cursor_s = t->mark_s;
    other.cursor_bin = t->mark_bin;
    size_t at_mark = cursor_col(&other, m);
    m->mark =
        heat_mark_between(at, cursor_group(t, m, at), at_mark, cursor_group(&other, m, at_mark));
}

/* --- drawing --- */

static void draw_errors(struct canvas *c, const struct heat_map *m, int row, int left)
{
    canvas_right(c, row, left, HEAT_LABEL_COLS - 1, STYLE_DIM, "errors");
    for (size_t i = 0; i < m->n; i++) {
        uint64_t n = m->h->col[heat_map_holder(m->h, m->first + i)].errors;
        char text[2] = {n > 9 ? '+' : (char)('0' + n), 0};
        if (n) {
            canvas_text(c, row, m->col + (int)i, 1, STYLE_BAD, text);
        }
    }
}

/* ---- the lane of VM events ---- */

static struct vm_lane lane_of(const struct heat_map *m)
{
    uint64_t from_s = m->h->from_s + m->first * m->h->col_s;
    return (struct vm_lane){.s = m->s,
                            .from_ns = snapshot_wall_ns(m->s, from_s),
                            .to_ns = snapshot_wall_ns(m->s, from_s + m->n * m->h->col_s),
                            .cols = (int)m->n,
                            .own_gaps = true};
}

/* The event at the cursor: the one that was selected, else the most important of the column. */
static const struct snap_vm_event *event_at(const struct heat_state *t, const struct heat_map *m)
{
    struct vm_lane l = lane_of(m);
    size_t at = cursor_col(t, m);
    const struct snap_vm_event *e = at == SIZE_MAX ? NULL : vm_lane_find(&l, t->event);
    return e || at == SIZE_MAX ? e : vm_lane_in(&l, (int)(at - m->first), 0);
}

static void draw_lane(const struct heat_state *t, struct canvas *c, const struct heat_map *m,
                      int row, int left)
{
    struct vm_lane l = lane_of(m);
    size_t at = cursor_col(t, m);
    canvas_right(c, row, left, HEAT_LABEL_COLS - 1, STYLE_DIM, "VM");
    vm_lane_draw(&l, c, row, m->col, at == SIZE_MAX ? -1 : (int)(at - m->first));
}

/* Returns the columns used. */
static int draw_event(const struct heat_state *t, struct canvas *c, struct rect a,
                      const struct heat_map *m)
{
    struct vm_lane l = lane_of(m);
    const struct snap_vm_event *e = event_at(t, m);
    size_t at = cursor_col(t, m);
    return e ? vm_lane_say(&l, c, a.row, a.col, a.cols, (int)(at - m->first), e) : 0;
}

/* Clock times at the bottom; = marks the time range of the other screens. */
static void draw_axis(struct canvas *c, const struct heat_map *m, int row)
{
    const struct snapshot *s = m->s;
    for (size_t i = 0; i < m->n; i++) {
        uint64_t at = m->h->from_s + (m->first + i) * m->h->col_s;
        if (s->time.history && at + m->h->col_s > s->time.from_s && at < s->time.to_s) {
            canvas_text(c, row, m->col + (int)i, 1, STYLE_KEY, "=");
        }
    }
    for (size_t i = 0; i < m->n; i++) {
        uint64_t at = m->h->from_s + (m->first + i) * m->h->col_s;
        char when[FORMAT_BYTES + 1] = "|";
        if (at / m->h->col_s % 12 == 0 && i + 9 <= m->n) {
            time_range_clock(s, at, when + 1);
            canvas_text(c, row, m->col + (int)i, 9, STYLE_DIM, when);
        }
    }
}

static void draw_title(struct canvas *c, struct rect a, const struct snap_row *r,
                       const struct heat_map *m, bool earlier)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES];
    time_range_clock(m->s, m->h->from_s + m->first * m->h->col_s, from);
    time_range_clock(m->s, m->h->from_s + m->h->n * m->h->col_s, to);
    int col = rows_title(c, a, r);
    col += 2;
    col += canvas_textf(c, a.row, a.col + col, a.cols - col, STYLE_HEAD, "%s-%s  %us per column",
                        from, to, (unsigned)m->h->col_s);
    if (earlier) {
        col += 2 + canvas_text(c, a.row, a.col + col + 2, a.cols - col - 2, STYLE_WARN,
                               "EARLIER (}: now)");
    }
    heat_map_legend(m, c, a.row, a.col + col + 1, a.cols - col - 2);
}

static void draw_info(const struct heat_state *t, struct canvas *c, struct rect a,
                      const struct heat_map *m)
{
    size_t at = cursor_col(t, m);
    if (at == SIZE_MAX) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM, "no data yet");
        return;
    }
    const struct snap_heat_col *k = &m->h->col[heat_map_holder(m->h, at)];
    char from[FORMAT_BYTES], to[FORMAT_BYTES], low[FORMAT_BYTES], high[FORMAT_BYTES];
    char count[FORMAT_BYTES], all[FORMAT_BYTES];
    size_t g = cursor_group(t, m, at);
    time_range_clock(m->s, k->from_s, from);
    time_range_clock(m->s, k->to_s, to);
    bins_mark(g, m->per, low);
    bins_mark(g + 1, m->per, high);
    format_count(heat_map_count(m, at, g), count);
    format_count(k->count, all);
    if (!k->known) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN, "no history for %s-%s", from, to);
    } else if (heat_map_has_gap(k)) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN, "not traced %s-%s: %s", from, to,
                     gap_text(k->gap));
    } else if (!m->h->n_bins) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_DIM, "no calls %s-%s", from, to);
    } else {
        char errors[40] = "";
        const char *about = k->estimated ? "~" : "";
        if (k->errors) {
            snprintf(errors, sizeof errors, ", %s%" PRIu64 " error%s", about, k->errors,
                     k->errors == 1 ? "" : "s");
        }
        canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "%s%s of %s-%s  %s-%s  (of %s%s calls%s)",
                     about, count, low, high, from, to, about, all, errors);
    }
}

static bool is_of(const struct snap_heat *h, const struct snap_row *r)
{
    return h->there && h->tier == r->tier && h->ident_n == r->ident_n;
}

/* The part of the area for the grid. Under it: VM events, errors, times, event, cursor. */
static struct rect grid_area(struct rect a)
{
    int under = a.rows >= 12 ? 5 : a.rows >= 9 ? 4 : a.rows >= 5 ? 2 : a.rows == 4;
    int title = a.rows >= 3;
    a.row += title;
    a.rows -= title + under;
    return a;
}

/* From `row` on: what is under the grid. */
static void draw_below(const struct heat_state *t, struct canvas *c, struct rect a,
                       const struct heat_map *m, int row)
{
    int rows = a.row + a.rows - row;
    struct rect line = {.row = a.row + a.rows - 1, .col = a.col, .rows = 1, .cols = a.cols};
    struct rect above = line;
    if (rows >= 2) {
        draw_lane(t, c, m, row, a.col);
    }
    if (rows >= 4) {
        draw_errors(c, m, row + 1, a.col);
        draw_axis(c, m, row + 2);
    }
    above.row--;
    if (rows == 5) {
        draw_event(t, c, above, m);
    } else if (rows) { /* the event comes first in the line of the cursor */
        int used = draw_event(t, c, line, m);
        used += used ? 2 : 0;
        line.col += used;
        line.cols -= used;
    }
    if (rows && line.cols > 0) {
        draw_info(t, c, line, m);
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct heat_state *t = own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    t->area = a;
    t->halves = c->shades;
    if (!r) {
        canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
                    "No row is selected: choose one in the table (Esc).");
        return;
    }
    if (!is_of(&s->heat, r)) {
        canvas_text(c, a.row, a.col, a.cols, STYLE_DIM, "reading the history ...");
        return;
    }
    struct rect g = grid_area(a);
    struct heat_map m = heat_map_of(s, g, c->shades);
    set_mark(t, &m);
    if (g.row > a.row) {
        draw_title(c, a, r, &m, t->end_s != 0);
    }
    size_t at = cursor_col(t, &m);
    heat_map_draw(&m, c, a.col, at, at == SIZE_MAX ? 0 : cursor_group(t, &m, at));
    draw_below(t, c, a, &m, g.row + g.rows);
}

/* --- keys --- */

static void place(struct heat_state *t, const struct heat_map *m, size_t col, size_t group)
{
    t->has_cursor = true;
    t->cursor_s = m->h->from_s + col * m->h->col_s;
    t->cursor_bin = bins_first(group, m->per);
}

/* The end of the map, moved by some seconds. False: it cannot be moved. */
static bool pan(struct heat_state *t, struct message *why, const struct snapshot *s, uint64_t by_s,
                bool back)
{
    uint64_t end = t->end_s ? t->end_s : s->time.now_s;
    if (back && end <= s->time.oldest_s + by_s) {
        message_set(why, "no earlier history", true);
        return false;
    }
    if (!back && !t->end_s) {
        return false;
    }
    end = back ? end - by_s : end + by_s;
    t->end_s = end < s->time.now_s ? end : 0;
    return true;
}

static bool move(struct heat_state *t, struct ui_shared *sh, enum action act,
                 const struct heat_map *m, struct intent *out)
{
    size_t at = cursor_col(t, m), top = m->low + (m->lines > 0 ? m->lines - 1 : 0);
    if (at == SIZE_MAX) {
        return false; /* no map: the cursor cannot move */
    }
    size_t g = cursor_group(t, m, at);
    uint64_t page = m->n * m->h->col_s;
    switch (act) {
    case ACT_UP:
        place(t, m, at, g < top ? g + 1 : g);
        return true;
    case ACT_DOWN:
        place(t, m, at, g > m->low ? g - 1 : g);
        return true;
    case ACT_HOME:
        place(t, m, m->first, g);
        return true;
    case ACT_END:
        t->has_cursor = false;
        return true;
    case ACT_LEFT:
        if (at == m->first && pan(t, &sh->message, m->s, (page + 1) / 2, true)) {
            out->kind = INTENT_VIEW_QUERY;
        }
        place(t, m, at, g);
        t->cursor_s -= t->cursor_s >= m->h->col_s ? m->h->col_s : 0;
        return true;
    case ACT_RIGHT:
        if (at + 1 == m->h->n && pan(t, &sh->message, m->s, (page + 1) / 2, false)) {
            out->kind = INTENT_VIEW_QUERY;
        }
        place(t, m, at, g);
        t->cursor_s += m->h->col_s;
        return true;
    default:
        return false;
    }
}

static bool on_time(struct heat_state *t, struct ui_shared *sh, enum action act,
                    const struct heat_map *m, struct intent *out)
{
    uint64_t page = m->n * m->h->col_s;
    switch (act) {
    case ACT_EARLIER:
    case ACT_PGUP:
    case ACT_LATER:
    case ACT_PGDN:
        if (page && pan(t, &sh->message, m->s, page, act == ACT_EARLIER || act == ACT_PGUP)) {
            out->kind = INTENT_VIEW_QUERY;
            t->has_cursor = false;
        }
        return true;
    case ACT_FINER:
    case ACT_COARSER:
        t->step -= act == ACT_FINER && t->step > 0;
        t->step += act == ACT_COARSER && t->step + 1 < STEPS;
        out->kind = INTENT_VIEW_QUERY;
        return true;
    default:
        return false;
    }
}

/* The reason why there is no slow call in the cell. */
static void say_why(struct ui_shared *sh, const struct snapshot *s, const struct snap_heat_col *k)
{
    char why[160], text[200];
    bool helps = slow_list_why_none(s, snapshot_wall_ns(s, k->from_s), snapshot_wall_ns(s, k->to_s),
                                    why, sizeof why);
    snprintf(text, sizeof text, "%s%s", why, helps && s->slow_ns ? " (s: the threshold)" : "");
    message_set(&sh->message, text, true);
}

static void to_slow(struct ui_shared *sh, const struct snapshot *s, const struct snap_heat_col *k,
                    struct screen_reply *out)
{
    uint64_t from = snapshot_wall_ns(s, k->from_s), to = snapshot_wall_ns(s, k->to_s);
    if (slow_list_filter_time(&sh->slow, s, from, to)) {
        out->open.to = SCREEN_SLOW;
    } else {
        say_why(sh, s, k);
    }
}

static bool on_cell(struct heat_state *t, struct ui_shared *sh, enum action act,
                    const struct heat_map *m, struct screen_reply *out)
{
    if (act != ACT_OPEN && act != ACT_TAKE) {
        return false;
    }
    size_t at = cursor_col(t, m);
    if (at == SIZE_MAX) {
        message_set(&sh->message, "no data yet", true);
        return true;
    }
    const struct snap_heat_col *k = &m->h->col[heat_map_holder(m->h, at)];
    if (act == ACT_OPEN) {
        to_slow(sh, m->s, k, out);
    } else if (k->known) {
        uint64_t now = m->s->time.now_s;
        time_range_set(&sh->time_range, k->from_s, k->to_s < now ? k->to_s : now);
        out->open.to = SCREEN_MAIN;
        out->intent.kind = INTENT_VIEW_QUERY;
    } else {
        message_set(&sh->message, "no history for this time", true);
    }
    return true;
}

static void turn_mark(struct heat_state *t, const struct heat_map *m, struct message *say)
{
    size_t at = cursor_col(t, m);
    t->marked = !t->marked && at != SIZE_MAX;
    if (t->marked) {
        place(t, m, at, cursor_group(t, m, at));
        t->mark_s = t->cursor_s;
        t->mark_bin = t->cursor_bin;
        message_set(say, "move the cursor to the other corner, then press f", false);
    }
}

/* Asks for the samples that were taken inside the requests of the marked cells. */
static void to_flame(const struct heat_state *t, struct message *why, struct heat_map *m,
                     const struct snap_row *r, struct intent *out)
{
    size_t at = cursor_col(t, m);
    set_mark(t, m);
    if (!m->s->has_entry) {
        message_set(why, "there are no requests: choose an entry (E, in the table)", true);
    } else if (at == SIZE_MAX || !m->h->n_bins) {
        message_set(why, "no calls in sight", true);
    } else {
        *out = heat_mark_intent(m, r, cursor_group(t, m, at), t->end_s == 0);
    }
}

static void next_row(struct ui_shared *sh, bool down, const struct snapshot *s, struct intent *out)
{
    size_t before = sh->rows.at.sel;
    if (s && rows_key(&sh->rows, down ? ACT_DOWN : ACT_UP, s) && sh->rows.at.sel != before) {
        out->kind = INTENT_VIEW_QUERY;
    } else {
        message_set(&sh->message,
                    down ? "this is the last row of the table"
                         : "this is the first row of the table",
                    false);
    }
}

/* Selects the next VM event; the cursor goes to its column. */
static bool step_event(struct heat_state *t, struct message *say, enum action act,
                       const struct heat_map *m)
{
    struct vm_lane l = lane_of(m);
    size_t at = cursor_col(t, m);
    const struct snap_vm_event *e = event_at(t, m), *next;
    if (act != ACT_EVENT_LATER && act != ACT_EVENT_EARLIER) {
        return false;
    }
    if (at == SIZE_MAX || !vm_lane_any(&l)) {
        message_set(say, vm_lane_none(m->s), false);
        return true;
    }
    bool later = act == ACT_EVENT_LATER;
    next = e ? vm_lane_next(&l, e, later) : vm_lane_near(&l, (int)(at - m->first), later);
    if (!next) {
        message_set(say,
                    later ? "no later VM event is in sight" : "no earlier VM event is in sight",
                    false);
        return true;
    }
    place(t, m, m->first + (size_t)vm_lane_cell(&l, next), cursor_group(t, m, at));
    t->event = next->id;
    return true;
}

static bool on_map(struct heat_state *t, struct ui_shared *sh, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct heat_map m = heat_map_of(s, grid_area(t->area), t->halves);
    struct heat_state was = *t;
    if (act == ACT_BEGIN_MARK) {
        turn_mark(t, &m, &sh->message);
        return true;
    }
    if (act == ACT_INSIDE) {
        to_flame(t, &sh->message, &m, rows_selected(&sh->rows, s), &out->intent);
        return true;
    }
    if (act == ACT_BACK && t->marked) {
        t->marked = false;
        return true;
    }
    if (step_event(t, &sh->message, act, &m)) {
        return true;
    }
    size_t col = cursor_col(t, &m), group = col == SIZE_MAX ? 0 : cursor_group(t, &m, col);
    bool taken = move(t, sh, act, &m, &out->intent) || on_time(t, sh, act, &m, &out->intent) ||
                 on_cell(t, sh, act, &m, out);
    size_t at = cursor_col(t, &m), now_group = at == SIZE_MAX ? 0 : cursor_group(t, &m, at);
    if (at != col) {
        t->event = 0;
    }
    bool same = was.step == t->step && was.end_s == t->end_s && at == col && now_group == group;
    if (taken && same && act != ACT_OPEN && act != ACT_TAKE && !sh->message.text[0]) {
        heat_says_end(&sh->message, act);
    }
    return taken;
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)key;
    struct heat_state *t = own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    if (act == ACT_NEXT_ROW || act == ACT_PREV_ROW) {
        next_row(sh, act == ACT_NEXT_ROW, s, &out->intent);
        return true;
    }
    if (act == ACT_THRESHOLD) {
        slow_list_ask_threshold(&sh->dialog, s);
        return true;
    }
    if (r && is_of(&s->heat, r)) {
        return on_map(t, sh, act, s, out);
    }
    return heat_says_none(&sh->message, act, r != NULL);
}

static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    struct heat_state *t = own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    if (!r || !is_of(&s->heat, r)) {
        return false;
    }
    struct rect g = grid_area(t->area);
    struct heat_map m = heat_map_of(s, g, t->halves);
    size_t at, group;
    if (row == g.row + g.rows && col >= m.col && (size_t)(col - m.col) < m.n) { /* the lane */
        at = m.first + (size_t)(col - m.col);
        group = cursor_group(t, &m, at);
    } else if (!heat_map_at(&m, row, col, &at, &group)) {
        return false;
    }
    t->event = 0;
    place(t, &m, at, group);
    return true;
}

const struct screen_ops screen_heat = {
    .name = "heat map",
    .key = 'H',
    .context = CTX_HEAT,
    .on_request = true,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
