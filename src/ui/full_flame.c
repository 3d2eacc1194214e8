#include "full_flame.h"
#include "flame_keys.h"
#include "flame_screen_draw.h"
#include "full_keys.h"
#include "shared.h"

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct full_state *t = own;
    (void)key;
    if (act == ACT_SUBSECOND) {
        act = ACT_TAKE; /* the timeline shows the times of a trace */
    }
    if (act == ACT_INSIDE) {
        message_set(&sh->message,
                    "this filter is for stack samples: a full trace has only its own calls", true);
        return true;
    }
    return full_keys(t, sh, act, "kprof-top-trace.svg", out) ||
           flame_keys(&t->flame, sh, act, s, out);
}

static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    (void)sh;
    (void)s;
    return flame_keys_click(&((struct full_state *)own)->flame, row, col);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    (void)sh;
    (void)s;
    flame_screen_draw(&((struct full_state *)own)->flame, c, a);
}

const struct screen_ops screen_full_flame = {
    .name = "flame graph of a full trace",
    .context = CTX_FLAME,
    .whole = true,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
