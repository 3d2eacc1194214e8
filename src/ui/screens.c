#include "screens.h"
#include "dist.h"
#include "findings.h"
#include "full_flame.h"
#include "full_form.h"
#include "full_line.h"
#include "full_screen.h"
#include "internals_screen.h"
#include "log.h"
#include "parts_screen.h"
#include "pick.h"
#include "slow.h"
#include "state.h"
#include "subsecond_screen.h"
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
    [SCREEN_PARTS] = {&screen_parts, 0},
    [SCREEN_LOG] = {&screen_log, offsetof(struct ui, log)},
    [SCREEN_HELP] = {&screen_help, offsetof(struct ui, help)},
    [SCREEN_PICK] = {&screen_pick, offsetof(struct ui, pick)},
    [SCREEN_ARGUMENTS] = {&screen_argument_picker, offsetof(struct ui, argument_picker)},
    [SCREEN_OPEN_CALLS] = {&screen_open_calls, offsetof(struct ui, open_calls)},
    [SCREEN_FLAME] = {&screen_flame, offsetof(struct ui, flame)},
    [SCREEN_SUBSECOND] = {&screen_subsecond, offsetof(struct ui, flame)},
    [SCREEN_INTERNALS] = {&screen_internals, offsetof(struct ui, internals)},
    [SCREEN_PROCESSES] = {&screen_processes, offsetof(struct ui, processes)},
    [SCREEN_FINDINGS] = {&screen_findings, offsetof(struct ui, findings)},
    [SCREEN_FULL_ASK] = {&screen_full_ask, offsetof(struct ui, full_form)},
    [SCREEN_FULL] = {&screen_full, offsetof(struct ui, full)},
    [SCREEN_FULL_FLAME] = {&screen_full_flame, offsetof(struct ui, full)},
    [SCREEN_FULL_LINE] = {&screen_full_line, offsetof(struct ui, full)},
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

struct flame_state *screens_flame(struct ui *u)
{
    return u->screen == SCREEN_FULL_FLAME ? &u->full.flame : &u->flame;
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
        return u->shared.dialog.prompt_use == PROMPT_TIER ||
                       u->shared.dialog.prompt_use == PROMPT_PRESET
                   ? CTX_PROMPT
                   : CTX_TYPING;
    case DIALOG_MENU:
        return CTX_MENU;
    case DIALOG_QUESTION:
        return CTX_ASK;
    case DIALOG_NONE:
        break;
    }
    return screens[u->screen].ops->context;
}
