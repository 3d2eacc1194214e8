#include "flame_menu.h"
#include "flame_graphs.h"

#include <kprof/base/format.h>
#include <kprof/core/tier.h>
#include <stdio.h>

void flame_menu_width(struct flame_state *t, struct dialog *d)
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

void flame_menu_group(const struct flame_state *t, struct dialog *d)
{
    struct menu *m = dialog_menu(d, MENU_FLAME_GROUP, "Group by");
    for (unsigned g = 0; g < FLAME_GROUPS; g++) {
        menu_add(m, flame_group_name((enum flame_group)g));
    }
    m->at.sel = t->query.group;
}

/* The row of whole requests; NULL: no request has ended in the window. */
static const struct snap_row *requests_row(const struct snapshot *s)
{
    for (size_t i = 0; s && i < s->n_rows; i++) {
        if (s->rows[i].tier == TIER_TOTAL && !s->rows[i].ident && s->rows[i].count > 0) {
            return s->has_entry ? &s->rows[i] : NULL;
        }
    }
    return NULL;
}

void flame_menu_inside(struct flame_state *t, struct dialog *d, const struct snapshot *s)
{
    struct menu *m = dialog_menu(d, MENU_FLAME_INSIDE, "Show");
    const struct snap_row *r = requests_row(s);
    const struct {
        const char *name;
        double us;
    } marks[] = {{"P50", r ? r->p50_us : 0},
                 {"P90", r ? r->p90_us : 0},
                 {"P99", r ? r->p99_us : 0},
                 {"P99.9", r ? r->p999_us : 0}};
    menu_add(m, "all samples");
    menu_add(m, "samples inside requests");
    m->at.sel = t->query.filter.inside;
    for (size_t i = 0; r && i < sizeof marks / sizeof *marks; i++) {
        char item[80], us[FORMAT_BYTES];
        format_us(marks[i].us, us);
        snprintf(item, sizeof item, "in requests of %s or longer (%s)", us, marks[i].name);
        t->inside_ns[m->n] = (uint64_t)(marks[i].us * 1e3);
        menu_add(m, item);
    }
}

static struct intent inside_picked(struct flame_state *t, size_t item)
{
    struct intent in = {.kind = INTENT_REDRAW};
    if (item < 2) {
        flame_graphs_inside(t, item == 1);
        return in;
    }
    char us[FORMAT_BYTES];
    format_us((double)t->inside_ns[item] / 1e3, us);
    in.kind = INTENT_FLAME_INSIDE;
    in.cells =
        (struct view_cells){.tier = TIER_TOTAL, .ident = IDENT_ALL, .least_ns = t->inside_ns[item]};
    snprintf(in.text, sizeof in.text, "of %s or longer", us);
    return in;
}

struct intent flame_menu_picked(struct flame_state *t, const struct menu *m)
{
    size_t item = m->at.sel;
    if (m->use == MENU_FLAME_INSIDE && item < FLAME_INSIDE_ITEMS) {
        return inside_picked(t, item);
    }
    if (m->use == MENU_FLAME_WIDTH && item < FLAME_WIDTHS_MAX) {
        t->query.by = t->width[item].by;
        t->query.metric = t->width[item].metric;
        flame_graphs_rebuild(t, true);
    } else if (m->use == MENU_FLAME_GROUP && item < FLAME_GROUPS) {
        t->query.group = (enum flame_group)item;
        flame_graphs_rebuild(t, false);
    }
    return (struct intent){.kind = INTENT_REDRAW};
}
