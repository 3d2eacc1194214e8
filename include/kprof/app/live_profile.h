/* Profiles on the live screen: saving, choosing, loading. A part of app/live. Core thread. */
#ifndef KPROF_APP_LIVE_PROFILE_H
#define KPROF_APP_LIVE_PROFILE_H

#include <kprof/app/engine.h>
#include <kprof/ui/ui.h>

/* INTENT_SAVE, INTENT_PROFILES, INTENT_LOAD. */
void live_profile(struct engine *g, struct ui *u, const struct intent *in);

#endif
