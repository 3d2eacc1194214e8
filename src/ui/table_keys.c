#include "table_keys.h"
#include "table_menus.h"

#include <kprof/core/tier.h>

static bool on_order(struct table_state *t, struct ui_shared *sh, enum action act,
                     const struct snapshot *s, struct screen_reply *out)
{
    struct rows *rows = &sh->rows;
    switch (act) {
    case ACT_SORT:
        table_menus_sort(sh);
        return true;
    case ACT_COLUMNS:
        table_menus_columns(t, sh);
        return true;
    case ACT_SORT_LEFT:
        rows_sort_step(rows, -1, s);
        return true;
    case ACT_SORT_RIGHT:
        rows_sort_step(rows, 1, s);
        return true;
    case ACT_REVERSE:
        rows->reverse = !rows->reverse;
        return true;
    case ACT_PIVOT:
        rows->pivot = !rows->pivot;
        return true;
    case ACT_FOLD_ALL:
        if (s && rows_can_fold(rows, s)) {
            rows_fold_all(rows);
        } else {
            message_set(&sh->message, "nothing to fold: no request has a name yet", true);
        }
        return true;
    case ACT_FILTER:
        if (!s || rows_have_tier(s)) {
            dialog_propose(&sh->dialog, PROMPT_FILTER, rows->filter);
        } else { /* there is nothing to filter, so the picker opens */
            out->open.to = SCREEN_PICK;
        }
        return true;
    default:
        return false;
    }
}

static void need_tier(struct message *m, const struct snapshot *s)
{
    message_set(m,
                s && rows_have_tier(s) ? "select a tier first (not _total)"
                                       : "no tiers yet: press a to add some",
                true);
}

static bool on_tier(struct ui_shared *sh, enum action act, const struct snapshot *s,
                    struct screen_reply *out)
{
    const struct snap_row *r = rows_selected(&sh->rows, s);
    switch (act) {
    case ACT_REMOVE:
    case ACT_WHY:
        if (!r || r->tier == TIER_TOTAL) {
            need_tier(&sh->message, s);
        } else if (act == ACT_REMOVE) {
            out->intent = table_menus_remove(sh, r);
        } else {
            out->intent = (struct intent){.kind = INTENT_WHY, .tier = r->tier};
        }
        return true;
    case ACT_FULL:
        if (r && rows_have_tier(s)) {
            out->full = full_offer_row(s, r);
            out->open = (struct screen_request){.to = SCREEN_FULL_ASK, .full = &out->full};
        } else {
            need_tier(&sh->message, s);
        }
        return true;
    case ACT_CAPTURE:
        if (r && rows_have_tier(s)) {
            out->open = (struct screen_request){.to = SCREEN_ARGUMENTS,
                                                .tier = r->tier}; /* _total: the entry */
        } else {
            need_tier(&sh->message, s);
        }
        return true;
    case ACT_ADD:
        sh->slow.pane_focus = false;
        out->open.to = SCREEN_PICK;
        return true;
    case ACT_PRESETS:
        out->intent = (struct intent){.kind = INTENT_PRESETS};
        return true;
    case ACT_TYPE_TIER:
        dialog_prompt(&sh->dialog, PROMPT_TIER, "");
        out->intent = (struct intent){.kind = INTENT_COMPLETE};
        return true;
    case ACT_ENTRY:
        if (s && rows_have_tier(s)) {
            table_menus_entry(sh, s);
        } else {
            need_tier(&sh->message, s);
        }
        return true;
    case ACT_IDENTITY:
        rule_edit_open(&sh->rule, &sh->dialog, &sh->message);
        return true;
    case ACT_TEMPLATE:
        out->intent = (struct intent){.kind = INTENT_TEMPLATE};
        return true;
    default:
        return false;
    }
}

/* The slow requests under the table, while they have the focus. */
static bool on_pane(struct ui_shared *sh, enum action act, const struct snapshot *s,
                    struct screen_reply *out)
{
    if (act == ACT_OPEN) {
        out->open.to = SCREEN_SLOW;
        return true;
    }
    if (act == ACT_LEFT || act == ACT_RIGHT) {
        message_set(&sh->message, "press Enter: the screen of slow requests unfolds them", true);
        return true;
    }
    return slow_list_key(&sh->slow, &sh->dialog, act, s);
}

static bool on_back(struct ui_shared *sh)
{
    if (sh->slow.pane_focus) {
        sh->slow.pane_focus = false;
        return true;
    }
    if (sh->rows.filter[0]) {
        sh->rows.filter[0] = 0;
        return true;
    }
    return slow_list_forget_filter(&sh->slow); /* it was set on another screen */
}

/* True: the key does nothing without a row. */
static bool needs_rows(enum action act)
{
    switch (act) {
    case ACT_SORT_LEFT:
    case ACT_SORT_RIGHT:
    case ACT_REVERSE:
    case ACT_PIVOT:
    case ACT_FOLD_ALL:
    case ACT_OPEN:
    case ACT_LEFT:
    case ACT_RIGHT:
    case ACT_UP:
    case ACT_DOWN:
    case ACT_PGUP:
    case ACT_PGDN:
    case ACT_HOME:
    case ACT_END:
        return true;
    default:
        return false;
    }
}

static bool on_rows(struct ui_shared *sh, enum action act, const struct snapshot *s)
{
    if (!s || rows_key(&sh->rows, act, s)) {
        return s != NULL;
    }
    if (act == ACT_OPEN || act == ACT_LEFT || act == ACT_RIGHT) {
        message_set(&sh->message,
                    act == ACT_RIGHT ? "nothing to unfold here" : "nothing to fold here", true);
        return true;
    }
    return false;
}

static void change_focus(struct ui_shared *sh, const struct snapshot *s)
{
    sh->slow.pane_focus = !sh->slow.pane_focus && s && s->n_slow;
    if (!s || !s->n_slow) {
        message_set(&sh->message, "no slow request yet; S, then s, sets the threshold", true);
    }
}

bool table_keys(struct table_state *t, struct ui_shared *sh, enum action act,
                const struct snapshot *s, struct screen_reply *out)
{
    if (act == ACT_FOCUS) {
        change_focus(sh, s);
        return true;
    }
    if (needs_rows(act) && !(s && rows_have_tier(s))) {
        need_tier(&sh->message, s);
        return true;
    }
    if (sh->slow.pane_focus && on_pane(sh, act, s, out)) {
        return true;
    }
    if (act == ACT_BACK && on_back(sh)) {
        return true;
    }
    return on_order(t, sh, act, s, out) || on_tier(sh, act, s, out) || on_rows(sh, act, s);
}
