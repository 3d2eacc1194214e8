#include "internals_screen.h"
#include "internals.h"
#include "scroll.h"
#include "shared.h"

enum { LABEL_COLS = 16, VALUE_COLS = 10, MEANING_LEAST = 30 };

/* The meaning is beside the value if there is room; otherwise it is left out. */
static void draw_line(struct canvas *c, int row, struct rect a, const struct internal *k)
{
    if (!k->meaning) {
        canvas_text(c, row, a.col, a.cols, STYLE_KEY, k->label);
        return;
    }
    int value = a.col + LABEL_COLS;
    canvas_text(c, row, a.col + 2, LABEL_COLS - 3, STYLE_NORMAL, k->label);
    int used = canvas_text(c, row, value, a.col + a.cols - value, k->style, k->value);
    int meaning = value + (used > VALUE_COLS ? used : VALUE_COLS) + 2;
    if (a.col + a.cols - meaning >= MEANING_LEAST) {
        canvas_text(c, row, meaning, a.col + a.cols - meaning, STYLE_DIM, k->meaning);
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct scroll *at = own;
    struct internal list[INTERNALS_MAX];
    (void)sh;
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_text(c, a.row, a.col, a.cols, STYLE_HEAD,
                "INTERNALS: counts since the start or the last reset (z)");
    if (!s) {
        return;
    }
    size_t n = internals_list(s, list), lines = a.rows > 1 ? (size_t)a.rows - 1 : 0;
    size_t most = n > lines ? n - lines : 0;
    at->page = lines;
    at->sel = at->sel > most ? most : at->sel;
    for (size_t i = 0; i < lines && at->sel + i < n; i++) {
        draw_line(c, a.row + 1 + (int)i, a, &list[at->sel + i]);
    }
}

/* The page has no selection: sel is the line on top. */
static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct scroll *at = own;
    struct internal list[INTERNALS_MAX];
    size_t n = s ? internals_list(s, list) : 0, page = at->page, before = at->sel;
    (void)key;
    (void)out;
    if (!scroll_key(at, act, n > page ? n - page + 1 : 1)) {
        return false;
    }
    if (at->sel == before) {
        message_set(&sh->message, n <= page ? "all values are shown" : "no more lines", false);
    }
    return true;
}

const struct screen_ops screen_internals = {
    .name = "internals",
    .key = '#',
    .context = CTX_INTERNALS,
    .draw = draw,
    .on_key = on_key,
};
