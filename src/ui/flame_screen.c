#include "flame_screen.h"
#include "flame_draw.h"
#include "flame_live.h"
#include "flame_screen_draw.h"
#include "shared.h"

#include <stdio.h>
#include <string.h>

/* --- graphs --- */

static struct flame *graph(const struct flame_state *t, enum flame_part part)
{
    struct flame_query q = t->query;
    bool compare = t->compare && part == FLAME_WHOLE;
    q.part = part;
    if (compare && !t->base) {
        q.filter.from_ns = t->split_ns;
    }
    struct flame *f = flame_build(t->view, &q);
    if (!compare) {
        return f;
    }
    if (!t->base) {
        q.filter.from_ns = t->query.filter.from_ns;
        q.filter.to_ns = t->split_ns;
    }
    struct flame *base = flame_build(t->base ? t->base : t->view, &q);
    struct flame *both = flame_compare(f, base);
    flame_free(f);
    flame_free(base);
    return both;
}

/* keep: the same query, on other samples. */
static void rebuild(struct flame_state *t, bool keep)
{
    if (!t->view) {
        return;
    }
    flame_pane_set(&t->pane[0], graph(t, t->sandwich ? FLAME_CALLERS : FLAME_WHOLE), keep);
    flame_pane_set(&t->pane[1], t->sandwich ? graph(t, FLAME_CALLEES) : NULL, keep);
    for (int i = 0; i < 2; i++) {
        flame_pane_search(&t->pane[i], t->pattern, t->exact);
    }
}

void flame_screen_release(struct flame_state *t)
{
    flame_pane_release(&t->pane[0]);
    flame_pane_release(&t->pane[1]);
    stack_view_release(t->view);
    stack_view_release(t->next);
    stack_view_release(t->base);
    *t = (struct flame_state){0};
}

void flame_screen_set(struct flame_state *t, struct stack_view *v)
{
    struct stack_view **to = t->frozen && t->view ? &t->next : &t->view;
    stack_view_release(*to);
    *to = v;
    if (to == &t->view) {
        rebuild(t, true);
    }
}

void flame_screen_set_base(struct flame_state *t, struct stack_view *v)
{
    stack_view_release(t->base);
    t->base = v;
    t->compare = v != NULL;
    rebuild(t, true);
}

void flame_screen_search(struct flame_state *t, const char *pattern, bool exact)
{
    snprintf(t->pattern, sizeof t->pattern, "%s", pattern);
    t->exact = exact;
    for (int i = 0; i < 2; i++) {
        flame_pane_search(&t->pane[i], t->pattern, t->exact);
    }
}

/* --- menus --- */

static void ask_width(struct flame_state *t, struct dialog *d)
{
    struct menu *m = dialog_menu(d, MENU_FLAME_WIDTH, "Width");
    size_t n = flame_widths(t->view, t->width);
    for (size_t i = 0; i < n; i++) {
        const struct flame_width *w = &t->width[i];
        struct buf text;
        if (w->by == t->query.by && (i == 0 || w->metric == t->query.metric)) {
            m->at.sel = i;
        }
        buf_init(&text, 0);
        flame_width_text(&text, w, stack_profile_meta(stack_view_profile(t->view))->unit);
        menu_add(m, text.data);
        buf_release(&text);
    }
}

static void ask_group(const struct flame_state *t, struct dialog *d)
{
    struct menu *m = dialog_menu(d, MENU_FLAME_GROUP, "Group by");
    for (unsigned g = 0; g < FLAME_GROUPS; g++) {
        menu_add(m, flame_group_name((enum flame_group)g));
    }
    m->at.sel = t->query.group;
}

void flame_screen_picked(struct flame_state *t, bool width, size_t item)
{
    if (width && item < FLAME_WIDTHS_MAX) {
        t->query.by = t->width[item].by;
        t->query.metric = t->width[item].metric;
        rebuild(t, true);
    } else if (!width && item < FLAME_GROUPS) {
        t->query.group = (enum flame_group)item;
        rebuild(t, false);
    }
}

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

/* One step back: the zoom, then the search, then the halves. False: nothing is left. */
static bool step_back(struct flame_state *t)
{
    struct flame_pane *p = &t->pane[t->active];
    if (p->graph && p->zoom != 0) {
        zoom(t, p->graph->node[p->zoom].parent);
    } else if (t->pattern[0]) {
        flame_screen_search(t, "", false);
    } else if (t->sandwich) {
        t->sandwich = false;
        t->active = 0;
        rebuild(t, false);
    } else {
        return false;
    }
    return true;
}

static void reset(struct flame_state *t)
{
    for (int i = 0; i < 2; i++) {
        t->pane[i].zoom = t->pane[i].sel = t->pane[i].top = 0;
    }
    flame_screen_search(t, "", false);
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
    rebuild(t, false);
    for (int i = 0; t->sandwich && i < 2; i++) {
        bool there = t->pane[i].graph->nodes > 1; /* the function itself is below the root */
        t->pane[i].sel = t->pane[i].top = there;
    }
}

/* Compares with the baseline; without one, later samples with earlier ones. */
static void compare(struct flame_state *t, struct message *why)
{
    size_t n = t->view ? stack_view_count(t->view) : 0;
    uint64_t last_ns = n > 0 ? stack_view_at(t->view, n - 1)->time_ns : 0;
    if (!t->compare && !t->base && last_ns == 0) {
        message_set(why, "nothing to compare with: --baseline FILE", true);
        return;
    }
    t->compare = !t->compare;
    t->split_ns = last_ns + 1;
    if (t->compare && !t->base) {
        message_set(why, "samples from now on are compared with those before", false);
    }
    rebuild(t, true);
}

static void freeze(struct flame_state *t)
{
    t->frozen = !t->frozen;
    if (!t->frozen && t->next) {
        struct stack_view *v = t->next;
        t->next = NULL;
        flame_screen_set(t, v);
    }
}

static void same(struct flame_state *t)
{
    const struct flame_pane *p = &t->pane[t->active];
    const char *text = flame_text(p->graph, p->sel, NULL);
    bool again = t->exact && strcmp(t->pattern, text) == 0;
    flame_screen_search(t, again ? "" : text, !again);
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
            message_set(&sh->message, p->hit ? "no match in sight" : "search first: /", true);
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
        ask_width(t, &sh->dialog);
        return true;
    case ACT_GROUP:
        ask_group(t, &sh->dialog);
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

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct flame_state *t = own;
    (void)key;
    (void)s;
    if (flame_live_key(t, &sh->dialog, &sh->message, act, &out->intent)) {
        return true;
    }
    switch (act) {
    case ACT_BACK:
        return step_back(t);
    case ACT_STATUSES:
        flame_live_statuses(t, &sh->message);
        rebuild(t, true);
        return true;
    case ACT_RESET:
        reset(t);
        return true;
    case ACT_UPSIDE_DOWN:
        t->up = !t->up;
        return true;
    case ACT_PAUSE:
        freeze(t);
        return true;
    case ACT_FOLD_ALL:
        t->query.fold_recursion = !t->query.fold_recursion;
        rebuild(t, true);
        return true;
    case ACT_LINES:
        t->query.lines = !t->query.lines;
        rebuild(t, false);
        return true;
    case ACT_COMPARE:
        compare(t, &sh->message);
        return true;
    default:
        return t->pane[t->active].graph && on_graph(t, sh, act);
    }
}

static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    struct flame_state *t = own;
    (void)sh;
    (void)s;
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

/* What is to be sampled may have been said by the screen that opens this one. */
static void open_screen(void *own, const struct screen_request *r, struct intent *out)
{
    (void)own;
    (void)r;
    if (out->kind == INTENT_NONE || out->kind == INTENT_REDRAW) {
        out->kind = INTENT_FLAME;
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)sh;
    (void)s;
    flame_screen_draw(own, c, a);
}

const struct screen_ops screen_flame = {
    .name = "flame graph",
    .key = 'F',
    .context = CTX_FLAME,
    .whole = true,
    .open = open_screen,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
