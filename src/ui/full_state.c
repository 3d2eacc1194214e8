#include "full_state.h"
#include "flame_graphs.h"

#include <stdio.h>

void full_state_release(struct full_state *t)
{
    flame_graphs_release(&t->flame);
    full_tree_release(&t->tree);
    call_tree_free(t->call_tree);
    stack_profile_free(t->profile);
    t->call_tree = NULL;
    t->profile = NULL;
}

/* The same in the flame graph: its samples have a status. */
static void hide_in_flame(struct full_state *t)
{
    const struct call_tree_hide *h = &t->tree.hide;
    uint32_t shown = 1u << STACK_RUNNING | (h->sleep ? 0 : 1u << STACK_WAITING) |
                     (h->gc ? 0 : 1u << STACK_GARBAGE_COLLECTING);
    t->flame.query.filter.statuses = h->sleep || h->gc ? shown : 0;
    flame_graphs_rebuild(&t->flame, true);
}

void full_state_set(struct full_state *t, struct call_tree *tree, struct stack_profile *profile)
{
    struct call_tree_hide hide = t->tree.hide;
    enum full_order order = t->tree.order;
    full_state_release(t);
    t->tree.hide = hide;
    t->tree.order = order;
    t->call_tree = tree;
    t->profile = profile;
    t->of = t->now;
    t->selected = 0;
    t->at = (struct scroll){0};
    t->line = (struct full_line){0};
    t->find[0] = 0;
    full_tree_set(&t->tree, tree);
    t->flame.trace = true;
    snprintf(t->flame.source, sizeof t->flame.source, "%.190s", t->of.what);
    flame_graphs_set(&t->flame, stack_profile_view(profile));
    hide_in_flame(t);
}

void full_state_hide_next(struct full_state *t)
{
    struct call_tree_hide h = t->tree.hide;
    unsigned next = ((unsigned)h.sleep + 2 * (unsigned)h.gc + 1) % 4;
    h.sleep = next & 1;
    h.gc = next & 2;
    full_tree_hide(&t->tree, &h);
    hide_in_flame(t);
}

const char *full_state_hidden(const struct full_state *t)
{
    const struct call_tree_hide *h = &t->tree.hide;
    if (h->sleep && !t->of.waits && t->of.state == FULL_ENDED)
        return h->gc ? "garbage collections hidden, waits are not known"
                     : "waits are not known on this VM";
    return h->sleep && h->gc ? "waits and garbage collections hidden"
           : h->sleep        ? "waits hidden"
           : h->gc           ? "garbage collections hidden"
                             : "";
}

bool full_state_waits(const struct full_state *t)
{
    return t->now.state >= FULL_ASKED && t->now.state <= FULL_RECEIVES;
}

/* --- the selected line --- */

void full_state_select_line(struct full_state *t, size_t line)
{
    t->at.sel = line;
    t->selected = line && line < t->tree.n ? t->tree.line[line] : 0;
}

void full_state_select(struct full_state *t, uint32_t node)
{
    full_tree_show(&t->tree, node);
    full_state_select_line(t, full_tree_line_of(&t->tree, node));
}

uint32_t full_state_node(struct full_state *t)
{
    t->at.sel = t->selected ? full_tree_line_of(&t->tree, t->selected) : 0;
    return t->at.sel < t->tree.n ? t->tree.line[t->at.sel] : 0;
}

void full_state_find(struct full_state *t, const char *text)
{
    snprintf(t->find, sizeof t->find, "%s", text);
    uint32_t node = t->call_tree && text[0] ? full_tree_find(&t->tree, 0, text, false) : 0;
    if (node) {
        full_state_select(t, node);
    }
}
