/* Between what was said (struct options, text that was typed) and what the engine is told (struct
 * settings). Core thread. */
#ifndef KPROF_APP_SETTINGS_MAP_H
#define KPROF_APP_SETTINGS_MAP_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>

/* The strings of out are those of o. */
void settings_map_from(const struct options *o, struct settings *out);
/* The other way round, over the defaults; the caller ends out with options_release. */
void settings_map_to(const struct settings *s, struct options *out);
/* A tier as typed, [NAME=]M:F/A, gets a name if it has none, and is added. -1: err. */
int settings_map_add_tier(struct engine *g, const char *text, struct err *e);

#endif
