#include "dialog_answer.h"
#include "flame_graphs.h"
#include "flame_live.h"
#include "flame_menu.h"
#include "menu_type.h"
#include "module_prompt.h"
#include "no_effect.h"
#include "screens.h"
#include "state.h"
#include "table_menus.h"
#include "trigger_menu.h"

#include <kprof/ui/input.h>
#include <kprof/ui/keys.h>
#include <stdio.h>
#include <string.h>

/* --- menus --- */

/* The first word; the rest describes it. */
static void keep_name(char *to, size_t cap, const char *item)
{
    snprintf(to, cap, "%.*s", (int)strcspn(item, " "), item);
}

static struct intent entry_picked(const struct menu *m)
{
    struct intent in = {.kind = INTENT_ENTRY, .text = "none"};
    size_t sel = m->at.sel;
    if (sel + 1 < m->n) {
        snprintf(in.text, sizeof in.text, "%.*s", (int)m->name_bytes[sel], m->item[sel]);
    }
    return in;
}

static struct intent picked(struct ui *u)
{
    const struct menu *m = &u->shared.dialog.menu;
    struct intent in = {.kind = INTENT_REDRAW};
    dialog_close(&u->shared.dialog);
    switch (m->use) {
    case MENU_SORT:
        table_menus_sort_done(&u->shared, m->at.sel);
        break;
    case MENU_COLUMNS:
        break; /* each choice was carried out at once */
    case MENU_PROCESS_SORT:
        process_screen_sort(&u->processes, m->at.sel);
        break;
    case MENU_PICK:
        in.kind = m->pick;
        if (m->pick == INTENT_LOAD) {
            keep_name(u->profile, sizeof u->profile, m->item[m->at.sel]);
        } else {
            keep_name(u->preset, sizeof u->preset, m->item[m->at.sel]);
        }
        snprintf(in.text, sizeof in.text, "%s", m->item[m->at.sel]);
        break;
    case MENU_TICKS:
        in.kind = m->pick;
        for (size_t i = 0; i < m->n; i++) {
            in.text[i] = m->left_out[i] ? '0' : '1';
        }
        break;
    case MENU_FLAME_WIDTH:
    case MENU_FLAME_GROUP:
    case MENU_FLAME_INSIDE:
        return flame_menu_picked(screens_flame(u), m);
    case MENU_FLAME_CHOICE:
        return flame_live_picked(&u->shared.dialog);
    case MENU_TRIGGER:
        return trigger_menu_picked(&u->shared.dialog);
    case MENU_ENTRY:
        return entry_picked(m);
    }
    return in;
}

static void say_no_item(struct ui_shared *sh, int key)
{
    char text[80];
    snprintf(text, sizeof text, "no item contains \"%s%c\"", sh->dialog.menu.typed, key);
    message_set(&sh->message, text, true);
}

/* If no item contains it, the typed text stays unchanged. */
static bool typed_in_menu(struct ui *u, int key, enum action act)
{
    struct menu *m = &u->shared.dialog.menu;
    size_t before = strlen(m->typed);
    if (!menu_type(m, key, act)) {
        return false;
    }
    if (key != KEY_BACKSPACE_ && strlen(m->typed) == before) {
        say_no_item(&u->shared, key);
    }
    return true;
}

static struct intent menu_key(struct ui *u, int key)
{
    struct dialog *d = &u->shared.dialog;
    enum action act = keys_find(CTX_MENU, key);
    size_t line = d->menu.at.sel;
    if (typed_in_menu(u, key, act)) {
        return (struct intent){.kind = INTENT_REDRAW};
    }
    if (act == ACT_ACCEPT) {
        return picked(u);
    }
    if (act == ACT_CANCEL) {
        dialog_close(d);
    } else if (act == ACT_TICK) {
        if (d->menu.use == MENU_COLUMNS) {
            table_menus_column_next(&u->table, &u->shared);
        } else if (d->menu.use == MENU_TICKS) {
            menu_tick_turn(&d->menu);
        } else {
            message_set(&u->shared.message, "Enter chooses the item; there is nothing to tick here",
                        true);
        }
    } else {
        bool moves = scroll_key(&d->menu.at, act, d->menu.n);
        if (!moves || d->menu.at.sel == line) {
            no_effect_say(&u->shared.message, key, act, !moves,
                          "Enter chooses the item, Esc leaves", line);
        }
    }
    return (struct intent){.kind = INTENT_REDRAW};
}

/* --- questions --- */

static struct intent question_key(struct ui *u, enum action act)
{
    struct dialog *d = &u->shared.dialog;
    if (act == ACT_YES || act == ACT_NO) {
        dialog_close(d);
    }
    if (act == ACT_YES && d->question.yes.kind == INTENT_ZERO) {
        time_range_forget(&u->shared.time_range); /* seconds start again at 0 */
        heat_to_now(&u->heat);
    }
    if (act == ACT_YES && d->question.yes.kind == INTENT_SAMPLING) {
        u->flame.keep = true; /* the question was on another screen: sampling continues there */
    }
    return act == ACT_YES ? d->question.yes : (struct intent){.kind = INTENT_REDRAW};
}

/* --- prompts --- */

static struct intent text_from(const struct prompt *p, enum intent_kind kind, size_t from)
{
    struct intent in = {.kind = kind};
    _Static_assert(sizeof in.text >= PROMPT_BYTES, "a typed line fits");
    memcpy(in.text, p->text + from, p->len - from + 1);
    return in;
}

static struct intent with_text(const struct prompt *p, enum intent_kind kind)
{
    return text_from(p, kind, 0);
}

/* The filter that is being typed; NULL: another prompt is open. */
static char *filter_of(struct ui *u, size_t *cap)
{
    switch (u->shared.dialog.prompt_use) {
    case PROMPT_FILTER:
        *cap = sizeof u->shared.rows.filter;
        return u->shared.rows.filter;
    case PROMPT_SLOW_FILTER:
        *cap = sizeof u->shared.slow.filter.text;
        return u->shared.slow.filter.text;
    case PROMPT_PROCESS_FILTER:
        *cap = sizeof u->processes.query.filter;
        return u->processes.query.filter;
    default:
        *cap = 0;
        return NULL;
    }
}

static void set_filter(const struct prompt *p, char *filter, size_t cap)
{
    /* cut at a whole code point, because names are searched for the filter byte by byte */
    size_t n = p->len, max = cap - 1;
    if (n > max) {
        n = max;
        while (n > 0 && ((unsigned char)p->text[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    memcpy(filter, p->text, n);
    filter[n] = 0;
}

static struct intent export_to(const struct ui_shared *sh)
{
    struct intent in = with_text(&sh->dialog.prompt, INTENT_EXPORT);
    in.slow_only = sh->dialog.prompt_use == PROMPT_SLOW_EXPORT;
    in.picture = sh->dialog.prompt_use == PROMPT_HEAT_EXPORT;
    in.processes = sh->dialog.prompt_use == PROMPT_PROCESS_EXPORT;
    in.filter = sh->slow.filter;
    return in;
}

static struct intent threshold(const struct dialog *d)
{
    struct intent in = with_text(&d->prompt, INTENT_SLOW);
    if (!d->prompt.len)
        snprintf(in.text, sizeof in.text, "%s", d->offer);
    return in;
}

static struct intent take_time_range(struct ui *u)
{
    char error[200], text[PROMPT_BYTES];
    struct ui_shared *sh = &u->shared;
    struct prompt *p = &sh->dialog.prompt;
    memcpy(text, p->text, p->len + 1);
    if (time_range_typed(&sh->time_range, text, error, sizeof error)) {
        if (!sh->time_range.end_s) {
            heat_to_now(&u->heat);
        }
        return (struct intent){.kind = INTENT_VIEW_QUERY};
    }
    dialog_prompt(&sh->dialog, PROMPT_TIME_RANGE, text);
    prompt_error(p, SIZE_MAX, error);
    return (struct intent){.kind = INTENT_REDRAW};
}

/* Enter without text, where a text is needed. */
static struct intent nothing_typed(struct ui_shared *sh)
{
    message_set(&sh->message, "nothing was typed, so nothing has changed", false);
    return (struct intent){.kind = INTENT_REDRAW};
}

static bool is_search(enum prompt_use use)
{
    return use == PROMPT_FILTER || use == PROMPT_SLOW_FILTER || use == PROMPT_HELP_FIND ||
           use == PROMPT_PROCESS_FILTER || use == PROMPT_FULL_FIND;
}

static bool may_be_empty(const struct dialog *d)
{
    return is_search(d->prompt_use) || d->prompt_use == PROMPT_IDENTITY ||
           d->prompt_use == PROMPT_FULL_CONDITION || (d->prompt_use == PROMPT_SLOW && d->offer[0]);
}

static struct intent prompt_done(struct ui *u)
{
    struct intent none = {.kind = INTENT_REDRAW};
    struct ui_shared *sh = &u->shared;
    struct prompt *p = &sh->dialog.prompt;
    dialog_close(&sh->dialog);
    if (!is_search(sh->dialog.prompt_use) && sh->dialog.prompt_use != PROMPT_IDENTITY) {
        prompt_trim(p);
    }
    if (!p->len && !may_be_empty(&sh->dialog)) {
        return nothing_typed(sh);
    }
    switch (sh->dialog.prompt_use) {
    case PROMPT_EXPORT:
    case PROMPT_SLOW_EXPORT:
    case PROMPT_HEAT_EXPORT:
    case PROMPT_PROCESS_EXPORT:
        return export_to(sh);
    case PROMPT_TIER:
        return with_text(p, INTENT_TIER_ADD);
    case PROMPT_SAVE:
        keep_name(u->profile, sizeof u->profile, p->text);
        return with_text(p, INTENT_SAVE);
    case PROMPT_IDENTITY:
        if (u->screen == SCREEN_ARGUMENTS) {
            u->screen = SCREEN_MAIN;
        }
        rule_edit_draft(&sh->rule, p->text);
        return with_text(p, INTENT_IDENTITY);
    case PROMPT_PRESET:
        return with_text(p, INTENT_PRESET);
    case PROMPT_SLOW:
        return threshold(&sh->dialog);
    case PROMPT_TIME_RANGE:
        return take_time_range(u);
    case PROMPT_FULL_CONDITION:
        full_form_condition(&u->full_form, p->text);
        return none;
    case PROMPT_FULL_EXPORT:
    case PROMPT_FLAME_EXPORT:
        return p->len ? with_text(p, INTENT_EXPORT_STACKS) : none;
    case PROMPT_FLAME_CHOICE:
        return with_text(p, INTENT_SAMPLING);
    case PROMPT_TRIGGER_SAMPLE:
        return with_text(p, INTENT_TRIGGER_SAMPLE);
    case PROMPT_TRIGGER_RECORD:
        return with_text(p, INTENT_TRIGGER_RECORD);
    case PROMPT_FILTER:
    case PROMPT_SLOW_FILTER:
    case PROMPT_FLAME_SEARCH:
    case PROMPT_HELP_FIND:
    case PROMPT_PROCESS_FILTER:
    case PROMPT_FULL_FIND:
        break;
    }
    return none;
}

static struct intent typed(struct ui *u, enum prompt_event ev)
{
    struct dialog *d = &u->shared.dialog;
    if (ev == PROMPT_DONE) {
        return prompt_done(u);
    }
    size_t cap;
    char *filter = filter_of(u, &cap);
    if (ev == PROMPT_CANCELLED) {
        dialog_close(d);
        if (filter) {
            filter[0] = 0;
        }
    }
    if (ev == PROMPT_CHANGED && filter) {
        set_filter(&d->prompt, filter, cap);
    }
    if (ev == PROMPT_CHANGED && d->prompt_use == PROMPT_PROCESS_FILTER) {
        process_screen_filtered(&u->processes);
    }
    if (d->prompt_use == PROMPT_FLAME_SEARCH && (ev == PROMPT_CHANGED || ev == PROMPT_CANCELLED)) {
        flame_graphs_search(screens_flame(u), ev == PROMPT_CHANGED ? d->prompt.text : "", false);
    }
    if (d->prompt_use == PROMPT_HELP_FIND && (ev == PROMPT_CHANGED || ev == PROMPT_CANCELLED)) {
        help_find(&u->help, ev == PROMPT_CHANGED ? d->prompt.text : "");
    }
    if (d->prompt_use == PROMPT_FULL_FIND && (ev == PROMPT_CHANGED || ev == PROMPT_CANCELLED)) {
        full_state_find(&u->full, ev == PROMPT_CHANGED ? d->prompt.text : "");
    }
    if (ev == PROMPT_CHANGED && d->prompt_use == PROMPT_PRESET) {
        module_prompt_complete(&d->prompt, u->pick.catalog);
    }
    if (ev == PROMPT_CHANGED && d->prompt_use == PROMPT_TIER) {
        return text_from(&d->prompt, INTENT_COMPLETE, prompt_name_bytes(d->prompt.text));
    }
    return (struct intent){.kind = INTENT_REDRAW};
}

struct intent dialog_answer_paste(struct ui *u, int cp)
{
    if (u->shared.dialog.mode == DIALOG_PROMPT) {
        return typed(u, prompt_paste(&u->shared.dialog.prompt, cp));
    }
    return (struct intent){.kind = INTENT_NONE};
}

struct intent dialog_answer_key(struct ui *u, int key)
{
    switch (u->shared.dialog.mode) {
    case DIALOG_PROMPT:
        return typed(u, prompt_key(&u->shared.dialog.prompt, key));
    case DIALOG_MENU:
        return menu_key(u, key);
    case DIALOG_QUESTION:
        return question_key(u, keys_find(CTX_ASK, key));
    case DIALOG_NONE:
        break;
    }
    return (struct intent){.kind = INTENT_NONE};
}
