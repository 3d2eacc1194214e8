/* Converts between the operator's input (struct options, typed text) and the engine's input (struct
 * settings). Core thread. */
#ifndef KPROF_APP_SETTINGS_MAP_H
#define KPROF_APP_SETTINGS_MAP_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>

/* Converts options to settings. out borrows the strings of o. */
void settings_map_from(const struct options *o, struct settings *out);
/* Converts settings to options, over the defaults; the caller frees out with options_release. */
void settings_map_to(const struct settings *s, struct options *out);
/* Removes tiers, entry and identity from settings: those of a preset replace them. */
void settings_map_clear_tiers(struct settings *s);
/* Adds a typed tier, [NAME=]M:F/A, and gives it a name if it has none. -1: err. */
int settings_map_add_tier(struct engine *g, const char *text, struct err *e);

#endif
