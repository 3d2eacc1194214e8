
#include "pick_draw.h"

#include <kprof/base/format.h>
#include <kprof/base/fuzzy.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <string.h>

enum { RATE_COLS = 9, APP_COLS = 14, LOCAL_COLS = 5, TICK_COLS = 4 };

struct columns_at {
    int name, local, app, rate; /* where they begin; -1: not shown */
    int name_cols;
};

static struct columns_at columns_of(int cols)
{
    struct columns_at at = {.name = TICK_COLS, .local = -1, .app = -1, .rate = -1};
    int end = cols;
    if (cols >= 30) {
        at.rate = end -= RATE_COLS;
    }
    if (cols >= 64) {
        at.app = end -= APP_COLS + 1;
    }
    if (cols >= 44) {
        at.local = end -= LOCAL_COLS + 1;
    }
    at.name_cols = end - at.name - 1;
    return at;
}

/* The end of a name is more important than its start: a long name is cut at the front. */
static size_t first_shown(const char *s, int cols)
{
    size_t from = 0, n = strlen(s);
    uint32_t cp;
    if ((int)text_width(s, n) <= cols) {
        return 0;
    }
    while (from < n && (int)text_width(s + from, n - from) > cols - 2) {
        from += text_next(s + from, n - from, &cp);
    }
    return from;
}

static void draw_name(struct canvas *c, int row, int col, int cols, enum style st, const char *s,
                      const bool *hit)
{
    size_t from = first_shown(s, cols);
    if (from) {
        col += canvas_text(c, row, col, 2, STYLE_DIM, "..");
        cols -= 2;
    }
    canvas_text(c, row, col, cols, st, s + from);
    for (size_t i = from; hit && s[i]; i++) {
        int at = (int)text_width(s + from, i - from);
        if (hit[i] && at < cols) {
            canvas_style(c, row, col + at, 1, STYLE_KEY);
        }
    }
}

static void draw_rate(struct canvas *c, int row, int col, float per_s)
{
    char text[FORMAT_BYTES] = "-";
    if (per_s >= 0) {
        format_rate((double)per_s, text);
    }
    if (per_s >= 0 || per_s == CATALOG_UNCOUNTED) {
        canvas_right(c, row, col, RATE_COLS, STYLE_NORMAL, text);
    }
}

static void draw_function(const struct pick_list *p, struct canvas *c, int row,
                          const struct columns_at *at, uint32_t id, const struct fuzzy *q)
{
    char text[CATALOG_TEXT_BYTES];
    bool hit[CATALOG_TEXT_BYTES] = {false};
    size_t n = catalog_text(p->catalog, id, text);
    fuzzy_marks(q, text, n, hit);
    bool platform = catalog_is_platform(p->catalog, id);
    canvas_text(c, row, 0, TICK_COLS, STYLE_GOOD, pick_list_is_ticked(p, text) ? "[x]" : "[ ]");
    draw_name(c, row, at->name, at->name_cols, platform ? STYLE_DIM : STYLE_NORMAL, text, hit);
    if (at->local >= 0 && catalog_is_local(p->catalog, id)) {
        canvas_text(c, row, at->local, LOCAL_COLS, STYLE_DIM, "local");
    }
    if (at->app >= 0) {
        canvas_text(c, row, at->app, APP_COLS, STYLE_DIM, catalog_app(p->catalog, id));
    }
    if (at->rate >= 0) {
        draw_rate(c, row, at->rate, catalog_rate(p->catalog, id));
    }
}

static void draw_head(const struct pick_list *p, struct canvas *c, int row)
{
    char counts[64];
    uint32_t all = p->catalog ? catalog_count(p->catalog) : 0;
    canvas_fill(c, row, 0, c->cols, STYLE_HEAD, ' ');
    int col = canvas_text(c, row, 0, c->cols, STYLE_HEAD,
                          p->called_by ? "ADD TIERS: called by " : "ADD TIERS");
    canvas_text(c, row, col, c->cols - col, STYLE_HEAD, p->called_by ? p->name : "");
    snprintf(counts, sizeof counts, "%zu/%u", catalog_filter_count(&p->found), all);
    canvas_right(c, row, 12, c->cols - 12, STYLE_HEAD, counts);
}

/* Ticked names stay at the top, whatever is typed. -> rows used */
static int draw_ticks(const struct pick_list *p, struct canvas *c, int row, int rows)
{
    int most = rows / 3, used = 0;
    for (size_t i = 0; i < p->ticks && used < most; i++, used++) {
        bool more = used + 1 == most && i + 1 < p->ticks;
        if (more) {
            canvas_textf(c, row + used, 0, c->cols, STYLE_GOOD, "[x] ... %zu more", p->ticks - i);
        } else {
            canvas_text(c, row + used, 0, TICK_COLS, STYLE_GOOD, "[x]");
            draw_name(c, row + used, TICK_COLS, c->cols - TICK_COLS, STYLE_GOOD, p->tick[i], NULL);
        }
    }
    return used;
}

static void draw_titles(const struct pick_list *p, struct canvas *c, int row,
                        const struct columns_at *at)
{
    canvas_fill(c, row, 0, c->cols, STYLE_HEAD, ' ');
    canvas_text(c, row, at->name, at->name_cols, STYLE_HEAD, "FUNCTION");
    if (at->app >= 0) {
        canvas_text(c, row, at->app, APP_COLS, STYLE_HEAD, "APPLICATION");
    }
    if (at->rate >= 0) {
        canvas_right(c, row, at->rate, RATE_COLS, p->by_calls ? STYLE_SELECT : STYLE_HEAD,
                     p->by_calls ? (c->ascii ? "CALLS/S>" : "CALLS/S\xe2\x96\xbc") : "CALLS/S");
    }
}

static void draw_status(const struct pick_list *p, struct canvas *c, int row)
{
    if (!p->catalog) {
        canvas_text(c, row, 0, c->cols, STYLE_DIM, "no functions yet");
        return;
    }
    const struct catalog_status *st = catalog_status(p->catalog);
    if (st->state == CATALOG_LOADING) {
        if (st->note[0]) {
            canvas_textf(c, row, 0, c->cols, STYLE_WARN, "%s; Esc stops", st->note);
        } else {
            canvas_textf(c, row, 0, c->cols, STYLE_WARN, "loading %u of %u modules; Esc stops",
                         st->modules_done, st->modules);
        }
    } else if (st->state == CATALOG_WHOLE && st->note[0]) {
        canvas_textf(c, row, 0, c->cols, STYLE_DIM, "%s: %u", st->note, catalog_count(p->catalog));
    } else if (st->state == CATALOG_WHOLE && pick_list_count(p) == 0) {
        canvas_text(c, row, 0, c->cols, STYLE_WARN,
                    "no match; type module:function/arity to add a function that is not listed");
    } else if (st->state == CATALOG_WHOLE) {
        int col = canvas_textf(c, row, 0, c->cols, STYLE_DIM, "%u functions of %u modules",
                               catalog_count(p->catalog), st->modules);
        if (catalog_left_out(p->catalog)) {
            canvas_textf(c, row, col, c->cols - col, STYLE_WARN,
                         "; %u more are not listed: the list is full",
                         catalog_left_out(p->catalog));
        }
    } else {
        canvas_text(c, row, 0, c->cols, STYLE_WARN, st->note);
    }
}

static void draw_list(struct pick_list *p, struct canvas *c, int row, int rows)
{
    struct columns_at at = columns_of(c->cols);
    size_t typed = pick_list_typed(p), n = pick_list_count(p);
    struct fuzzy q;
    fuzzy_set(&q, p->query.text);
    scroll_fit(&p->at, n, (size_t)rows);
    p->at.row = row;
    for (int i = 0; i < rows && p->at.top + (size_t)i < n; i++) {
        size_t line = p->at.top + (size_t)i;
        if (line < typed) {
            char word[CATALOG_TEXT_BYTES];
            const char *text = pick_list_line(p, line, word);
            const char *mark = pick_list_is_ticked(p, text) ? "[x]" : "[ ]";
            canvas_text(c, row + i, 0, TICK_COLS, STYLE_GOOD, mark);
            int col =
                at.name + canvas_text(c, row + i, at.name, at.name_cols, STYLE_DIM, "as typed: ");
            canvas_text(c, row + i, col, c->cols - col, STYLE_NORMAL, text);
        } else {
            draw_function(p, c, row + i, &at, catalog_filter_at(&p->found, line - typed), &q);
        }
        if (line == p->at.sel) {
            canvas_style(c, row + i, 0, c->cols, STYLE_SELECT);
        }
    }
}

void pick_draw(struct pick_list *p, struct canvas *c, struct rect a)
{
    struct columns_at at = columns_of(c->cols);
    int row = a.row, end = a.row + a.rows;
    if (a.rows >= 5) {
        draw_head(p, c, row++);
    }
    int query_row = row++;
    if (a.rows >= 4) {
        draw_status(p, c, --end);
    }
    if (a.rows >= 8) {
        row += draw_ticks(p, c, row, end - row);
        draw_titles(p, c, row++, &at);
    }
    draw_list(p, c, row, end > row ? end - row : 0);
    prompt_draw(&p->query, c, query_row);
}
