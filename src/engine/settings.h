/* Thresholds and limits of a struct settings, brought into force. Core thread. */
#ifndef KPROF_ENGINE_SETTINGS_IMPL_H
#define KPROF_ENGINE_SETTINGS_IMPL_H

#include "state.h"

/* All but tiers, entry and identity; nothing is sent to the node yet (configuration_push). */
void settings_apply(struct engine *g, const struct settings *s);

#endif
