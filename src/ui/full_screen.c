#include "full_screen.h"
#include "full_draw.h"
#include "full_keys.h"
#include "shared.h"

#include <stdio.h>
#include <string.h>

static void fold(struct full_state *t, uint32_t node, bool open, struct message *m)
{
    if (!full_tree_has_children(&t->tree, node)) {
        message_set(m, "nothing to unfold here: no traced call was made", true);
        return;
    }
    full_tree_fold(&t->tree, node, open);
    full_state_select_line(t, full_tree_line_of(&t->tree, node));
}

/* Left: folds, or goes to the caller. */
static void left(struct full_state *t, uint32_t node, struct message *m)
{
    uint32_t caller = call_tree_node(t->call_tree, node)->parent;
    if (t->tree.open[node] && full_tree_has_children(&t->tree, node)) {
        fold(t, node, false, m);
    } else if (caller) {
        full_state_select(t, caller);
    } else {
        message_set(m, "this is the outermost line", true);
    }
}

static void right(struct full_state *t, uint32_t node, struct message *m)
{
    if (t->tree.open[node] && t->at.sel + 1 < t->tree.n && full_tree_has_children(&t->tree, node)) {
        full_state_select_line(t, t->at.sel + 1);
    } else {
        fold(t, node, true, m);
    }
}

/* Unfolds all if any line is folded; else folds all. */
static void fold_all(struct full_state *t)
{
    bool open = false;
    for (size_t i = 0; i < t->tree.n; i++) {
        uint32_t node = t->tree.line[i];
        open = open || (!t->tree.open[node] && full_tree_has_children(&t->tree, node));
    }
    full_tree_fold_all(&t->tree, open);
}

static void next_order(struct full_state *t, struct message *m)
{
    static const char *const says[] = {
        [FULL_ORDER_CALLED] = "in the order of the first calls",
        [FULL_ORDER_TOTAL] = "sorted by total time",
        [FULL_ORDER_OWN] = "sorted by self time",
        [FULL_ORDER_CALLS] = "sorted by calls",
    };
    full_tree_order(&t->tree, (enum full_order)((t->tree.order + 1) % FULL_ORDERS));
    message_set(m, says[t->tree.order], false);
}

static void find_next(struct full_state *t, struct message *m, bool back)
{
    uint32_t node = t->find[0] ? full_tree_find(&t->tree, full_state_node(t), t->find, back) : 0;
    if (node) {
        full_state_select(t, node);
    } else {
        message_set(m, t->find[0] ? "no other function contains this text" : "search first: /",
                    true);
    }
}

/* --- keys --- */

static bool on_tree(struct full_state *t, struct ui_shared *sh, enum action act)
{
    uint32_t node = full_state_node(t);
    switch (act) {
    case ACT_OPEN:
        fold(t, node, !t->tree.open[node], &sh->message);
        return true;
    case ACT_LEFT:
        left(t, node, &sh->message);
        return true;
    case ACT_RIGHT:
        right(t, node, &sh->message);
        return true;
    case ACT_FOLD_ALL:
        fold_all(t);
        full_state_select_line(t, full_tree_line_of(&t->tree, node));
        return true;
    case ACT_SORT:
        next_order(t, &sh->message);
        full_state_select_line(t, full_tree_line_of(&t->tree, node));
        return true;
    case ACT_FILTER:
        dialog_propose(&sh->dialog, PROMPT_FULL_FIND, t->find);
        return true;
    case ACT_NEXT:
    case ACT_PREVIOUS:
        find_next(t, &sh->message, act == ACT_PREVIOUS);
        return true;
    default:
        if (!scroll_key(&t->at, act, t->tree.n)) {
            return false;
        }
        full_state_select_line(t, t->at.sel);
        return true;
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct full_state *t = own;
    (void)key;
    (void)s;
    if (act == ACT_BACK && full_state_waits(t)) {
        out->intent.kind = INTENT_FULL_END;
        return true;
    }
    if (act == ACT_BACK && t->find[0]) {
        t->find[0] = 0;
        return true;
    }
    if (act == ACT_FULL) {
        if (full_state_waits(t)) {
            message_set(&sh->message, "a full trace is under way; Esc ends it", true);
        } else {
            out->open.to = SCREEN_FULL_ASK;
        }
        return true;
    }
    if (full_state_waits(t) || !t->tree.n) {
        bool known = act != ACT_NONE && act != ACT_BACK && act != ACT_HELP && act != ACT_QUIT &&
                     act != ACT_SCREEN && act != ACT_THEME;
        if (known) {
            message_set(&sh->message, "there is no trace here yet", true);
        }
        return known;
    }
    return full_keys(t, sh, act, "kprof-top-trace.txt", out) || on_tree(t, sh, act);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct full_state *t = own;
    (void)sh;
    (void)s;
    t->at.row = 0;
    if (full_state_waits(t) || !t->tree.n) {
        full_draw_state(t, c, a);
        return;
    }
    full_state_node(t);
    full_draw_tree(t, c, a);
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return &((struct full_state *)own)->at;
}

const struct screen_ops screen_full = {
    .name = "full trace",
    .key = 'X',
    .context = CTX_FULL,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
