/* Presets: tiers, entry and identity for servers that people run, in one table.
 *
 * Invariant: every tier of the table parses, and every rule names only tiers of its preset.
 * Constant data; pure; any thread. Does not know whether a node has the functions: whoever asks the
 * node says so (`there`). */
#ifndef KPROF_CLI_PRESET_H
#define KPROF_CLI_PRESET_H

#include <kprof/cli/options.h>

#define PRESET_TIERS      6
#define PRESET_RULE_BYTES 2048

struct preset_set {
    struct tier_spec tier[PRESET_TIERS]; /* the first is the entry, unless entry_none */
    size_t n;
    bool entry_none;
    char identity[PRESET_RULE_BYTES];
};

size_t preset_count(void);
const char *preset_name(size_t i);
const char *preset_about(size_t i);
bool preset_asks(const char *name); /* it is used as NAME:MODULE */
/* text: NAME, or NAME:MODULE. there[i]: the node has the i-th tier that comes out with there NULL
 * (all); those it lacks are left out if the preset can do without. -1 with err: no such preset, no
 * such module. */
int preset_make(const char *text, const bool *there, struct preset_set *out, struct err *e);
/* Gives o those of tiers, entry and identity that it has not. */
void preset_fill(const struct preset_set *s, struct options *o);

#endif
