/* Presets in options: added as they are named, resolved when a node has said what it has.
 *
 * Invariant: until it is resolved, a tier of a preset is the first of the functions that it may be;
 * afterwards all of them exist on the node, and options.preset is NULL. Pure; any thread. */
#ifndef KPROF_CLI_OPTIONS_PRESET_H
#define KPROF_CLI_OPTIONS_PRESET_H

#include <kprof/cli/preset.h>

/* Adds the tiers of a preset (or several, with commas between); what else it says where nothing
 * else is said. 0, or -1 with err. */
int options_preset_add(struct options *o, const char *text, struct err *e);
/* there: as preset_make has it, of o->preset. Tiers become what the node has; those that it lacks
 * go. said: what was left out, in a sentence, "" if nothing. -1 with err: the node has too little
 * of it, or not the entry. */
int options_preset_resolve(struct options *o, const bool *there, char said[PRESET_SAID_BYTES],
                           struct err *e);

#endif
