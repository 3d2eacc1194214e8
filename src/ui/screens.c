#include "screens.h"
#include "dist.h"
#include "internals_screen.h"
#include "log.h"
#include "moments_screen.h"
#include "pick.h"
#include "slow.h"
#include "state.h"
#include "table.h"

#include <assert.h>
#include <stddef.h>

static const struct {
    const struct screen_ops *ops;
    size_t own; /* offset in struct ui; 0: the screen has no state */
} screens[SCREEN_COUNT] = {
    [SCREEN_TABLE] = {&screen_table, offsetof(struct ui, table)},
    [SCREEN_SLOW] = {&screen_slow, 0},
    [SCREEN_WATERFALL] = {&screen_waterfall, offsetof(struct ui, waterfall)},
    [SCREEN_HEAT] = {&screen_heat, offsetof(struct ui, heat)},
    [SCREEN_DIST] = {&screen_dist, 0},
    [SCREEN_LOG] = {&screen_log, offsetof(struct ui, log)},
    [SCREEN_HELP] = {&screen_help, offsetof(struct ui, help)},
    [SCREEN_PICK] = {&screen_pick, offsetof(struct ui, pick)},
    [SCREEN_ARGUMENTS] = {&screen_argument_picker, offsetof(struct ui, argument_picker)},
    [SCREEN_OPEN_CALLS] = {&screen_open_calls, offsetof(struct ui, open_calls)},
    [SCREEN_FLAME] = {&screen_flame, offsetof(struct ui, flame)},
    [SCREEN_MOMENTS] = {&screen_moments, offsetof(struct ui, flame)},
    [SCREEN_INTERNALS] = {&screen_internals, offsetof(struct ui, internals)},
};

const struct screen_ops *screens_ops(enum screen_id id)
{
    assert(id > SCREEN_NONE && id < SCREEN_COUNT);
    return screens[id].ops;
}

void *screens_own(struct ui *u, enum screen_id id)
{
    assert(id > SCREEN_NONE && id < SCREEN_COUNT);
    return screens[id].own ? (char *)u + screens[id].own : NULL;
}

enum screen_id screens_by_key(int key)
{
    for (enum screen_id i = SCREEN_NONE + 1; key != 0 && i < SCREEN_COUNT; i++) {
        if (screens[i].ops->key == key) {
            return i;
        }
    }
    return SCREEN_NONE;
}

unsigned screens_context(const struct ui *u)
{
    switch (u->shared.dialog.mode) {
    case DIALOG_PROMPT:
        return u->shared.dialog.prompt_use == PROMPT_TIER ? CTX_PROMPT : CTX_TYPING;
    case DIALOG_MENU:
        return CTX_MENU;
    case DIALOG_QUESTION:
        return CTX_ASK;
    case DIALOG_NONE:
        break;
    }
    return screens[u->screen].ops->context;
}
