/* Presets in options: added by name, resolved when the node has reported which functions it has.
 *
 * Invariant: until a preset is resolved, each of its tiers is the first of the functions that the
 * tier may be; after that, all tiers exist on the node, and options.preset is NULL. Pure; any
 * thread. */
#ifndef KPROF_CLI_OPTIONS_PRESET_H
#define KPROF_CLI_OPTIONS_PRESET_H

#include <kprof/cli/preset.h>

/* Adds the tiers of a preset (or of several, separated by commas), and its entry and identity if
 * the options have none. Returns 0, or -1 with err. */
int options_preset_add(struct options *o, const char *text, struct err *e);
/* Replaces each tier by the function that the node has, and removes tiers that the node does not
 * have. there: as in preset_make, for o->preset. said: receives a sentence about the tiers that
 * were left out, "" if none. -1 with err: the node has too few tiers of the preset, or not the
 * entry. */
int options_preset_resolve(struct options *o, const bool *there, char said[PRESET_SAID_BYTES],
                           struct err *e);

#endif
