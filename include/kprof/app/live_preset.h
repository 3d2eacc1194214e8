/* Presets on the live screen: offered, asked for a module, taken. A part of app/live. Core thread.
 */
#ifndef KPROF_APP_LIVE_PRESET_H
#define KPROF_APP_LIVE_PRESET_H

#include <kprof/app/engine.h>
#include <kprof/ui/ui.h>

/* INTENT_PRESETS, INTENT_PRESET. */
void live_preset(struct engine *g, struct ui *u, const struct intent *in);
/* engine_hooks.presets: opens the menu, unless the operator is at something else by now. */
void live_offer_presets(struct ui *u, const bool *can, size_t n);

#endif
