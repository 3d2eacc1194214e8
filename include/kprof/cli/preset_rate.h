/* How often the first tiers of the presets are called, from a catalog whose calls were counted.
 *
 * Invariant: only functions of the presets' table are looked for, each once. Pure; any thread. This
 * unit does not count: the caller counts the calls of preset_rate_ids and sets the rates in the
 * catalog. */
#ifndef KPROF_CLI_PRESET_RATE_H
#define KPROF_CLI_PRESET_RATE_H

#include <kprof/cli/preset.h>
#include <kprof/core/catalog.h>

#define PRESET_RATE_IDS (2 * PRESETS_MAX)

/* Stores the numbers of the functions to count; returns how many. */
size_t preset_rate_ids(const struct catalog *c, uint32_t ids[PRESET_RATE_IDS]);
/* Sets the calls per second of each preset, in the order of preset_name; negative: not counted, or
 * the catalog does not have the function. */
void preset_rates(const struct catalog *c, float per_s[PRESETS_MAX]);

#endif
