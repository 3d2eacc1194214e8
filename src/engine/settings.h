/* Applies a struct settings to the engine. Core thread. */
#ifndef KPROF_ENGINE_SETTINGS_IMPL_H
#define KPROF_ENGINE_SETTINGS_IMPL_H

#include "state.h"

/* Applies all settings except tiers, entry and identity. Sends nothing to the node:
 * configuration_push does that. */
void settings_apply(struct engine *g, const struct settings *s);

#endif
