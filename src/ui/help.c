#include "help.h"
#include "columns.h"
#include "scroll.h"

#include <string.h>

/* The page is made line by line; only the lines in sight are drawn. */
struct page {
    struct canvas *c; /* NULL: only count */
    struct rect area;
    size_t top, line;
};

static void put(struct page *p, enum style st, const char *left, const char *right)
{
    if (p->c && p->line >= p->top && p->line - p->top < (size_t)p->area.rows) {
        int row = p->area.row + (int)(p->line - p->top), col = p->area.col;
        if (!right) {
            canvas_text(p->c, row, col, p->area.cols, st, left);
        } else {
            canvas_text(p->c, row, col + 2, 8, STYLE_KEY, left);
            canvas_text(p->c, row, col + 11, p->area.cols - 11, st, right);
        }
    }
    p->line++;
}

static void put_keys(struct page *p)
{
    size_t n, n_groups;
    const struct key_def *k = keys_all(&n);
    const char *const *groups = keys_groups(&n_groups);
    for (size_t g = 0; g < n_groups; g++) {
        put(p, STYLE_BOLD, groups[g], NULL);
        for (size_t i = 0; i < n; i++) {
            if (k[i].help && strcmp(k[i].group, groups[g]) == 0) {
                put(p, STYLE_NORMAL, k[i].shown, k[i].help);
            }
        }
        put(p, STYLE_NORMAL, "", NULL);
    }
}

static void put_columns(struct page *p)
{
    put(p, STYLE_BOLD, "Columns (columns that do not fit are hidden, except the sort column)",
        NULL);
    for (size_t i = 0; i < columns_n(); i++) {
        put(p, STYLE_NORMAL, column_at(i)->title, column_at(i)->help);
    }
    put(p, STYLE_NORMAL, "", NULL);
}

static void put_words(struct page *p)
{
    static const char *const words[][2] = {
        {"tier", "a function whose calls are timed: one layer of the system"},
        {"entry", "the tier that starts a request"},
        {"request", "everything from a call of the entry to its return, in any process"},
        {"identity", "the name of the kind of request, e.g. create or GET /users"},
        {"_total", "whole requests, from entry call to entry return"},
        {"sample", "1/N: one request in N is traced, as a whole"},
        {"breaker", "stops tracing when it costs the node too much"},
        {"!", "this slow call ended in an exception"},
        {"lost", "events that were dropped; should be 0"},
        {"~, grey", "value of only the traced part of the window"},
        {"bold", "the slowest tier and the slowest identity of a column"},
    };
    put(p, STYLE_BOLD, "Words", NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        put(p, STYLE_NORMAL, words[i][0], words[i][1]);
    }
}

static size_t make(struct page *p)
{
    put(p, STYLE_BOLD, "kprof-top: how long each layer takes, for each kind of request", NULL);
    put(p, STYLE_NORMAL, "", NULL);
    put_keys(p);
    put_columns(p);
    put_words(p);
    return p->line;
}

static size_t count_lines(void)
{
    struct page p = {.c = NULL};
    return make(&p);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct scroll *at = own;
    (void)sh;
    (void)s;
    size_t n = count_lines(), most = n > (size_t)a.rows ? n - (size_t)a.rows : 0;
    at->page = (size_t)a.rows;
    at->sel = at->sel > most ? most : at->sel;
    struct page p = {.c = c, .area = a, .top = at->sel};
    make(&p);
}

/* The page has no selection: sel is the line on top. */
static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct scroll *at = own;
    (void)sh;
    (void)key;
    (void)s;
    (void)out;
    size_t n = count_lines(), page = at->page;
    return scroll_key(at, act, n > page ? n - page + 1 : 1);
}

const struct screen_ops screen_help = {
    .name = "help",
    .key = '?',
    .context = CTX_HELP,
    .whole = true,
    .draw = draw,
    .on_key = on_key,
};
