#include "pick.h"
#include "pick_draw.h"
#include "pick_list.h"
#include "shared.h"

#include <stdio.h>

static struct intent load(const struct pick_list *p)
{
    return (struct intent){.kind = p->called_by ? INTENT_CALLEES : INTENT_CATALOG, .tier = p->tier};
}

static void open_screen(void *own, const struct screen_request *r, struct intent *out)
{
    struct pick_list *p = own;
    pick_list_open(p);
    p->called_by = r->called_by;
    p->tier = r->tier;
    p->trace = r->trace;
    snprintf(p->name, sizeof p->name, "%s", r->name ? r->name : "");
    *out = load(p);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)sh;
    (void)s;
    pick_draw(own, c, a);
}

static void leave(struct screen_reply *out, enum intent_kind kind)
{
    out->open.to = SCREEN_MAIN;
    out->intent.kind = kind;
}

static void cancel(struct pick_list *p, struct screen_reply *out)
{
    const struct catalog *c = p->catalog;
    if (c && catalog_status(c)->state == CATALOG_LOADING) {
        out->intent.kind = INTENT_CATALOG_STOP;
        return;
    }
    pick_list_drop_ticks(p);
    leave(out, INTENT_CATALOG_CLOSE);
    if (p->called_by) {
        out->open = (struct screen_request){.to = SCREEN_WATERFALL, .trace = p->trace};
    }
}

static const char NO_FUNCTION[] =
    "no function is selected: type another part, or module:function/arity";

static void accept(struct pick_list *p, struct message *m, struct screen_reply *out)
{
    char text[CATALOG_TEXT_BYTES];
    if (!p->ticks && pick_list_typed(p) > 1 && !p->walking) {
        for (size_t i = 0; i < pick_list_typed(p); i++) {
            const char *line = pick_list_line(p, i, text);
            if (!pick_list_is_ticked(p, line)) { /* a function may be typed twice */
                pick_list_flip(p, line);
            }
        }
    } else if (!p->ticks && p->at.sel < pick_list_count(p)) {
        pick_list_flip(p, pick_list_line(p, p->at.sel, text));
    }
    if (p->ticks) {
        leave(out, INTENT_PICKED);
    } else {
        message_set(m, NO_FUNCTION, true);
    }
}

static void tick(struct pick_list *p, struct message *m, int step)
{
    if (!pick_list_tick(p, step)) {
        message_set(m, "no more tiers fit: untick one, or add the ticked ones with Enter", true);
    }
}

static void typed(struct pick_list *p, enum prompt_event ev)
{
    if (ev == PROMPT_CHANGED) {
        p->walking = false;
        p->at.top = 0;
        pick_list_update(p);
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct pick_list *p = own;
    (void)s;
    switch (act) {
    case ACT_HELP:
        return false;
    case ACT_ACCEPT:
        accept(p, &sh->message, out);
        break;
    case ACT_CANCEL:
        cancel(p, out);
        break;
    case ACT_TICK:
        if (p->at.sel >= pick_list_count(p)) {
            message_set(&sh->message, NO_FUNCTION, true);
        }
        tick(p, &sh->message, key == KEY_BTAB_ ? -1 : 1);
        break;
    case ACT_SORT:
        pick_list_sort(p);
        message_set(&sh->message,
                    p->by_calls
                        ? "sorted by calls/s: calls of the best matches are counted for a second"
                        : "sorted by match",
                    false);
        break;
    case ACT_RELOAD:
        pick_list_reload(p);
        out->intent = load(p);
        break;
    default:
        if (key == ' ' && p->walking) {
            tick(p, &sh->message, 1);
        } else if (scroll_key(&p->at, act, pick_list_count(p))) {
            p->walking = true;
            pick_list_keep(p);
        } else {
            enum prompt_event ev = prompt_key(&p->query, key);
            typed(p, ev);
            return ev != PROMPT_NOTHING;
        }
    }
    return true;
}

static bool on_paste(void *own, int cp)
{
    struct pick_list *p = own;
    typed(p, prompt_paste(&p->query, cp));
    return true;
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return &((struct pick_list *)own)->at;
}

const struct screen_ops screen_pick = {
    .name = "picker",
    .key = 'a',
    .context = CTX_PICK,
    .whole = true,
    .open = open_screen,
    .draw = draw,
    .on_key = on_key,
    .on_paste = on_paste,
    .list = list,
};
