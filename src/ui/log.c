#include "log.h"
#include "scroll.h"

#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <string.h>

enum { TIME_COLS = 10 };

/* Rows for the whole text of the selected message, below the list; 0: its line shows it all. */
static int whole_rows(const struct snapshot *s, size_t sel, int cols, int lines)
{
    if (cols <= TIME_COLS || sel >= s->n_log) {
        return 0;
    }
    const char *text = s->log[sel].text;
    int width = (int)text_width(text, strlen(text)), line = cols - TIME_COLS;
    int rows = 2 + width / cols + 1; /* a heading; words are not broken */
    int most = lines < 12 ? lines - 1 : lines / 2;
    return width <= line || lines < 4 ? 0 : rows < most ? rows : most;
}

static void draw_whole(struct canvas *c, struct rect a, int rows, const char *text)
{
    int row = a.row + a.rows - rows;
    canvas_fill(c, row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_text(c, row, a.col, a.cols, STYLE_HEAD, "THE SELECTED MESSAGE");
    canvas_wrap(c, row + 1, a.col, rows - 1, a.cols, STYLE_NORMAL, text);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct scroll *at = own;
    (void)sh;
    size_t n = s ? s->n_log : 0;
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "MESSAGES (%zu)", n);
    int lines = a.rows > 1 ? a.rows - 1 : 0;
    scroll_fit(at, n, (size_t)lines);
    int whole = n ? whole_rows(s, at->sel, a.cols, lines) : 0;
    lines -= whole;
    scroll_fit(at, n, (size_t)lines);
    if (whole) {
        draw_whole(c, a, whole, s->log[at->sel].text);
    }
    at->row = a.row + 1;
    if (n == 0) {
        canvas_wrap(c, a.row + 1, a.col, lines, a.cols, STYLE_DIM, "No messages.");
    }
    for (int i = 0; i < lines && at->top + (size_t)i < n; i++) {
        size_t nth = at->top + (size_t)i;
        char when[FORMAT_BYTES];
        format_time(s->log[nth].wall_ns, false, when);
        canvas_text(c, a.row + 1 + i, a.col, 8, STYLE_DIM, when);
        canvas_text(c, a.row + 1 + i, a.col + TIME_COLS, a.cols - TIME_COLS, STYLE_NORMAL,
                    s->log[nth].text);
        if (nth == at->sel) {
            canvas_style(c, a.row + 1 + i, a.col, a.cols, STYLE_SELECT);
        }
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct scroll *at = own;
    (void)sh;
    (void)key;
    (void)out;
    return s && s->n_log && scroll_key(at, act, s->n_log);
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return own;
}

const struct screen_ops screen_log = {
    .name = "messages",
    .key = 'M',
    .context = CTX_LOG,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
