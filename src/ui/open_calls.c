#include "open_calls.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

static void find_selection(struct open_calls_state *t, const struct snapshot *s)
{
    for (size_t i = 0; t->pid && i < s->n_open; i++) {
        if (s->open[i].pid == t->pid && s->open[i].start_ns == t->start_ns) {
            t->at.sel = i;
            return;
        }
    }
    t->pid = 0; /* it has ended */
    t->at.sel = t->at.sel < s->n_open ? t->at.sel : 0;
}

static void select_call(struct open_calls_state *t, const struct snap_open *o)
{
    t->pid = o ? o->pid : 0;
    t->start_ns = o ? o->start_ns : 0;
}

static void draw_open(struct canvas *c, int row, struct rect a, const struct snap_open *o)
{
    char text[FORMAT_BYTES];
    int name = a.cols < 48 ? 8 : a.cols < 60 ? 12 : 20;
    format_us(o->age_us, text);
    canvas_right(c, row, a.col, 8, o->age_us >= 1e7 ? STYLE_BAD : STYLE_WARN, text);
    canvas_name(c, row, a.col + 9, name, STYLE_BOLD, o->tier_name);
    canvas_name(c, row, a.col + 10 + name, name, STYLE_NORMAL, snapshot_name(o->ident));
    snapshot_pid(o->pid, text);
    int col = a.col + 11 + 2 * name;
    col += canvas_text(c, row, col, a.col + a.cols - col, STYLE_NORMAL, text) + 1;
    if (o->who && col < a.col + a.cols) {
        col += canvas_text(c, row, col, a.col + a.cols - col, STYLE_NORMAL, o->who) + 1;
    }
    if (o->place.text && col + 10 < a.col + a.cols) {
        canvas_textf(c, row, col, a.col + a.cols - col, STYLE_WARN, "%s %.0f%%: %s",
                     o->place.status, o->place.share * 100, o->place.text);
    }
}

static void draw_stack(const struct open_calls_state *t, struct canvas *c, struct rect a)
{
    char pid[FORMAT_BYTES];
    const char *line = t->lines;
    snapshot_pid(t->stack, pid);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "%s %s", pid,
                 t->asked  ? "asking ..."
                 : t->dead ? "is dead"
                           : "stack, innermost function first; Enter refreshes");
    for (int i = 1; i < a.rows && *line; i++) {
        char one[256];
        int n = (int)strcspn(line, "\n");
        snprintf(one, sizeof one, "%.*s", n, line);
        canvas_text(c, a.row + i, a.col + 2, a.cols - 2, STYLE_NORMAL, one);
        line += n + (line[n] == '\n');
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)sh;
    struct open_calls_state *t = own;
    size_t n = s ? s->n_open : 0;
    struct rect list = a, stack = a;
    stack.rows = t->stack && a.rows >= 6 ? a.rows / 2 : 0;
    list.rows -= stack.rows;
    stack.row += list.rows;
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "OPEN FOR  TIER, IDENTITY, PROCESS (%zu%s)",
                 n, n == SNAP_OPEN ? ", the oldest" : "");
    if (n == 0 && a.rows > 1) {
        canvas_text(c, a.row + 1, a.col, a.cols, STYLE_DIM, "No call is open.");
    } else if (n > 0) {
        find_selection(t, s);
        int lines = list.rows > 1 ? list.rows - 1 : 0;
        scroll_fit(&t->at, n, (size_t)lines);
        t->at.row = list.row + 1;
        for (int i = 0; i < lines && t->at.top + (size_t)i < n; i++) {
            size_t at = t->at.top + (size_t)i;
            draw_open(c, list.row + 1 + i, list, &s->open[at]);
            if (at == t->at.sel) {
                canvas_style(c, list.row + 1 + i, list.col, list.cols, STYLE_SELECT);
            }
        }
    }
    if (stack.rows) {
        draw_stack(t, c, stack);
    }
}

static void flame_of(uint64_t pid, struct screen_reply *out)
{
    out->intent.kind = INTENT_SAMPLING;
    snapshot_pid(pid, out->intent.text);
    out->open.to = SCREEN_FLAME;
}

/* Offers a full trace of the process of an open call, or of the next request of its identity. */
static void full_of(const struct snapshot *s, const struct snap_open *o, struct screen_reply *out)
{
    out->full = full_offer_request(s, o->ident, 0);
    out->full.pid = o->pid;
    out->full.process_first = true;
    out->open = (struct screen_request){.to = SCREEN_FULL_ASK, .full = &out->full};
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)key;
    struct open_calls_state *t = own;
    bool selects = act == ACT_UP || act == ACT_DOWN || act == ACT_PGUP || act == ACT_PGDN ||
                   act == ACT_HOME || act == ACT_END || act == ACT_OPEN || act == ACT_FLAME_OF ||
                   act == ACT_FULL;
    if (!s || !s->n_open) {
        if (selects) {
            message_set(&sh->message, "no call is open", true);
        }
        return selects;
    }
    find_selection(t, s);
    if (act == ACT_FLAME_OF) {
        flame_of(s->open[t->at.sel].pid, out);
        return true;
    }
    if (act == ACT_FULL) {
        full_of(s, &s->open[t->at.sel], out);
        return true;
    }
    if (act == ACT_OPEN) {
        t->stack = s->open[t->at.sel].pid;
        select_call(t, &s->open[t->at.sel]);
        t->asked = true;
        t->lines[0] = 0;
        out->intent = (struct intent){.kind = INTENT_STACK, .pid = t->stack};
        return true;
    }
    if (!scroll_key(&t->at, act, s->n_open)) {
        return false;
    }
    select_call(t, t->at.sel == 0 ? NULL : &s->open[t->at.sel]);
    return true;
}

void open_calls_set_stack(struct open_calls_state *t, uint64_t pid, const char *lines, bool dead)
{
    if (pid != t->stack) {
        return; /* an answer to an earlier request */
    }
    t->asked = false;
    t->dead = dead;
    snprintf(t->lines, sizeof t->lines, "%s", lines);
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return &((struct open_calls_state *)own)->at;
}

/* With the call of a process selected. */
static void open_with(void *own, const struct screen_request *r, struct intent *out)
{
    struct open_calls_state *t = own;
    (void)out;
    if (r->pid) {
        t->pid = r->pid;
        t->start_ns = r->start_ns;
    }
}

const struct screen_ops screen_open_calls = {
    .name = "open",
    .key = 'O',
    .context = CTX_OPEN,
    .open = open_with,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
