#include "subsecond_screen.h"
#include "flame_graphs.h"
#include "flame_live.h"
#include "flame_menu.h"
#include "flame_title.h"
#include "shared.h"
#include "subsecond.h"
#include "subsecond_draw.h"

static void to_flame(struct flame_state *t, struct message *why, struct screen_reply *out)
{
    uint64_t from_ns, to_ns;
    if (!subsecond_range(t, &from_ns, &to_ns)) {
        message_set(why, "there are no samples with times", true);
        return;
    }
    flame_graphs_range(t, from_ns, to_ns);
    out->open.to = SCREEN_FLAME;
    out->intent.kind = INTENT_VIEW_QUERY; /* not INTENT_FLAME: sampling must not begin */
}

/* The flame graphs of other ranges are compared with the marked range. */
static void set_base(struct flame_state *t, struct message *say)
{
    uint64_t from_ns, to_ns;
    struct buf text;
    if (!t->subsecond.marked && t->base_to_ns) {
        flame_graphs_base_range(t, 0, 0);
        message_set(say, "the comparison with the range has ended", false);
    } else if (!t->subsecond.marked || !subsecond_range(t, &from_ns, &to_ns)) {
        message_set(say, "mark a range first: press v, then move the cursor", true);
    } else {
        flame_graphs_base_range(t, from_ns, to_ns);
        buf_init(&text, 0);
        buf_adds(&text, "comparing with ");
        flame_title_range(&text, t->view, from_ns, to_ns);
        buf_adds(&text, ": mark another range, then press Enter");
        message_set(say, text.data, false);
        buf_release(&text);
        t->subsecond.marked = false;
    }
}

static bool is_move(enum action act)
{
    return act == ACT_UP || act == ACT_DOWN || act == ACT_LEFT || act == ACT_RIGHT ||
           act == ACT_PGUP || act == ACT_PGDN || act == ACT_HOME || act == ACT_END ||
           act == ACT_EARLIER || act == ACT_LATER || act == ACT_NOW;
}

static void moved(struct flame_state *t, struct message *say, enum action act)
{
    bool any;
    if (!subsecond_move(t, act, &any)) {
        message_set(say, "there are no samples with times", true);
    } else if (!any) {
        message_set(say,
                    act == ACT_UP || act == ACT_DOWN ? "there are no more lines in this second"
                    : act == ACT_LEFT || act == ACT_PGUP || act == ACT_EARLIER
                        ? "there are no earlier samples"
                    : act == ACT_HOME ? "this is the first second shown"
                                      : "these are the newest samples",
                    false);
    }
}

static bool back(struct flame_state *t)
{
    bool was = t->subsecond.marked;
    t->subsecond.marked = false;
    return was;
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct flame_state *t = own;
    (void)key;
    if (is_move(act)) {
        moved(t, &sh->message, act);
        return true;
    }
    switch (act) {
    case ACT_BACK:
        return back(t);
    case ACT_OPEN:
        to_flame(t, &sh->message, out);
        return true;
    case ACT_BEGIN_MARK:
        subsecond_mark(t);
        if (!subsecond_last(t)) {
            message_set(&sh->message, "there are no samples with times", true);
        }
        return true;
    case ACT_COMPARE:
        set_base(t, &sh->message);
        return true;
    case ACT_WIDTH:
        if (t->view) {
            flame_menu_width(t, &sh->dialog);
        }
        return true;
    case ACT_INSIDE:
        flame_menu_inside(t, &sh->dialog, s);
        return true;
    case ACT_STATUSES:
        flame_live_statuses(t, &sh->message);
        flame_graphs_rebuild(t, true);
        return true;
    case ACT_PAUSE:
        flame_graphs_freeze(t);
        return true;
    default:
        return false;
    }
}

/* The first click begins a range, the second ends it. */
static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    struct flame_state *t = own;
    uint64_t cell;
    (void)sh;
    (void)s;
    if (!subsecond_at(t, row, col, &cell)) {
        return false;
    }
    bool open_end = t->subsecond.marked && t->subsecond.mark_ns == t->subsecond.cursor_ns;
    subsecond_place(t, cell);
    if (!open_end) {
        t->subsecond.marked = false;
        subsecond_mark(t);
    }
    return true;
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)sh;
    (void)s;
    subsecond_draw(own, c, a);
}

const struct screen_ops screen_subsecond = {
    .name = "sub-second heat map",
    .context = CTX_SUBSECOND,
    .whole = true,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
