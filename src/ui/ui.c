#include "bar.h"
#include "bar_keys.h"
#include "dialog_answer.h"
#include "flame_graphs.h"
#include "full_state.h"
#include "header.h"
#include "no_effect.h"
#include "screens.h"
#include "state.h"
#include "trigger_menu.h"

#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/ui/ui.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_FIRST_NS UINT64_C(5000000000)

struct ui *ui_new(const char *target)
{
    struct ui *u = calloc(1, sizeof *u);
    if (!u) {
        abort();
    }
    snprintf(u->shared.target, sizeof u->shared.target, "%s", target ? target : "");
    u->screen = u->home = SCREEN_MAIN;
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
    flame_graphs_release(&u->flame);
    process_screen_release(&u->processes);
    waterfall_screen_release(&u->waterfall);
    full_state_release(&u->full);
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
    if (!s || (u->screen == SCREEN_PROCESSES && !ui_processes(u, NULL))) {
        message_set(&u->shared.message, "nothing to export yet", true);
        return;
    }
    clock_format_wall(s->wall_ns, when, sizeof when); /* 2026-11-21T03:04:05.678Z */
    const char *what = "";
    enum prompt_use use = PROMPT_EXPORT;
    if (u->screen == SCREEN_SLOW) {
        what = "slow-";
        use = PROMPT_SLOW_EXPORT;
    } else if (u->screen == SCREEN_HEAT) {
        what = "heat-";
        use = PROMPT_HEAT_EXPORT;
    } else if (u->screen == SCREEN_PROCESSES) {
        what = "processes-";
        use = PROMPT_PROCESS_EXPORT;
    }
    snprintf(name, sizeof name, "kprof-top-%s%.10s-%.2s%.2s%.2s.txt", what, when, when + 11,
             when + 14, when + 17);
    dialog_propose(&u->shared.dialog, use, name);
}

static bool is_full(enum screen_id id)
{
    return id >= SCREEN_FULL_ASK && id <= SCREEN_FULL_LINE;
}

static void show(struct ui *u, const struct screen_request *asked, struct intent *out)
{
    struct screen_request own = *asked, *r = &own;
    const struct screen_ops *ops = screens_ops(r->to);
    r->name = r->to == SCREEN_FULL_ASK ? u->shared.rule.line : r->name;
    if (r->to == SCREEN_FLAME && u->screen != SCREEN_FLAME && u->screen != SCREEN_SUBSECOND) {
        u->flame_from = u->screen;
    }
    u->of_finding = u->screen == SCREEN_FINDINGS;
    if (is_full(r->to) && !is_full(u->screen)) {
        u->full_from = u->screen;
    }
    u->calls_from = r->to == SCREEN_OPEN_CALLS && r->pid ? u->screen : SCREEN_NONE;
    u->screen = r->to;
    if (ops->open) {
        ops->open(screens_own(u, r->to), r, out);
    }
}

/* Help, the flame graph, a full trace and the open calls of a process go back to where they were
 * opened; that screen is as it was. */
static enum screen_id way_back(const struct ui *u)
{
    return u->screen == SCREEN_HELP                          ? u->help.from
           : u->of_finding && u->screen != SCREEN_FINDINGS   ? SCREEN_FINDINGS
           : u->screen == SCREEN_SUBSECOND                   ? SCREEN_FLAME
           : u->screen == SCREEN_FLAME && u->flame_from      ? u->flame_from
           : u->screen > SCREEN_FULL && is_full(u->screen)   ? SCREEN_FULL
           : is_full(u->screen) && u->full_from              ? u->full_from
           : u->screen == SCREEN_OPEN_CALLS && u->calls_from ? u->calls_from
                                                             : u->home;
}

static void back(struct ui *u, bool had_message, struct intent *out)
{
    enum screen_id to = way_back(u);
    if (u->screen == to && !had_message) {
        message_set(&u->shared.message, "there is no previous screen; q quits", true);
    }
    u->screen = to;
    u->of_finding = false;
    if (screens_ops(to)->on_request) {
        out->kind = INTENT_VIEW_QUERY;
    }
}

/* Opens a screen by its key; the same key closes it. */
static void open_by_key(struct ui *u, int key, struct intent *out)
{
    struct screen_request r = {.to = screens_by_key(key)};
    if (r.to == SCREEN_NONE) {
        return;
    }
    if ((r.to == SCREEN_FLAME || r.to == SCREEN_FULL) && u->screen == r.to) {
        back(u, false, out);
        return;
    }
    if (screens_ops(r.to)->on_request) {
        out->kind = INTENT_VIEW_QUERY;
    }
    u->shared.slow.pane_focus = false;
    if (r.to == SCREEN_HELP) {
        help_of(&u->help, u->screen, screens_ops(u->screen)->context);
    }
    r.to = u->screen == r.to ? u->home : r.to;
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
                       bool had_message, struct intent *out)
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
    case ACT_MAILBOX:
        out->kind = INTENT_MAILBOX;
        return true;
    case ACT_TRIGGER:
        trigger_menu_ask(&u->shared.dialog, u->shared.trigger.text[0] != 0);
        return true;
    case ACT_KEEP:
        u->flame.keep = false;
        out->kind = INTENT_SAMPLING_END;
        return true;
    case ACT_THEME:
        u->theme = (u->theme + 1) % THEME_COUNT;
        say_theme(u);
        return true;
    case ACT_COMPARE:
        out->kind = INTENT_COMPARE;
        return true;
    case ACT_SAVE:
        dialog_propose(&u->shared.dialog, PROMPT_SAVE, u->profile);
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
        back(u, had_message, out);
        return true;
    default:
        return time_range_key(&u->shared.time_range, &u->shared.dialog, &u->shared.message, act, s,
                              out);
    }
}

/* Keys that change the trace configuration of a node, or save it, or ask the node for samples. */
static bool sets_node(enum action act)
{
    switch (act) {
    case ACT_ADD:
    case ACT_TYPE_TIER:
    case ACT_REMOVE:
    case ACT_ENTRY:
    case ACT_IDENTITY:
    case ACT_TEMPLATE:
    case ACT_SAVE:
    case ACT_LOAD:
    case ACT_FLAME_OF:
    case ACT_MAILBOX:
    case ACT_FULL:
    case ACT_TRIGGER:
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
    struct scroll *list = ops->list ? ops->list(screens_own(u, on), &u->shared) : NULL;
    size_t line = list ? list->sel : SIZE_MAX;
    bool taken = ops->on_key(screens_own(u, on), &u->shared, key, act, s, &r);
    bool known = taken || common_key(u, key, act, s, had_message, &r.intent);
    if (!known || (list && list->sel == line)) {
        no_effect_say(&u->shared.message, key, act, !known,
                      ops->on_paste ? "F1 shows the keys" : "? shows the keys", line);
    }
    if (act == ACT_BACK && r.open.to == SCREEN_SLOW && u->of_finding) {
        /* Esc in a waterfall opens the list of slow requests, but this waterfall was opened from a
         * finding. */
        r.open.to = SCREEN_NONE;
        back(u, had_message, &r.intent);
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
    u->log_seen_ns = s && s->n_log ? s->log[0].wall_ns : u->log_seen_ns;
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

/* A line of the log since the last key; like a message, only for a time if there is a finding to
 * show. */
static bool draw_event(const struct ui *u, struct canvas *c, int row, const struct snapshot *s)
{
    const struct snap_log *last = s && s->n_log ? &s->log[0] : NULL;
    char when[FORMAT_BYTES];

    if (!last || last->wall_ns <= u->log_seen_ns ||
        (u->hint.rule && last->wall_ns + LOG_FIRST_NS < s->wall_ns)) {
        return false;
    }
    format_time(last->wall_ns, false, when);
    int col = canvas_text(c, row, 0, c->cols, STYLE_DIM, when) + 1;
    canvas_text(c, row, col, c->cols - col, STYLE_DIM, last->text);
    return true;
}

/* The message; without one, what has happened since the last key, or the hint at a finding. */
static void draw_line(struct ui *u, struct canvas *c, int row, const struct snapshot *s)
{
    struct message *m = &u->shared.message;
    bool hints = u->screen != SCREEN_FINDINGS && !u->of_finding;
    if (s) {
        findings_look(&u->hint, s);
        m->since_ns = m->since_ns ? m->since_ns : s->wall_ns;
    }
    bool read = s && hints && !m->error && u->hint.rule && m->since_ns + LOG_FIRST_NS < s->wall_ns;
    if ((read || !message_draw(m, c, row)) && !draw_event(u, c, row, s) && hints) {
        findings_draw_hint(&u->hint, c, row);
    }
}

/* A screen without a message line gets one while there is a message or a prompt. */
static bool needs_line(const struct ui *u)
{
    enum dialog_mode mode = u->shared.dialog.mode;
    return !screens_ops(u->screen)->whole || u->shared.message.text[0] || mode == DIALOG_PROMPT ||
           mode == DIALOG_QUESTION;
}

void ui_draw(struct ui *u, struct canvas *c, const struct snapshot *s)
{
    canvas_clear(c);
    u->shared.cols = c->cols;
    if (c->rows < 1 || c->cols < 1) {
        return;
    }
    int bar = c->rows >= 4, line = c->rows >= 6 && needs_line(u);
    const struct screen_ops *ops = screens_ops(u->screen);
    bool whole = ops->whole;
    int top = header_rows(s, c->rows, whole);
    int under = bar + line;
    struct rect area = {.row = top, .cols = c->cols, .rows = c->rows - top - under};
    header_draw(&u->shared, c, top, whole, s);
    if (area.rows > 0) {
        ops->draw(screens_own(u, u->screen), &u->shared, c, area, s);
    }
    if (line && whole) {
        message_draw(&u->shared.message, c, c->rows - 2);
    } else if (line) {
        draw_line(u, c, c->rows - 2, s);
    }
    u->bar_row = bar ? c->rows - 1 : -1;
    if (bar) {
        struct bar keys = bar_keys(u, s);
        bar_draw(c, c->rows - 1, &keys);
    }
    int dialog_row = c->rows - 1 - bar;
    if (dialog_row >= 0) {
        dialog_draw(&u->shared.dialog, c, dialog_row);
    }
}
