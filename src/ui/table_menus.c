#include "table_menus.h"

#include <kprof/base/text.h>
#include <kprof/core/tier.h>
#include <stdio.h>
#include <string.h>

void table_menus_sort(struct ui_shared *sh)
{
    char item[80];
    struct menu *m = dialog_menu(&sh->dialog, MENU_SORT, "Sort by");
    menu_add(m, "order in which the tiers were added");
    menu_add(m, "name");
    for (size_t i = 0; i < columns_n(); i++) {
        snprintf(item, sizeof item, "%-7s %.60s", column_at(i)->title, column_at(i)->help);
        menu_add(m, item);
    }
    m->at.sel = (size_t)sh->rows.sort;
}

void table_menus_sort_done(struct ui_shared *sh, size_t item)
{
    sh->rows.sort = (int)item;
    sh->rows.reverse = false;
}

static void column_items(const struct table_state *t, struct menu *m)
{
    static const char *const state[] = {
        [COLUMN_AUTO] = "auto", [COLUMN_SHOW] = "show", [COLUMN_HIDE] = "hide"};
    m->n = 0;
    for (size_t i = 0; i < columns_n(); i++) {
        char item[80];
        snprintf(item, sizeof item, "%s  %-7s %.60s", state[t->columns[i]], column_at(i)->title,
                 column_at(i)->help);
        menu_add(m, item);
    }
}

void table_menus_columns(const struct table_state *t, struct ui_shared *sh)
{
    struct menu *m =
        dialog_menu(&sh->dialog, MENU_COLUMNS, "Columns: Space selects show, hide or auto");
    m->name_from = 6; /* after the state */
    column_items(t, m);
    if (sh->rows.sort >= SORT_COLUMN) {
        m->at.sel = (size_t)(sh->rows.sort - SORT_COLUMN);
    }
}

/* The next state of the selected column: shown if there is room, always shown, hidden. */
void table_menus_column_next(struct table_state *t, struct ui_shared *sh)
{
    enum column_state *c = &t->columns[sh->dialog.menu.at.sel];
    *c = *c == COLUMN_HIDE ? COLUMN_AUTO : (enum column_state)(*c + 1);
    column_items(t, &sh->dialog.menu);
}

void table_menus_entry(struct ui_shared *sh, const struct snapshot *s)
{
    struct menu *m = dialog_menu(&sh->dialog, MENU_ENTRY, "Which tier starts a request?");
    for (size_t i = 0; s && i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (!r->ident && r->tier != TIER_TOTAL && m->n < TIER_MAX) {
            m->at.sel = s->has_entry && r->tier == s->entry ? m->n : m->at.sel;
            menu_add(m, r->tier_name);
            if (r->tier_mfa && sh->cols >= 60) { /* two names may be similar */
                menu_add_more(m, r->tier_mfa);
            }
        }
    }
    m->at.sel = s && !s->has_entry ? m->n : m->at.sel;
    menu_add(m, "none (every call is counted separately)");
}

static bool is_empty(const struct snap_row *r)
{
    return !r->ident && r->run_count == 0 && r->counted == 0 && r->oldest_open_us <= 0;
}

struct intent table_menus_remove(struct ui_shared *sh, const struct snap_row *r)
{
    struct intent yes = {.kind = INTENT_TIER_REMOVE, .tier = r->tier};
    char text[700];
    if (is_empty(r)) { /* nothing is lost */
        snprintf(text, sizeof text, "tier %.64s is removed: it had no calls", r->tier_name);
        message_set(&sh->message, text, false);
        return yes;
    }
    size_t most = sh->cols > 5 ? (size_t)sh->cols - 5 : 0; /* next to y/n */
    int n = snprintf(text, sizeof text, "Remove tier %.64s (%.300s) and its statistics?",
                     r->tier_name, r->tier_mfa ? r->tier_mfa : "");
    if (!r->tier_mfa || text_width(text, (size_t)n) > most) {
        snprintf(text, sizeof text, "Remove tier %.64s and its statistics?", r->tier_name);
    }
    dialog_question(&sh->dialog, text, &yes);
    return (struct intent){.kind = INTENT_REDRAW};
}
