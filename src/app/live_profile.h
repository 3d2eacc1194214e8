/* Profiles on the live screen: saving, choosing, loading. A part of app/live. Core thread. */
#ifndef KPROF_APP_LIVE_PROFILE_H
#define KPROF_APP_LIVE_PROFILE_H

#include "preset_take.h"
#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

/* Carries out INTENT_SAVE, INTENT_PROFILES and INTENT_LOAD. A profile with a preset waits in
 * presets until the node has reported which functions it has. */
void live_profile(struct engine *g, struct ui *u, struct preset_take *presets,
                  const struct intent *in);
/* True: the settings s may be applied. False: they would remove tiers and the intent is not
 * confirmed; the operator is then asked, and yes is the same intent with force. */
bool live_may_replace(struct engine *g, struct ui *u, const struct intent *in,
                      const struct settings *s);

#endif
