#include "bar.h"
#include "dialog_answer.h"
#include "header.h"
#include "screens.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/ui/ui.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ui *ui_new(const char *target)
{
    struct ui *u = calloc(1, sizeof *u);
    if (!u) {
        abort();
    }
    snprintf(u->shared.target, sizeof u->shared.target, "%s", target ? target : "");
    u->screen = SCREEN_MAIN;
    pick_list_init(&u->pick);
    return u;
}

void ui_free(struct ui *u)
{
    if (!u) {
        return;
    }
    dialog_release(&u->shared.dialog);
    rows_release(&u->shared.rows);
    pick_list_release(&u->pick);
    argument_picker_release(&u->argument_picker);
    free(u);
}

bool ui_is_paused(const struct ui *u)
{
    return u->shared.time_range.paused;
}

/* --- keys --- */

static void ask_export(struct ui *u, const struct snapshot *s)
{
    char when[64] = "", name[128];
    if (!s) {
        message_set(&u->shared.message, "nothing to export yet", true);
        return;
    }
    clock_format_wall(s->wall_ns, when, sizeof when); /* 2026-11-21T03:04:05.678Z */
    bool slow = u->screen == SCREEN_SLOW, heat = u->screen == SCREEN_HEAT;
    snprintf(name, sizeof name, "kprof-top-%s%.10s-%.2s%.2s%.2s.txt",
             slow   ? "slow-"
             : heat ? "heat-"
                    : "",
             when, when + 11, when + 14, when + 17);
    dialog_propose(&u->shared.dialog,
                   slow   ? PROMPT_SLOW_EXPORT
                   : heat ? PROMPT_HEAT_EXPORT
                          : PROMPT_EXPORT,
                   name);
}

static void show(struct ui *u, const struct screen_request *r, struct intent *out)
{
    const struct screen_ops *ops = screens_ops(r->to);
    u->screen = r->to;
    if (ops->open) {
        ops->open(screens_own(u, r->to), r, out);
    }
}

/* Opens a screen by its key; the same key closes it. */
static void open_by_key(struct ui *u, int key, struct intent *out)
{
    struct screen_request r = {.to = screens_by_key(key)};
    if (r.to == SCREEN_NONE) {
        return;
    }
    if (screens_ops(r.to)->on_request) {
        out->kind = INTENT_VIEW_QUERY;
    }
    u->shared.slow.pane_focus = false;
    r.to = u->screen == r.to ? SCREEN_MAIN : r.to;
    show(u, &r, out);
}

static void say_theme(struct ui *u)
{
    char text[40];
    snprintf(text, sizeof text, "colors: %s", theme_name(u->theme));
    message_set(&u->shared.message, text, false);
}

/* Keys with the same meaning on every screen that has them. */
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
        dialog_question(&u->shared.dialog, "Reset all statistics, slow requests and the history?",
                        &(struct intent){.kind = INTENT_ZERO});
        return true;
    case ACT_SAMPLE_UP:
        out->kind = INTENT_SAMPLE_UP;
        return true;
    case ACT_SAMPLE_DOWN:
        out->kind = INTENT_SAMPLE_DOWN;
        return true;
    case ACT_THEME:
        u->theme = (u->theme + 1) % THEME_COUNT;
        say_theme(u);
        return true;
    case ACT_MARK:
        out->kind = INTENT_MARK;
        return true;
    case ACT_SAVE:
        dialog_prompt(&u->shared.dialog, PROMPT_SAVE, u->profile);
        return true;
    case ACT_LOAD:
        out->kind = INTENT_PROFILES;
        return true;
    case ACT_EXPORT:
        ask_export(u, s);
        return true;
    case ACT_NOW: /* for all screens, because a heat map would otherwise stay at the earlier time */
        if (heat_to_now(&u->heat)) {
            out->kind = INTENT_VIEW_QUERY;
        }
        return time_range_key(&u->shared.time_range, &u->shared.dialog, &u->shared.message, act, s,
                              out);
    case ACT_HELP:
        open_by_key(u, '?', out);
        return true;
    case ACT_SCREEN:
        open_by_key(u, key, out);
        return true;
    case ACT_BACK:
        u->screen = SCREEN_MAIN;
        return true;
    default:
        return time_range_key(&u->shared.time_range, &u->shared.dialog, &u->shared.message, act, s,
                              out);
    }
}

/* Keys that change the trace configuration of a node, or save it. */
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

static struct intent screen_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                                bool had_message)
{
    struct screen_reply r = {.intent.kind = INTENT_REDRAW};
    const struct screen_ops *ops = screens_ops(u->screen);
    enum screen_id on = u->screen;
    bool taken = ops->on_key(screens_own(u, on), &u->shared, key, act, s, &r);
    if (!taken && !common_key(u, key, act, s, &r.intent)) {
        r.intent.kind = had_message ? INTENT_REDRAW : INTENT_NONE;
    }
    if (r.open.to != SCREEN_NONE) {
        show(u, &r.open, &r.intent);
    }
    if (r.intent.kind == INTENT_PRESETS || r.intent.kind == INTENT_PROFILES) {
        u->asked_on = on; /* the answer of app is a menu, for this screen */
    }
    return r.intent;
}

/* Pasted text is never a key: it is text for an input line, otherwise it is ignored. */
static struct intent paste(struct ui *u, int cp)
{
    const struct screen_ops *ops = screens_ops(u->screen);
    if (u->shared.dialog.mode == DIALOG_PROMPT) {
        return dialog_answer_paste(u, cp);
    }
    if (u->shared.dialog.mode != DIALOG_NONE || !ops->on_paste ||
        !ops->on_paste(screens_own(u, u->screen), cp)) {
        message_set(&u->shared.message, "pasted text is ignored here", true);
    }
    return (struct intent){.kind = INTENT_REDRAW};
}

struct intent ui_key(struct ui *u, int key, const struct snapshot *s)
{
    struct ui_shared *sh = &u->shared;
    if (key & KEY_PASTED_) {
        return paste(u, key & ~KEY_PASTED_);
    }
    if (key == KEY_NONE_) {
        return (struct intent){.kind = INTENT_NONE};
    }
    if (key == KEY_RESIZE_) {
        return (struct intent){.kind = INTENT_REDRAW};
    }
    bool had_message = sh->message.text[0] != 0;
    sh->message.text[0] = 0;
    if (sh->dialog.mode != DIALOG_NONE) {
        return dialog_answer_key(u, key);
    }
    enum action act = keys_find(screens_ops(u->screen)->context, key);
    if (s && s->node.replay && sets_node(act)) {
        message_set(&sh->message, "not possible in a replay: there is no node", true);
        return (struct intent){.kind = INTENT_REDRAW};
    }
    return screen_key(u, key, act, s, had_message);
}

/* --- drawing --- */

static void draw_line(const struct ui *u, struct canvas *c, int row, const struct snapshot *s)
{
    if (!message_draw(&u->shared.message, c, row) && s && s->n_log) {
        char when[FORMAT_BYTES];
        format_time(s->log[0].wall_ns, false, when);
        int col = canvas_text(c, row, 0, c->cols, STYLE_DIM, when) + 1;
        canvas_text(c, row, col, c->cols - col, STYLE_DIM, s->log[0].text);
    }
}

void ui_draw(struct ui *u, struct canvas *c, const struct snapshot *s)
{
    canvas_clear(c);
    u->shared.cols = c->cols;
    if (c->rows < 1 || c->cols < 1) {
        return;
    }
    int bar = c->rows >= 4, line = c->rows >= 6;
    const struct screen_ops *ops = screens_ops(u->screen);
    bool whole = ops->whole;
    int top = whole ? 0 : header_rows(s, c->rows);
    int under = bar + (whole ? 0 : line);
    struct rect area = {.row = top, .cols = c->cols, .rows = c->rows - top - under};
    if (!whole) {
        header_draw(&u->shared, c, top, s);
    }
    if (area.rows > 0) {
        ops->draw(screens_own(u, u->screen), &u->shared, c, area, s);
    }
    if (line && !whole) {
        draw_line(u, c, c->rows - 2, s);
    }
    u->bar_row = bar ? c->rows - 1 : -1;
    if (bar) {
        bar_draw(c, c->rows - 1, screens_bar_context(u), NULL);
    }
    int dialog_row = c->rows - 1 - bar;
    if (dialog_row >= 0) {
        dialog_draw(&u->shared.dialog, c, dialog_row);
    }
}
