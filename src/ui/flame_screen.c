#include "flame_screen.h"
#include "flame_keys.h"
#include "flame_screen_draw.h"
#include "shared.h"

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    (void)key;
    return flame_keys(own, sh, act, s, out);
}

static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    (void)sh;
    (void)s;
    return flame_keys_click(own, row, col);
}

/* The screen that opens this one may have chosen what to sample. */
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
