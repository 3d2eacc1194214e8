#include "flame_screen.h"
#include "flame_draw.h"
#include "shared.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

/* --- graphs --- */

static struct flame *graph(const struct flame_state *t, enum flame_part part)
{
    struct flame_query q = t->query;
    q.part = part;
    struct flame *f = flame_build(t->view, &q);
    if (!t->compare || !t->base || part != FLAME_WHOLE) {
        return f;
    }
    struct flame *base = flame_build(t->base, &q);
    struct flame *both = flame_compare(f, base);
    flame_free(f);
    flame_free(base);
    return both;
}

/* keep: the same question is asked again, of other samples. */
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

/* --- drawing --- */

static void width_text(struct buf *out, const struct flame_width *w, enum stack_unit unit)
{
    static const char *const UNIT[] = {[STACK_UNIT_SAMPLES] = "samples",
                                       [STACK_UNIT_NS] = "time",
                                       [STACK_UNIT_US] = "time",
                                       [STACK_UNIT_BYTES] = "bytes"};
    static const char *const BY[] = {
        [FLAME_VALUE] = "", [FLAME_GROWTH] = "growth of ", [FLAME_SHRINKAGE] = "shrinkage of "};
    if (w->by == FLAME_SAMPLES) {
        buf_adds(out, UNIT[unit]);
    } else {
        buf_addf(out, "%s%s", BY[w->by], stack_metric_name(w->metric));
    }
}

static void draw_title(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct flame *f = t->pane[0].graph;
    const struct flame_width w = {t->query.by, t->query.metric};
    struct buf text;
    buf_init(&text, 0);
    buf_adds(&text, t->sandwich ? "CALLERS AND CALLEES" : "FLAME GRAPH");
    if (f) {
        char total[FORMAT_BYTES];
        format_count(f->node[0].total, total);
        buf_addf(&text, "  %s ", total);
        width_text(&text, &w, f->unit);
        if (t->query.group != FLAME_UNGROUPED) {
            buf_addf(&text, ", by %s", flame_group_name(t->query.group));
        }
        buf_adds(&text, t->query.fold_recursion ? ", recursion folded" : "");
        buf_adds(&text, t->query.lines ? ", lines" : "");
        buf_adds(&text, f->compared ? ", compared (points)" : "");
    }
    buf_adds(&text, t->frozen ? "  FROZEN" : "");
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int n = canvas_text(c, a.row, a.col, a.cols, STYLE_HEAD, text.data);
    if (t->source[0] && n + 12 < a.cols) {
        canvas_name(c, a.row, a.col + n + 2, a.cols - n - 2, STYLE_HEAD, t->source);
    }
    buf_release(&text);
}

static void draw_info(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct flame_pane *p = &t->pane[t->active];
    const struct flame *f = p->graph;
    const struct flame_node *n = &f->node[p->sel];
    char total[FORMAT_BYTES], share[FORMAT_BYTES], self[FORMAT_BYTES], more[64] = "";
    double all = (double)f->node[0].total, zoomed = (double)f->node[p->zoom].total;
    format_count(n->total, total);
    format_share(all > 0 ? (double)n->total / all : 0, share);
    format_share(all > 0 ? (double)n->self / all : 0, self);
    if (p->hit) {
        char found[FORMAT_BYTES];
        format_share(zoomed > 0 ? (double)p->found / zoomed : 0, found);
        snprintf(more, sizeof more, "matched %s  ", found);
    } else if (f->compared) {
        snprintf(more, sizeof more, "%+.2f points  ", 100 * flame_pane_change(f, p->sel));
    }
    int col = canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "%s%s %s, self %s  ", more, total,
                           share, self);
    canvas_name(c, a.row, a.col + col, a.cols - col, STYLE_NORMAL, flame_text(f, p->sel, NULL));
}

static void draw_counts(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct stack_profile_counts *n = stack_view_counts(t->view);
    const struct flame *f = t->pane[0].graph;
    uint64_t lost = n->dropped + n->left_out + f->left_out;
    if (lost + n->cut_stacks + f->cut > 0) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN,
                     "not shown: %" PRIu64 " samples; cut: %" PRIu64 " stacks", lost,
                     n->cut_stacks + f->cut);
    } else if (f->widthless > 0) {
        canvas_textf(c, a.row, a.col, a.cols, STYLE_DIM, "%" PRIu64 " samples have no width here",
                     f->widthless);
    }
}

static void draw_none(struct canvas *c, struct rect a, const struct flame_state *t)
{
    canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM,
                t->view ? "No samples pass, or none has this width: m chooses another one."
                        : "No stack samples.");
}

/* Two halves around the function: its callers grow upwards, its callees downwards. */
static void draw_graphs(struct flame_state *t, struct canvas *c, struct rect a)
{
    t->area[0] = a;
    t->area[1] = (struct rect){0};
    if (t->sandwich) {
        t->area[0].rows = a.rows / 2;
        t->area[1] = a;
        t->area[1].row += t->area[0].rows;
        t->area[1].rows -= t->area[0].rows;
        flame_draw(&t->pane[1], c, t->area[1], false, t->active == 1);
    }
    flame_draw(&t->pane[0], c, t->area[0], t->sandwich || t->up, t->active == 0);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct flame_state *t = own;
    struct rect inner = a, last = a;
    (void)s;
    int title = a.rows >= 3, under = a.rows >= 8 ? 2 : a.rows >= 2;
    inner.row += title;
    inner.rows -= title + under;
    last.row = a.row + a.rows - 1;
    t->area[0] = t->area[1] = (struct rect){0};
    if (title) {
        draw_title(t, c, a);
    }
    bool none = !t->pane[0].graph || t->pane[0].graph->samples == 0;
    if (none) {
        draw_none(c, inner, t);
    } else {
        draw_graphs(t, c, inner);
    }
    if (under == 2 && !none) {
        draw_counts(t, c, (struct rect){last.row - 1, a.col, 1, a.cols});
    }
    if (under && !message_draw(&sh->message, c, last.row) && !none) {
        draw_info(t, c, last);
    }
}

/* --- menus --- */

/* Bit 0: samples; then three bits for each metric: value, growth, shrinkage. */
static uint64_t widths_of(const struct stack_view *v)
{
    uint64_t has = 1;
    for (size_t i = 0; i < stack_view_count(v); i++) {
        struct stack_metrics m;
        stack_view_metrics(v, i, &m);
        for (unsigned k = 0; m.known >> k; k++) {
            uint64_t three = (uint64_t)(m.value[k] > 0) | (uint64_t)(m.delta[k] > 0) << 1 |
                             (uint64_t)(m.delta[k] < 0) << 2;
            has |= m.known >> k & 1 ? three << (1 + 3 * k) : 0;
        }
    }
    return has;
}

static void ask_width(struct flame_state *t, struct dialog *d)
{
    struct menu *m = dialog_menu(d, MENU_FLAME_WIDTH, "Width");
    uint64_t has = widths_of(t->view);
    for (unsigned i = 0; i < FLAME_WIDTHS_MAX; i++) {
        struct flame_width w = {FLAME_SAMPLES, STACK_REDUCTIONS};
        struct buf text;
        if (!(has >> i & 1)) {
            continue;
        }
        if (i > 0) {
            w = (struct flame_width){FLAME_VALUE + (i - 1) % 3, (i - 1) / 3};
        }
        if (w.by == t->query.by && (i == 0 || w.metric == t->query.metric)) {
            m->at.sel = m->n;
        }
        t->width[m->n] = w;
        buf_init(&text, 0);
        width_text(&text, &w, stack_profile_meta(stack_view_profile(t->view))->unit);
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
    p->sel = out ? sel : node; /* what one comes from stays in sight */
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
        message_set(why, "select a function: this is none", true);
        return;
    }
    t->sandwich = !t->sandwich;
    t->query.focus = focus ? focus : t->query.focus;
    t->active = 0;
    rebuild(t, false);
    for (int i = 0; t->sandwich && i < 2; i++) {
        bool there = t->pane[i].graph->nodes > 1; /* the function itself, below the root */
        t->pane[i].sel = t->pane[i].top = there;
    }
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
    (void)out;
    switch (act) {
    case ACT_BACK:
        return step_back(t);
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
    case ACT_MARK:
        if (t->base) {
            t->compare = !t->compare;
            rebuild(t, true);
        } else {
            message_set(&sh->message, "nothing to compare with: --baseline FILE", true);
        }
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

const struct screen_ops screen_flame = {
    .name = "flame graph",
    .context = CTX_FLAME,
    .whole = true,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
