/* Results from app, by the functions of ui.h. */
#include "flame_graphs.h"
#include "flame_live.h"
#include "menu_type.h"
#include "module_prompt.h"
#include "rule.h"
#include "state.h"

#include <kprof/ui/ui.h>
#include <stdio.h>
#include <string.h>

void ui_message(struct ui *u, const char *text, bool is_error)
{
    message_set(&u->shared.message, text, is_error);
}

void ui_set_rule(struct ui *u, const char *rule)
{
    rule_edit_set(&u->shared.rule, rule);
}

void ui_set_trigger(struct ui *u, const char *text, bool acts)
{
    struct ui_trigger *t = &u->shared.trigger;
    snprintf(t->text, sizeof t->text, "%s", text);
    t->acts = acts;
}

void ui_set_presets(struct ui *u, const char *names)
{
    start_set_presets(&u->shared.start, names);
}

void ui_set_suggested(struct ui *u, const char *text)
{
    start_set_suggested(&u->shared.start, text);
}

/* --- of screens --- */

void ui_set_capture(struct ui *u, struct capture *c)
{
    bool behind = u->screen == SCREEN_HELP && u->help.from == SCREEN_ARGUMENTS;
    if (u->screen == SCREEN_ARGUMENTS || behind) {
        argument_picker_set(&u->argument_picker, c);
    }
}

void ui_set_stack(struct ui *u, uint64_t pid, const char *lines, bool dead)
{
    open_calls_set_stack(&u->open_calls, pid, lines, dead);
    process_screen_set_stack(&u->processes, pid, lines, dead);
}

bool ui_wants_processes(const struct ui *u, struct process_order *o)
{
    bool shown = u->screen == SCREEN_PROCESSES ||
                 (u->screen == SCREEN_HELP && u->help.from == SCREEN_PROCESSES);
    process_screen_order(&u->processes, o);
    return shown && !u->shared.time_range.paused;
}

void ui_set_processes(struct ui *u, struct process_table *t, const char *why)
{
    process_screen_set(&u->processes, t, why);
}

const struct process_table *ui_processes(const struct ui *u, struct process_query *q)
{
    const struct process_table *t = u->processes.table;
    if (q) {
        *q = u->processes.query;
    }
    return t && t->head.seq ? t : NULL;
}

void ui_set_stacks(struct ui *u, struct stack_view *v, const char *source)
{
    snprintf(u->flame.source, sizeof u->flame.source, "%s", source);
    flame_graphs_set(&u->flame, v);
}

void ui_set_stacks_base(struct ui *u, struct stack_view *v)
{
    flame_graphs_set_base(&u->flame, v);
}

void ui_show_stacks(struct ui *u, bool home)
{
    u->screen = SCREEN_FLAME;
    u->home = home ? SCREEN_FLAME : u->home;
}

bool ui_shows_stacks(const struct ui *u)
{
    enum screen_id on = u->screen == SCREEN_HELP ? u->help.from : u->screen;
    return on == SCREEN_FLAME || on == SCREEN_SUBSECOND;
}

void ui_show_inside(struct ui *u, const struct view_cells *cells, uint64_t *requests, size_t n,
                    const char *what)
{
    flame_graphs_requests(&u->flame, cells, requests, n, what);
    u->flame.from_heat = u->screen == SCREEN_HEAT;
    if (u->screen == SCREEN_HEAT) {
        u->flame_from = SCREEN_HEAT;
    }
    u->screen = SCREEN_FLAME;
}

bool ui_stacks_inside(const struct ui *u, struct view_cells *cells)
{
    *cells = u->flame.cells;
    return u->flame.requests != NULL;
}

void ui_set_stacks_inside(struct ui *u, uint64_t *requests, size_t n)
{
    flame_graphs_more_requests(&u->flame, requests, n);
}

bool ui_keeps_sampling(const struct ui *u)
{
    return u->flame.keep;
}

void ui_set_sampling(struct ui *u, const struct snap_sampling *s)
{
    flame_live_set(&u->flame, s);
}

void ui_ask_sampling(struct ui *u)
{
    if (u->screen == SCREEN_FLAME && u->shared.dialog.mode == DIALOG_NONE) {
        flame_live_ask(&u->shared.dialog);
    }
}

static bool full_shown(const struct ui *u)
{
    return u->screen >= SCREEN_FULL && u->screen <= SCREEN_FULL_LINE;
}

const struct stack_view *ui_stacks(const struct ui *u, struct flame_query *q)
{
    const struct flame_state *t = full_shown(u) ? &u->full.flame : &u->flame;
    *q = t->query;
    return t->view;
}

void ui_set_full(struct ui *u, const struct full_now *now)
{
    u->full.now = *now;
}

void ui_set_full_result(struct ui *u, struct call_tree *tree, struct stack_profile *profile)
{
    full_state_set(&u->full, tree, profile);
}

bool ui_shows_full(const struct ui *u)
{
    return full_shown(u) || (u->screen == SCREEN_HELP && u->help.from >= SCREEN_FULL &&
                             u->help.from <= SCREEN_FULL_LINE);
}

const struct call_tree *ui_call_tree(const struct ui *u, struct call_tree_hide *hide)
{
    *hide = u->full.tree.hide;
    return full_shown(u) ? u->full.call_tree : NULL;
}

void ui_set_catalog(struct ui *u, const struct catalog *c)
{
    pick_list_set_catalog(&u->pick, c);
    start_set_catalog(&u->shared.start, c);
    struct dialog *d = &u->shared.dialog;
    bool loaded = c && catalog_status(c)->state != CATALOG_LOADING;
    if (loaded && d->mode == DIALOG_PROMPT && d->prompt_use == PROMPT_PRESET) {
        module_prompt_complete(&d->prompt, c);
    }
}

size_t ui_pick_wanted(const struct ui *u, uint32_t *ids, size_t max)
{
    return u->screen == SCREEN_PICK ? pick_list_in_sight(&u->pick, ids, max) : 0;
}

const char *ui_picked(const struct ui *u, size_t i)
{
    return i < u->pick.ticks ? u->pick.tick[i] : NULL;
}

/* --- dialogs --- */

static bool open_menu(struct ui *u, enum menu_use use, enum intent_kind pick, const char *title,
                      const char *const *items, size_t n)
{
    struct dialog *d = &u->shared.dialog;
    if (d->mode != DIALOG_NONE || (u->asked_on && u->asked_on != u->screen)) {
        return false;
    }
    struct menu *m = dialog_menu(d, use, title);
    m->pick = pick;
    for (size_t i = 0; i < n; i++) {
        menu_add(m, items[i]);
    }
    menu_select(m, pick == INTENT_LOAD ? u->profile : u->preset);
    return true;
}

bool ui_choose(struct ui *u, enum intent_kind pick, const char *title, const char *const *items,
               size_t n)
{
    return open_menu(u, MENU_PICK, pick, title, items, n);
}

void ui_choose_again(struct ui *u, enum intent_kind pick, const char *title,
                     const char *const *items, size_t n)
{
    struct dialog *d = &u->shared.dialog;
    struct menu before = d->menu;
    if (d->mode != DIALOG_MENU || before.use != MENU_PICK || before.pick != pick) {
        return;
    }
    struct menu *m = dialog_menu(d, MENU_PICK, title);
    m->pick = pick;
    for (size_t i = 0; i < n; i++) {
        menu_add(m, items[i]);
    }
    memcpy(m->typed, before.typed, sizeof m->typed);
    char *selected = before.item[before.at.sel];
    selected[strcspn(selected, " ")] = 0;
    menu_select(m, selected);
}

bool ui_tick(struct ui *u, enum intent_kind pick, const char *title, const char *const *items,
             size_t n)
{
    if (!open_menu(u, MENU_TICKS, pick, title, items, n)) {
        return false;
    }
    menu_tick_all(&u->shared.dialog.menu);
    return true;
}

void ui_ask(struct ui *u, const char *question, const struct intent *yes)
{
    dialog_question(&u->shared.dialog, question, yes);
}

void ui_ask_overwrite(struct ui *u, const char *path)
{
    struct ui_shared *sh = &u->shared;
    struct intent yes = {.kind = INTENT_EXPORT,
                         .force = true,
                         .slow_only = sh->dialog.prompt_use == PROMPT_SLOW_EXPORT,
                         .picture = sh->dialog.prompt_use == PROMPT_HEAT_EXPORT,
                         .processes = sh->dialog.prompt_use == PROMPT_PROCESS_EXPORT,
                         .filter = sh->slow.filter};
    char text[700];
    snprintf(yes.text, sizeof yes.text, "%s", path);
    snprintf(text, sizeof text, "%.600s exists. Overwrite it?", path);
    dialog_question(&sh->dialog, text, &yes);
}

void ui_set_completions(struct ui *u, const char *typed, const char *const *items, size_t n)
{
    struct dialog *d = &u->shared.dialog;
    bool wanted = d->mode == DIALOG_PROMPT && d->prompt_use == PROMPT_TIER;
    if (wanted && strcmp(typed, d->prompt.text + prompt_name_bytes(d->prompt.text)) == 0) {
        prompt_completions(&d->prompt, items, n);
    }
}

/* last: the prompt that was open last; for an export, the one that was answered. */
static enum prompt_use prompt_of(enum intent_kind which, enum prompt_use last)
{
    switch (which) {
    case INTENT_EXPORT:
        return dialog_is_export(last) ? last : PROMPT_EXPORT;
    case INTENT_TIER_ADD:
        return PROMPT_TIER;
    case INTENT_SLOW:
        return PROMPT_SLOW;
    case INTENT_EXPORT_STACKS:
        return last == PROMPT_FULL_EXPORT ? last : PROMPT_FLAME_EXPORT;
    case INTENT_SAMPLING:
        return PROMPT_FLAME_CHOICE;
    case INTENT_TRIGGER_SAMPLE:
        return PROMPT_TRIGGER_SAMPLE;
    case INTENT_TRIGGER_RECORD:
        return PROMPT_TRIGGER_RECORD;
    case INTENT_SAVE:
        return PROMPT_SAVE;
    case INTENT_PRESET:
        return PROMPT_PRESET;
    default:
        return PROMPT_IDENTITY;
    }
}

void ui_reprompt(struct ui *u, enum intent_kind which, const char *text, size_t at,
                 const char *error)
{
    struct ui_shared *sh = &u->shared;
    enum prompt_use use = prompt_of(which, sh->dialog.prompt_use);
    bool rule = use == PROMPT_IDENTITY;
    if (rule) {
        rule_edit_draft(&sh->rule, text);
    }
    /* The operator has opened another dialog, and corrects a rule later; or the rule is too long.
     */
    if (sh->dialog.mode != DIALOG_NONE || (rule && !sh->rule.draft[0])) {
        ui_message(u, error, true);
        return;
    }
    if (rule) {
        rule_edit_open(&sh->rule, &sh->dialog, &sh->message);
    } else {
        dialog_prompt(&sh->dialog, use, text);
    }
    prompt_error(&sh->dialog.prompt, at, error);
}
