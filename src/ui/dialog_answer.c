#include "dialog_answer.h"
#include "state.h"
#include "table_menus.h"

#include <kprof/ui/keys.h>
#include <stdio.h>
#include <string.h>

/* --- menus --- */

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
    case MENU_PICK:
        in.kind = m->pick;
        snprintf(in.text, sizeof in.text, "%s", m->item[m->at.sel]);
        break;
    case MENU_ENTRY:
        return entry_picked(m);
    }
    return in;
}

static struct intent menu_key(struct ui *u, enum action act)
{
    struct dialog *d = &u->shared.dialog;
    if (act == ACT_ACCEPT) {
        return picked(u);
    }
    if (act == ACT_CANCEL) {
        dialog_close(d);
    } else if (act == ACT_TICK) {
        if (d->menu.use == MENU_COLUMNS) {
            table_menus_column_next(&u->table, &u->shared);
        }
    } else {
        scroll_key(&d->menu.at, act, d->menu.n);
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
    bool slow = u->shared.dialog.prompt_use == PROMPT_SLOW_FILTER;
    *cap = slow ? sizeof u->shared.slow.filter.text : sizeof u->shared.rows.filter;
    return slow                                           ? u->shared.slow.filter.text
           : u->shared.dialog.prompt_use == PROMPT_FILTER ? u->shared.rows.filter
                                                          : NULL;
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

static struct intent prompt_done(struct ui *u)
{
    struct intent none = {.kind = INTENT_REDRAW};
    struct ui_shared *sh = &u->shared;
    const struct prompt *p = &sh->dialog.prompt;
    dialog_close(&sh->dialog);
    switch (sh->dialog.prompt_use) {
    case PROMPT_EXPORT:
    case PROMPT_SLOW_EXPORT:
    case PROMPT_HEAT_EXPORT:
        return p->len ? export_to(sh) : none;
    case PROMPT_TIER:
        return p->len ? with_text(p, INTENT_TIER_ADD) : none;
    case PROMPT_SAVE:
        memcpy(u->profile, p->text, sizeof u->profile - 1);
        return p->len ? with_text(p, INTENT_SAVE) : none;
    case PROMPT_IDENTITY:
        if (u->screen == SCREEN_ARGUMENTS) {
            u->screen = SCREEN_MAIN;
        }
        rule_edit_set(&sh->rule, p->text);
        return with_text(p, INTENT_IDENTITY);
    case PROMPT_PRESET:
        return p->len ? with_text(p, INTENT_PRESET) : none;
    case PROMPT_SLOW:
        return p->len || sh->dialog.offer[0] ? threshold(&sh->dialog) : none;
    case PROMPT_TIME_RANGE:
        return take_time_range(u);
    case PROMPT_FILTER:
    case PROMPT_SLOW_FILTER:
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
    if (ev == PROMPT_CHANGED && d->prompt_use == PROMPT_TIER) {
        return text_from(&d->prompt, INTENT_COMPLETE, prompt_name_bytes(&d->prompt));
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
        return menu_key(u, keys_find(CTX_MENU, key));
    case DIALOG_QUESTION:
        return question_key(u, keys_find(CTX_ASK, key));
    case DIALOG_NONE:
        break;
    }
    return (struct intent){.kind = INTENT_NONE};
}
