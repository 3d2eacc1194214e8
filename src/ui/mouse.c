#include "bar.h"
#include "bar_keys.h"
#include "screens.h"
#include "state.h"

#include <kprof/ui/ui.h>

enum { WHEEL_LINES = 3 };

static struct intent key_times(struct ui *u, int key, int n, const struct snapshot *s)
{
    struct intent in = {.kind = INTENT_NONE};
    for (int i = 0; i < n; i++) {
        in = ui_key(u, key, s);
    }
    return in;
}

static struct scroll *list_of(struct ui *u)
{
    struct dialog *d = &u->shared.dialog;
    const struct screen_ops *ops = screens_ops(u->screen);
    if (d->mode == DIALOG_MENU) {
        return &d->menu.at;
    }
    return d->mode == DIALOG_NONE && ops->list ? ops->list(screens_own(u, u->screen), &u->shared)
                                               : NULL;
}

/* Uses the key actions, so that their side effects on the screen happen, too. */
static void go_to(struct ui *u, struct scroll *l, size_t line, const struct snapshot *s)
{
    for (size_t before = SIZE_MAX; l->sel != line && l->sel != before;) {
        before = l->sel;
        ui_key(u, line > l->sel ? KEY_DOWN_ : KEY_UP_, s);
    }
}

static struct intent click(struct ui *u, const struct mouse *m, const struct snapshot *s)
{
    struct intent redraw = {.kind = INTENT_REDRAW};
    const struct screen_ops *ops = screens_ops(u->screen);
    enum dialog_mode mode = u->shared.dialog.mode;
    if (m->row == u->bar_row) {
        struct bar keys = bar_keys(u, s);
        int key = bar_key_at(u->shared.cols, &keys, m->col);
        return key ? ui_key(u, key, s) : redraw;
    }
    if (mode == DIALOG_QUESTION || mode == DIALOG_PROMPT) {
        return redraw; /* an open prompt or question stays */
    }
    if (mode == DIALOG_NONE && ops->on_click &&
        ops->on_click(screens_own(u, u->screen), &u->shared, m->row, m->col, s)) {
        return m->kind == MOUSE_DOUBLE && ops->list == NULL ? ui_key(u, '\n', s) : redraw;
    }
    struct scroll *l = list_of(u);
    size_t line = l ? scroll_line_at(l, m->row) : SIZE_MAX;
    if (line == SIZE_MAX) {
        return redraw;
    }
    go_to(u, l, line, s);
    return m->kind == MOUSE_DOUBLE && l->sel == line ? ui_key(u, '\n', s) : redraw;
}

struct intent ui_mouse(struct ui *u, const struct mouse *m, const struct snapshot *s)
{
    switch (m->kind) {
    case MOUSE_WHEEL_UP:
        return key_times(u, KEY_UP_, WHEEL_LINES, s);
    case MOUSE_WHEEL_DOWN:
        return key_times(u, KEY_DOWN_, WHEEL_LINES, s);
    case MOUSE_CLICK:
    case MOUSE_DOUBLE:
        break;
    }
    return click(u, m, s);
}
