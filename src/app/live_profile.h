/* Profiles on the live screen: saving, choosing, loading. A part of app/live. Core thread. */
#ifndef KPROF_APP_LIVE_PROFILE_H
#define KPROF_APP_LIVE_PROFILE_H

#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

/* INTENT_SAVE, INTENT_PROFILES, INTENT_LOAD. */
void live_profile(struct engine *g, struct ui *u, const struct intent *in);
/* May the settings s be taken? Not when tiers would go and the intent is not confirmed: then that
 * is asked, and yes is the same intent with force. */
bool live_may_replace(struct engine *g, struct ui *u, const struct intent *in,
                      const struct settings *s);

#endif
