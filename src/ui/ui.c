#include <kprof/base/clock.h>
#include <kprof/ui/format.h>
#include <kprof/ui/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ui *ui_new(const struct ui_opts *o)
{
    struct ui *u = calloc(1, sizeof *u);
    if (!u) {
        abort();
    }
    u->opts = *o;
    u->opts.target = NULL;
    snprintf(u->target, sizeof u->target, "%s", o->target ? o->target : "");
    u->screen = screen_main();
    catalog_filter_init(&u->pick.found);
    return u;
}

void ui_free(struct ui *u)
{
    if (!u) {
        return;
    }
    prompt_release(&u->prompt);
    pick_release(&u->pick);
    value_tree_free(u->argument_picker.got.set);
    folds_release(&u->table.folds[0]);
    folds_release(&u->table.folds[1]);
    free(u);
}

bool ui_is_paused(const struct ui *u)
{
    return u->paused;
}

void ui_message(struct ui *u, const char *text, bool is_error)
{
    snprintf(u->message, sizeof u->message, "%s", text);
    u->message_error = is_error;
}

/* --- keys --- */

static struct intent next_window(struct ui *u, const struct snapshot *s)
{
    if (!s) {
        return (struct intent){.kind = INTENT_NONE};
    }
    enum window now = u->window_asked ? u->window : s->window;
    u->window = (now + 1) % WINDOW_COUNT;
    u->window_asked = true;
    u->time_range.length_s = u->time_range.now_length_s = 0;
    return (struct intent){.kind = INTENT_WINDOW, .window = u->window};
}

static void ask_export(struct ui *u, const struct snapshot *s)
{
    char when[64] = "", name[128];
    if (!s) {
        ui_message(u, "nothing to export yet", true);
        return;
    }
    clock_format_wall(s->wall_ns, when, sizeof when); /* 2026-11-21T03:04:05.678Z */
    bool slow = u->screen == &screen_slow;
    snprintf(name, sizeof name, "kprof-top-%s%.10s-%.2s%.2s%.2s.txt", slow ? "slow-" : "", when,
             when + 11, when + 14, when + 17);
    dialog_prompt(u, slow ? PROMPT_SLOW_EXPORT : PROMPT_EXPORT, name);
}

static void open_screen(struct ui *u, const struct screen_ops *to, struct intent *out)
{
    if (to) {
        if (to == &screen_heat || to == &screen_dist) {
            out->kind = INTENT_LOOK;
        }
        u->screen = u->screen == to ? screen_main() : to;
        u->slow_focus = false;
    }
}

static bool back(struct ui *u)
{
    if (u->screen != screen_main()) {
        u->screen = screen_main();
    }
    return true;
}

/* Keys that mean the same on every screen that has them. */
static bool common_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                       struct intent *out)
{
    switch (act) {
    case ACT_QUIT:
        out->kind = INTENT_QUIT;
        return true;
    case ACT_TOGGLE:
        out->kind = INTENT_TOGGLE;
        return true;
    case ACT_ZERO:
        time_range_forget(u); /* seconds are counted anew */
        u->heat.end_s = 0;
        u->heat.has_cursor = false;
        out->kind = INTENT_ZERO;
        return true;
    case ACT_SAMPLE_UP:
        out->kind = INTENT_SAMPLE_UP;
        return true;
    case ACT_SAMPLE_DOWN:
        out->kind = INTENT_SAMPLE_DOWN;
        return true;
    case ACT_WINDOW:
        *out = next_window(u, s);
        return true;
    case ACT_PAUSE:
        u->paused = !u->paused && s;
        u->time_range.paused_s = s ? s->time.now_s : 0;
        return true;
    case ACT_THEME:
        u->theme = (u->theme + 1) % THEME_COUNT;
        snprintf(u->message, sizeof u->message, "colours: %s", theme_name(u->theme));
        u->message_error = false;
        return true;
    case ACT_MARK:
        out->kind = INTENT_MARK;
        return true;
    case ACT_SAVE:
        dialog_prompt(u, PROMPT_SAVE, u->profile);
        return true;
    case ACT_LOAD:
        u->asked_on = u->screen;
        out->kind = INTENT_PROFILES;
        return true;
    case ACT_EXPORT:
        ask_export(u, s);
        return true;
    case ACT_HELP:
        open_screen(u, screen_by_key('?'), out);
        return true;
    case ACT_SCREEN:
        open_screen(u, screen_by_key(key), out);
        return true;
    case ACT_BACK:
        return back(u);
    default:
        return time_range_on_key(u, act, s, out);
    }
}

/* Keys that change what is traced on a node, or keep it. */
static bool sets_node(enum action act)
{
    switch (act) {
    case ACT_ADD:
    case ACT_TYPE_TIER:
    case ACT_REMOVE:
    case ACT_ENTRY:
    case ACT_IDENTITY:
    case ACT_SAVE:
    case ACT_LOAD:
        return true;
    default:
        return false;
    }
}

struct intent ui_key(struct ui *u, int key, const struct snapshot *s)
{
    struct intent out = {.kind = INTENT_REDRAW};
    if (key == KEY_NONE_) {
        out.kind = INTENT_NONE;
        return out;
    }
    if (key == KEY_RESIZE_) {
        return out;
    }
    bool had_message = u->message[0] != 0;
    u->message[0] = 0;
    if (u->mode != MODE_SCREEN) {
        return dialog_key(u, key);
    }
    enum action act = keys_find(u->screen->context, key);
    if (s && s->node.replay && sets_node(act)) {
        ui_message(u, "not possible in a replay: there is no node", true);
        return out;
    }
    if (u->screen->on_key(u, key, act, s, &out) || common_key(u, key, act, s, &out)) {
        return out;
    }
    out.kind = had_message ? INTENT_REDRAW : INTENT_NONE;
    return out;
}

/* --- the picture --- */

static void draw_line(const struct ui *u, struct canvas *c, int row, const struct snapshot *s)
{
    if (u->message[0]) {
        canvas_text(c, row, 0, c->cols, u->message_error ? STYLE_BAD : STYLE_GOOD, u->message);
    } else if (s && s->n_log) {
        char when[FORMAT_BYTES];
        format_time(s->log[0].wall_ns, false, when);
        int col = canvas_text(c, row, 0, c->cols, STYLE_DIM, when) + 1;
        canvas_text(c, row, col, c->cols - col, STYLE_DIM, s->log[0].text);
    }
}

unsigned ui_bar_context(const struct ui *u)
{
    switch (u->mode) {
    case MODE_PROMPT:
        return u->prompt_use == PROMPT_TIER ? CTX_PROMPT : CTX_TYPING;
    case MODE_MENU:
        return CTX_MENU;
    case MODE_QUESTION:
        return CTX_ASK;
    case MODE_SCREEN:
        break;
    }
    return u->screen->context;
}

void ui_draw(struct ui *u, struct canvas *c, const struct snapshot *s)
{
    canvas_clear(c);
    u->cols = c->cols;
    if (c->rows < 1 || c->cols < 1) {
        return;
    }
    int bar = c->rows >= 4, line = c->rows >= 6;
    bool whole = u->screen->whole;
    int top = whole ? 0 : header_rows(s, c->rows);
    int under = bar + (whole ? 0 : line);
    struct rect area = {.row = top, .cols = c->cols, .rows = c->rows - top - under};
    if (!whole) {
        header_draw(u, c, top, s);
    }
    if (area.rows > 0) {
        u->screen->draw(u, c, area, s);
    }
    if (line && !whole) {
        draw_line(u, c, c->rows - 2, s);
    }
    u->bar_row = bar ? c->rows - 1 : -1;
    if (bar) {
        bar_draw(c, c->rows - 1, ui_bar_context(u), NULL);
    }
    int dialog_row = c->rows - 1 - bar;
    if (u->mode != MODE_SCREEN && dialog_row >= 0) {
        dialog_draw(u, c, dialog_row);
    }
}
