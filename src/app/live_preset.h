/* Presets on the live screen: offered, asked for a module, taken. A part of app/live. Core thread.
 */
#ifndef KPROF_APP_LIVE_PRESET_H
#define KPROF_APP_LIVE_PRESET_H

#include "preset_take.h"
#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

#define LIVE_PRESETS 32

struct live_preset {
    struct preset_take take;  /* the one to take when the node has said what it has */
    bool there[ENGINE_EXIST]; /* of the presets offered last, their candidates one after another */
};

/* INTENT_PRESETS, INTENT_PRESET. */
void live_preset(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in);
/* What is wanted is asked for when the node can be asked. */
void live_preset_poll(struct live_preset *p, struct engine *g);
/* engine_hooks.exist: opens the menu, unless the operator is at something else by now; or takes
 * what is wanted. */
void live_preset_exist(struct live_preset *p, struct engine *g, struct ui *u, uint16_t tag,
                       const bool *there, const char *why);

#endif
