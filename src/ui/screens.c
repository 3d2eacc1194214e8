#include "screen.h"

/* The registry. The first is the main screen. */
static const struct screen_ops *const screens[] = {
    &screen_table, &screen_slow, &screen_waterfall,       &screen_heat, &screen_dist, &screen_log,
    &screen_help,  &screen_pick, &screen_argument_picker, &screen_open,
};

const struct screen_ops *screen_main(void)
{
    return screens[0];
}

const struct screen_ops *screen_at(size_t i)
{
    return i < sizeof screens / sizeof *screens ? screens[i] : NULL;
}

const struct screen_ops *screen_by_key(int key)
{
    for (size_t i = 0; key != 0 && i < sizeof screens / sizeof *screens; i++) {
        if (screens[i]->key == key) {
            return screens[i];
        }
    }
    return NULL;
}
