#include "parts_screen.h"
#include "mailbox_lines.h"
#include "part_bar.h"
#include "row_step.h"
#include "shared.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

enum { NAME_COLS = 11, TIME_COLS = 8, NARROW = 48, LIST_LEAST = 3 };

/* ---- why there is nothing ---- */

static void say_why(struct canvas *c, struct rect a, const struct snapshot *s)
{
    const struct snap_detail *d = &s->detail;
    char text[400];
    if (d->state == DETAIL_OFF) {
        snprintf(
            text, sizeof text,
            "The parts of the calls' time are not recorded: --detail off. Start kprof-top with "
            "--detail 1/100 to record them.");
    } else if (d->state == DETAIL_NOT_HERE) {
        snprintf(text, sizeof text,
                 "The parts of the calls' time are not recorded on this VM%s%.240s",
                 d->why[0] ? ": " : ".", d->why);
    } else if (d->state == DETAIL_NO_ENTRY) {
        snprintf(text, sizeof text,
                 "The parts of the calls' time are not recorded: there is no entry, and only "
                 "requests are "
                 "followed in detail (E, in the table, chooses an entry).");
    } else if (s->node.replay) {
        snprintf(text, sizeof text,
                 "The recording has no parts of these calls' time in the window.");
    } else if (d->state == DETAIL_ON && d->every > 0) {
        snprintf(text, sizeof text,
                 "No call of this row was recorded in the window: 1 of %" PRIu32
                 " sampled requests is followed in detail. A longer window (w) has more of them.",
                 d->every);
    } else {
        snprintf(text, sizeof text,
                 "No call of this row was recorded in the window, and the node has not said "
                 "whether it records the parts of the calls' time.");
    }
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, text);
}

/* ---- the table of parts ---- */

struct slots {
    bool p50;
    int name, cell;
    int bar, bars; /* columns; a bar's width, and how many: all calls, the slowest */
};

static struct slots slots_for(int cols)
{
    bool narrow = cols < NARROW;
    struct slots w = {.p50 = !narrow, .name = NAME_COLS, .cell = TIME_COLS - narrow};
    int rest = cols - w.name - w.cell * (narrow ? 4 : 5) - 1;
    w.bars = rest >= 40 ? 2 : rest >= 10 ? 1 : 0;
    w.bar = w.bars == 2 ? (rest - 2) / 2 : rest;
    return w;
}

static int right(struct canvas *c, int row, int col, int cols, enum style st, const char *text)
{
    canvas_right(c, row, col, cols, st, text);
    return col + cols;
}

static int time_cell(struct canvas *c, int row, int col, int cols, enum style st, double us)
{
    char text[FORMAT_BYTES];
    format_us(us, text);
    return right(c, row, col, cols, st, text);
}

static int share_cell(struct canvas *c, int row, int col, int cols, enum style st, double share)
{
    char text[FORMAT_BYTES];
    format_share(share, text);
    return right(c, row, col, cols, st, text);
}

static void draw_heads(struct canvas *c, struct rect a, const struct slots *w)
{
    int col = a.col + w->name;
    canvas_text(c, a.row, a.col, w->name, STYLE_DIM, "PART");
    col = right(c, a.row, col, w->cell, STYLE_DIM, "MEAN");
    if (w->p50) {
        col = right(c, a.row, col, w->cell, STYLE_DIM, "P50");
    }
    col = right(c, a.row, col, w->cell, STYLE_DIM, "P99");
    col = right(c, a.row, col, w->cell, STYLE_DIM, "SHARE");
    col = right(c, a.row, col, w->cell, STYLE_DIM, w->p50 ? "SLOW 1%" : "SLOW") + 1;
    if (w->bars) {
        canvas_text(c, a.row, col + 1, w->bar, STYLE_DIM, "ALL CALLS");
    }
    if (w->bars == 2) {
        canvas_text(c, a.row, col + w->bar + 2, w->bar, STYLE_DIM, "SLOWEST 1 %");
    }
}

static void draw_part(struct canvas *c, struct rect a, int row, const struct slots *w,
                      const struct time_part_view *v, enum time_part p)
{
    bool none = v->share[p] <= 0 && v->slow_share[p] <= 0;
    enum style st = none ? STYLE_DIM : STYLE_NORMAL;
    int col = a.col + w->name;
    part_bar_legend(c, row, a.col, w->name, 1u << p);
    col = time_cell(c, row, col, w->cell, st, v->mean_us[p]);
    if (w->p50) {
        col = time_cell(c, row, col, w->cell, st, v->p50_us[p]);
    }
    col = time_cell(c, row, col, w->cell, st, v->p99_us[p]);
    col = share_cell(c, row, col, w->cell, st, v->share[p]);
    col = share_cell(c, row, col, w->cell, st, v->slow_share[p]) + 1;
    if (w->bars) {
        part_bar_one(c, row, col + 1, w->bar - 1, p, v->share[p]);
    }
    if (w->bars == 2) {
        part_bar_one(c, row, col + w->bar + 2, w->bar - 1, p, v->slow_share[p]);
    }
}

static double mean_of(const struct time_part_view *v)
{
    double sum = 0;
    for (int p = 0; p < PART_COUNT; p++) {
        sum += v->mean_us[p];
    }
    return sum;
}

static void draw_sum(struct canvas *c, struct rect a, int row, const struct slots *w,
                     const struct time_part_view *v)
{
    double share = 0, slow = 0;
    for (int p = 0; p < PART_COUNT; p++) {
        share += v->share[p];
        slow += v->slow_share[p];
    }
    int col = a.col + w->name;
    canvas_text(c, row, a.col + 2, w->name - 2, STYLE_DIM, "sum");
    col = time_cell(c, row, col, w->cell, STYLE_DIM, mean_of(v));
    col += w->cell * (w->p50 ? 2 : 1); /* quantiles of parts do not add up */
    col = share_cell(c, row, col, w->cell, STYLE_DIM, share);
    share_cell(c, row, col, w->cell, STYLE_DIM, slow);
}

/* All parts if there is room, else those with the largest shares, in their order. */
static unsigned parts_shown(const struct time_part_view *v, int rows)
{
    unsigned mask = 0;
    for (int n = 0; n < PART_COUNT && n < rows; n++) {
        int best = -1;
        for (int p = 0; p < PART_COUNT; p++) {
            if (!(mask & 1u << p) && (best < 0 || v->share[p] + v->slow_share[p] >
                                                      v->share[best] + v->slow_share[best])) {
                best = p;
            }
        }
        mask |= 1u << best;
    }
    return mask;
}

/* Returns the lines used. */
static int draw_table(struct canvas *c, struct rect a, const struct time_part_view *v)
{
    struct slots w = slots_for(a.cols);
    int used = 0;
    if (a.rows > 2) {
        draw_heads(c, a, &w);
        used++;
    }
    unsigned mask = parts_shown(v, a.rows - used);
    for (int p = 0; p < PART_COUNT; p++) {
        if (mask & 1u << p) {
            draw_part(c, a, a.row + used++, &w, v, (enum time_part)p);
        }
    }
    if (used < a.rows) {
        draw_sum(c, a, a.row + used++, &w, v);
    }
    return used;
}

/* ---- the rows of the tier ---- */

static void draw_row(struct canvas *c, struct rect a, int row, const struct snap_row *r,
                     bool selected)
{
    char text[FORMAT_BYTES] = "-";
    int name = a.cols < 60 ? 14 : a.cols < 100 ? 22 : 32, col = a.col + name;
    int bar = (a.cols - name - 2 * TIME_COLS - 2) / 2, indent = r->ident ? 2 : 0;
    const struct time_part_view *v = r->parts;
    canvas_name(c, row, a.col + indent, name - indent, STYLE_NORMAL,
                !r->ident     ? r->tier_name
                : r->ident[0] ? snapshot_name(r->ident)
                              : "\"\"");
    if (v) {
        format_count(v->calls, text);
    }
    col = right(c, row, col, TIME_COLS, v ? STYLE_NORMAL : STYLE_DIM, text);
    if (v) {
        col = time_cell(c, row, col, TIME_COLS, STYLE_NORMAL, mean_of(v));
    }
    if (selected) {
        canvas_style(c, row, a.col, name + 2 * TIME_COLS, STYLE_SELECT); /* not the bars */
    }
    if (v && bar > 0) {
        part_bar_shares(c, row, col + 1, bar, v->share);
        part_bar_shares(c, row, col + 2 + bar, bar, v->slow_share);
    }
}

static void draw_list_head(struct canvas *c, struct rect a)
{
    int name = a.cols < 60 ? 14 : a.cols < 100 ? 22 : 32, col = a.col + name;
    int bar = (a.cols - name - 2 * TIME_COLS - 2) / 2;
    canvas_text(c, a.row, a.col, name, STYLE_DIM, "ROW");
    col = right(c, a.row, col, TIME_COLS, STYLE_DIM, "CALLS");
    col = right(c, a.row, col, TIME_COLS, STYLE_DIM, "MEAN");
    canvas_text(c, a.row, col + 1, bar, STYLE_DIM, "ALL CALLS");
    canvas_text(c, a.row, col + 2 + bar, bar, STYLE_DIM, "SLOWEST 1 %");
}

/* The tier and its identities; the selected one is always among them. */
static void draw_list(struct canvas *c, struct rect a, const struct snapshot *s,
                      const struct snap_row *sel)
{
    size_t n = 0, at = 0, room = a.rows > 1 ? (size_t)a.rows - 1 : 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        at = &s->rows[i] == sel ? n : at;
        n += s->rows[i].tier == sel->tier;
    }
    size_t first = at >= room ? at - room + 1 : 0;
    draw_list_head(c, a);
    for (size_t i = 0, k = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier != sel->tier) {
            continue;
        }
        if (k >= first && k - first < room) {
            draw_row(c, a, a.row + 1 + (int)(k - first), &s->rows[i], &s->rows[i] == sel);
        }
        k++;
    }
}

/* ---- the screen ---- */

static void draw_title(struct canvas *c, struct rect a, const struct snap_row *r)
{
    char calls[FORMAT_BYTES], mean[FORMAT_BYTES], slow[FORMAT_BYTES];
    int col = rows_title(c, a, r) + 2;
    if (!r->parts) {
        canvas_text(c, a.row, a.col + col, a.cols - col, STYLE_HEAD, "parts of the time");
        return;
    }
    format_count(r->parts->calls, calls);
    format_us(mean_of(r->parts), mean);
    format_us(r->parts->slow_from_us, slow);
    canvas_textf(c, a.row, a.col + col, a.cols - col, STYLE_HEAD,
                 a.cols < 60 ? "%s calls" : "%s calls recorded, mean %s, slowest 1 %% from %s",
                 calls, mean, slow);
}

/* Below these lines and an empty one. */
static void move_down(struct rect *a, int lines)
{
    int n = lines ? lines + 1 : 0;
    a->row += n;
    a->rows -= n;
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)own;
    const struct snap_row *r = rows_selected(&sh->rows, s);
    if (!r) {
        canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
                    "No row is selected: choose one in the table (Esc).");
        return;
    }
    struct rect rest = {.row = a.row + 1, .col = a.col, .cols = a.cols, .rows = a.rows - 1};
    draw_title(c, a, r);
    if (!r->parts) {
        move_down(&rest, mailbox_lines_draw(c, rest, r));
        say_why(c, rest, s);
        return;
    }
    move_down(&rest, draw_table(c, rest, r->parts));
    if (rest.rows > 0) {
        move_down(&rest, mailbox_lines_draw(c, rest, r));
    }
    if (rest.rows >= LIST_LEAST) {
        draw_list(c, rest, s, r);
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)own;
    (void)key;
    (void)out;
    return row_step_key(sh, act, s) != ROW_STEP_NO;
}

const struct screen_ops screen_parts = {
    .name = "parts",
    .key = 'B',
    .context = CTX_PARTS,
    .draw = draw,
    .on_key = on_key,
};
