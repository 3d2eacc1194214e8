#include "log.h"
#include "scroll.h"

#include <kprof/base/format.h>

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
    at->row = a.row + 1;
    if (n == 0) {
        canvas_wrap(c, a.row + 1, a.col, lines, a.cols, STYLE_DIM, "No messages.");
    }
    for (int i = 0; i < lines && at->top + (size_t)i < n; i++) {
        size_t nth = at->top + (size_t)i;
        char when[FORMAT_BYTES];
        format_time(s->log[nth].wall_ns, false, when);
        canvas_text(c, a.row + 1 + i, a.col, 8, STYLE_DIM, when);
        canvas_text(c, a.row + 1 + i, a.col + 10, a.cols - 10, STYLE_NORMAL, s->log[nth].text);
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
