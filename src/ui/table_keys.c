#include <kprof/ui/columns.h>
#include <kprof/ui/state.h>
#include <string.h>

static void fold(struct table_state *t, uint64_t group)
{
    struct folds *f = &t->folds[t->pivot];
    f->by_hand = true;
    folds_flip(f, group);
}

static void select_line(struct table_state *t, const struct view *v, size_t i)
{
    if (i < v->n) {
        t->at.sel = i;
        const struct line *l = &v->lines[i];
        t->key = l->key;
        for (int pivot = 0; pivot < 2; pivot++) {
            t->groups[pivot] = l->row ? view_row_group(l->row, pivot) : l->group;
        }
        t->has_key = true;
    }
}

static size_t head_of(const struct view *v, size_t i)
{
    while (i > 0 && !v->lines[i].head) {
        i--;
    }
    return i;
}

/* Left and right walk the tree as file managers do. */
static void walk(struct table_state *t, const struct view *v, enum action act)
{
    const struct line *l = &v->lines[t->at.sel];
    bool open = l->head && l->children && !l->folded;
    if (act == ACT_OPEN && l->head && l->children) {
        fold(t, l->group);
    } else if (act == ACT_LEFT && open) {
        fold(t, l->group);
    } else if ((act == ACT_LEFT || act == ACT_OPEN) && !l->head) {
        size_t head = head_of(v, t->at.sel);
        select_line(t, v, head);
        if (act == ACT_OPEN) {
            fold(t, v->lines[head].group);
        }
    } else if (act == ACT_RIGHT && l->head && l->folded) {
        fold(t, l->group);
    } else if (act == ACT_RIGHT && open && t->at.sel + 1 < v->n) {
        select_line(t, v, t->at.sel + 1);
    }
}

bool table_move(struct ui *u, enum action act, const struct snapshot *s)
{
    struct table_state *t = &u->table;
    struct view v;
    bool taken = true;
    table_view(u, s, &v);
    table_find_selection(t, &v);
    if (v.n == 0) {
        taken = false;
    } else if (act == ACT_OPEN || act == ACT_LEFT || act == ACT_RIGHT) {
        walk(t, &v, act);
    } else if (scroll_key(&t->at, act, v.n)) {
        select_line(t, &v, t->at.sel);
    } else {
        taken = false;
    }
    view_release(&v);
    return taken;
}

/* Whether sorting by it is of use: without a mark there are no changes, and a trend sorts as its
 * figure does. */
static bool sortable(int sort, bool compared)
{
    if (sort < SORT_COLUMN) {
        return true;
    }
    const struct column *k = column_at((size_t)(sort - SORT_COLUMN));
    return k->kind != COLUMN_TREND && (compared || k->kind != COLUMN_CHANGE);
}

static void sort_step(struct table_state *t, int step, bool compared)
{
    int n = SORT_COLUMN + (int)columns_n();
    do {
        t->sort = (t->sort + step + n) % n;
    } while (!sortable(t->sort, compared));
    t->reverse = false;
}

static bool on_order(struct ui *u, enum action act, const struct snapshot *s)
{
    bool compared = s && s->compared[0];
    struct table_state *t = &u->table;
    switch (act) {
    case ACT_SORT:
        dialog_sort_menu(u);
        return true;
    case ACT_COLUMNS:
        dialog_columns_menu(u);
        return true;
    case ACT_SORT_LEFT:
        sort_step(t, -1, compared);
        return true;
    case ACT_SORT_RIGHT:
        sort_step(t, 1, compared);
        return true;
    case ACT_REVERSE:
        t->reverse = !t->reverse;
        return true;
    case ACT_PIVOT:
        t->pivot = !t->pivot;
        return true;
    case ACT_FOLD_ALL:
        t->folds[t->pivot].by_hand = true;
        folds_flip_all(&t->folds[t->pivot]);
        return true;
    case ACT_FILTER:
        dialog_prompt(u, PROMPT_FILTER, t->filter);
        return true;
    default:
        return false;
    }
}

static void need_tier(struct ui *u, const struct snapshot *s)
{
    ui_message(u,
               s && table_has_tier(s) ? "select a tier first (not _total)"
                                      : "no tiers yet: press a to add some",
               true);
}

static bool on_tier(struct ui *u, enum action act, const struct snapshot *s, struct intent *out)
{
    const struct snap_row *r = table_selected(u, s);
    switch (act) {
    case ACT_REMOVE:
    case ACT_WHY:
        if (!r || r->tier == TIER_TOTAL) {
            need_tier(u, s);
        } else if (act == ACT_REMOVE) {
            dialog_remove(u, r);
        } else {
            *out = (struct intent){.kind = INTENT_WHY, .tier = r->tier};
        }
        return true;
    case ACT_CAPTURE:
        if (r && table_has_tier(s)) {
            argument_picker_open(u, r->tier, out); /* _total: the entry */
        } else {
            need_tier(u, s);
        }
        return true;
    case ACT_ADD:
        pick_open(u);
        *out = (struct intent){.kind = INTENT_CATALOG};
        return true;
    case ACT_PRESETS:
        u->asked_on = u->screen;
        *out = (struct intent){.kind = INTENT_PRESETS};
        return true;
    case ACT_TYPE_TIER:
        dialog_prompt(u, PROMPT_TIER, "");
        *out = (struct intent){.kind = INTENT_COMPLETE};
        return true;
    case ACT_ENTRY:
        dialog_entry_menu(u, s);
        return true;
    case ACT_IDENTITY:
        dialog_rule(u);
        return true;
    default:
        return false;
    }
}

bool table_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                  struct intent *out)
{
    if (act == ACT_FOCUS) {
        u->slow_focus = !u->slow_focus && s && s->n_slow;
        return true;
    }
    if (u->slow_focus && slow_on_key(u, key, act, s, out)) {
        return true;
    }
    if (act == ACT_BACK && u->slow_focus) {
        u->slow_focus = false;
        return true;
    }
    if (act == ACT_BACK && u->table.filter[0]) {
        u->table.filter[0] = 0;
        return true;
    }
    if (act == ACT_BACK && slow_filter_set(&u->slow.filter)) { /* it was set on another screen */
        memset(&u->slow.filter, 0, sizeof u->slow.filter);
        return true;
    }
    return on_order(u, act, s) || on_tier(u, act, s, out) || (s && table_move(u, act, s));
}
