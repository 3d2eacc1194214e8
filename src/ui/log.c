#include <kprof/ui/format.h>
#include <kprof/ui/state.h>

static void draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s)
{
    size_t n = s ? s->n_log : 0;
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "MESSAGES (%zu)", n);
    int lines = a.rows > 1 ? a.rows - 1 : 0;
    scroll_fit(&u->log, n, (size_t)lines);
    u->log.row = a.row + 1;
    if (n == 0) {
        canvas_wrap(c, a.row + 1, a.col, lines, a.cols, STYLE_DIM, "No messages.");
    }
    for (int i = 0; i < lines && u->log.top + (size_t)i < n; i++) {
        size_t at = u->log.top + (size_t)i;
        char when[FORMAT_BYTES];
        format_time(s->log[at].wall_ns, false, when);
        canvas_text(c, a.row + 1 + i, a.col, 8, STYLE_DIM, when);
        canvas_text(c, a.row + 1 + i, a.col + 10, a.cols - 10, STYLE_NORMAL, s->log[at].text);
        if (at == u->log.sel) {
            canvas_style(c, a.row + 1 + i, a.col, a.cols, STYLE_SELECT);
        }
    }
}

static bool on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                   struct intent *out)
{
    (void)key;
    (void)out;
    return scroll_key(&u->log, act, s ? s->n_log : 0);
}

static struct scroll *list(struct ui *u)
{
    return &u->log;
}

const struct screen_ops screen_log = {
    .name = "messages",
    .key = 'M',
    .context = CTX_LOG,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
