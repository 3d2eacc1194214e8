#include "flame_keys.h"
#include "flame_draw.h"
#include "flame_graphs.h"
#include "flame_live.h"
#include "flame_menu.h"
#include "shared.h"

#include <stdio.h>
#include <string.h>

/* --- keys --- */

static bool move(struct flame_state *t, enum action act)
{
    struct flame_pane *p = &t->pane[t->active];
    bool up = t->active == 0 && (t->sandwich || t->up);
    int page = t->area[t->active].rows > 1 ? t->area[t->active].rows - 1 : 1;
    enum flame_move how;
    switch (act) {
    case ACT_UP:
    case ACT_PGUP:
        how = up ? FLAME_CALLEE : FLAME_CALLER;
        break;
    case ACT_DOWN:
    case ACT_PGDN:
        how = up ? FLAME_CALLER : FLAME_CALLEE;
        break;
    case ACT_LEFT:
        how = FLAME_LEFT;
        break;
    case ACT_RIGHT:
        how = FLAME_RIGHT;
        break;
    case ACT_HOME:
        how = FLAME_FIRST;
        break;
    case ACT_END:
        how = FLAME_LAST;
        break;
    default:
        return false;
    }
    int steps = act == ACT_PGUP || act == ACT_PGDN ? page : 1;
    while (steps-- > 0 && flame_pane_move(p, how)) {
    }
    return true;
}

static void zoom(struct flame_state *t, uint32_t node)
{
    struct flame_pane *p = &t->pane[t->active];
    uint32_t sel = p->sel;
    bool out = p->graph->node[node].depth < p->graph->node[p->zoom].depth;
    flame_pane_zoom(p, node);
    p->sel = out ? sel : node; /* after zooming out, the selection stays */
    flame_pane_search(p, t->pattern, t->exact);
}

/* Shows all samples again. If a time range was chosen, goes back to the sub-second heat map. False:
 * the caller goes back to the screen that opened this one. */
static bool leave_part(struct flame_state *t, struct screen_reply *out)
{
    bool heat = t->from_heat, all = !flame_graphs_filtered(t);
    if (!heat && t->query.filter.to_ns) {
        flame_graphs_range(t, 0, 0);
        out->open.to = SCREEN_SUBSECOND;
        return true;
    }
    t->from_heat = false;
    if (!all) {
        flame_graphs_all(t);
    }
    return !heat && !all;
}

/* Ends the zoom, else the search, else the sandwich, else the filter of the samples. False: there
 * is nothing to end. */
static bool step_back(struct flame_state *t, struct screen_reply *out)
{
    struct flame_pane *p = &t->pane[t->active];
    if (p->graph && p->zoom != 0) {
        zoom(t, p->graph->node[p->zoom].parent);
    } else if (t->pattern[0]) {
        flame_graphs_search(t, "", false);
    } else if (t->sandwich) {
        t->sandwich = false;
        t->active = 0;
        flame_graphs_rebuild(t, false);
    } else {
        return leave_part(t, out);
    }
    return true;
}

static void reset(struct flame_state *t)
{
    for (int i = 0; i < 2; i++) {
        t->pane[i].zoom = t->pane[i].sel = t->pane[i].top = 0;
    }
    flame_graphs_search(t, "", false);
    if (flame_graphs_filtered(t)) {
        flame_graphs_all(t);
    }
}

static void halves(struct flame_state *t, struct message *why)
{
    const struct flame_pane *p = &t->pane[t->active];
    uint32_t focus = p->graph->node[p->sel].frame;
    if (!t->sandwich && focus == 0) {
        message_set(why, "select a function first: this box is not a function", true);
        return;
    }
    t->sandwich = !t->sandwich;
    t->query.focus = focus ? focus : t->query.focus;
    t->active = 0;
    flame_graphs_rebuild(t, false);
    for (int i = 0; t->sandwich && i < 2; i++) {
        bool there = t->pane[i].graph->nodes > 1; /* the function itself is below the root */
        t->pane[i].sel = t->pane[i].top = there;
    }
}

/* Compares with the range, or the baseline; without these, samples from now on with those before.
 */
static void compare(struct flame_state *t, struct message *why)
{
    if (!flame_graphs_compare(t)) {
        message_set(why, "nothing to compare with: --baseline FILE", true);
    } else if (t->compare && !t->base && !t->base_to_ns) {
        message_set(why,
                    "new samples are compared with older ones; for a range: H, mark it (v), then d",
                    false);
    }
}

static void same(struct flame_state *t)
{
    const struct flame_pane *p = &t->pane[t->active];
    const char *text = flame_text(p->graph, p->sel, NULL);
    bool again = t->exact && strcmp(t->pattern, text) == 0;
    flame_graphs_search(t, again ? "" : text, !again);
}

/* Keys that need a graph. */
static bool on_graph(struct flame_state *t, struct ui_shared *sh, enum action act)
{
    struct flame_pane *p = &t->pane[t->active];
    switch (act) {
    case ACT_OPEN:
        zoom(t, p->sel);
        return true;
    case ACT_NEXT:
    case ACT_PREVIOUS:
        if (!flame_pane_next(p, act == ACT_PREVIOUS)) {
            message_set(&sh->message, p->hit ? "no visible match" : "search first: /", true);
        }
        return true;
    case ACT_SAME:
        same(t);
        return true;
    case ACT_HALVES:
        halves(t, &sh->message);
        return true;
    case ACT_FOCUS:
        t->active = t->sandwich ? !t->active : 0;
        return true;
    case ACT_WIDTH:
        flame_menu_width(t, &sh->dialog);
        return true;
    case ACT_GROUP:
        flame_menu_group(t, &sh->dialog);
        return true;
    case ACT_FILTER:
        dialog_propose(&sh->dialog, PROMPT_FLAME_SEARCH, t->exact ? "" : t->pattern);
        return true;
    case ACT_EXPORT:
        dialog_propose(&sh->dialog, PROMPT_FLAME_EXPORT, "kprof-top-flame.svg");
        return true;
    default:
        return move(t, act);
    }
}

bool flame_keys(struct flame_state *t, struct ui_shared *sh, enum action act,
                const struct snapshot *s, struct screen_reply *out)
{
    if (flame_live_key(t, &sh->dialog, &sh->message, act, &out->intent)) {
        return true;
    }
    switch (act) {
    case ACT_BACK:
        return step_back(t, out);
    case ACT_STATUSES:
        flame_live_statuses(t, &sh->message);
        flame_graphs_rebuild(t, true);
        return true;
    case ACT_RESET:
        reset(t);
        return true;
    case ACT_UPSIDE_DOWN:
        t->up = !t->up;
        return true;
    case ACT_PAUSE:
        flame_graphs_freeze(t);
        return true;
    case ACT_FOLD_ALL:
        t->query.fold_recursion = !t->query.fold_recursion;
        flame_graphs_rebuild(t, true);
        return true;
    case ACT_LINES:
        t->query.lines = !t->query.lines;
        flame_graphs_rebuild(t, false);
        return true;
    case ACT_COMPARE:
        compare(t, &sh->message);
        return true;
    case ACT_INSIDE:
        flame_menu_inside(t, &sh->dialog, s);
        return true;
    case ACT_SUBSECOND:
        out->open.to = SCREEN_SUBSECOND;
        return true;
    default:
        return t->pane[t->active].graph && on_graph(t, sh, act);
    }
}

bool flame_keys_click(struct flame_state *t, int row, int col)
{
    for (int i = 0; i < 2; i++) {
        uint32_t node;
        bool up = i == 0 && (t->sandwich || t->up);
        if (flame_draw_node_at(&t->pane[i], t->area[i], up, row, col, &node)) {
            t->active = i;
            if (t->pane[i].graph->node[node].depth <
                t->pane[i].graph->node[t->pane[i].zoom].depth) {
                zoom(t, node);
            }
            t->pane[i].sel = node;
            return true;
        }
    }
    return false;
}
