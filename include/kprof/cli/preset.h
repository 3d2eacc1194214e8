/* Presets: tiers, entry and identity for common servers, in one table.
 *
 * Versions of a server differ, so a tier may be one of several functions. Several names, separated
 * by commas, are combined: each preset adds its tiers, and the first one also sets entry and
 * identity.
 *
 * Invariant: every tier of the table parses, and every rule names only tiers of its preset.
 * Constant data; pure; any thread. This unit does not check which functions a node has: the caller
 * asks the node and passes the answer (`there`). */
#ifndef KPROF_CLI_PRESET_H
#define KPROF_CLI_PRESET_H

#include <kprof/base/buf.h>
#include <kprof/cli/options.h>

#define PRESETS_MAX         32 /* in the table */
#define PRESET_TIERS_OF_ONE 8
#define PRESET_TIERS        32 /* of several presets together */
#define PRESET_RULE_BYTES   2048
#define PRESET_SAID_BYTES   1100

struct preset_set {
    struct tier_spec tier[PRESET_TIERS]; /* the first is the entry, unless entry_none */
    size_t n, all; /* n: number of tiers; all: n plus the number of tiers that were left out */
    bool entry_none;
    char identity[PRESET_RULE_BYTES];
    char left_out[PRESET_SAID_BYTES]; /* a sentence: the tiers that the node does not have; "": none
                                       */
};

size_t preset_count(void);
const char *preset_name(size_t i);
const char *preset_about(size_t i);
bool preset_asks(const char *name); /* true: the preset is used as NAME:MODULE */
/* Writes the k-th function that may be the first tier of the i-th preset: its entry, if it has one.
 * False: there are no more, or the preset is used as NAME:MODULE. */
bool preset_first_tier(size_t i, size_t k, char mfa[TIER_MFA_BYTES]);
/* Appends the functions that text may mean to lines, each with a newline, for each tier the first
 * choice first; n: number of functions. text: NAME, or NAME:MODULE, or several of these, separated
 * by commas. -1 with err: no such preset, no such module. */
int preset_candidates(const char *text, struct buf *lines, size_t *n, struct err *e);
/* Makes the set of text. there[i]: the node has the i-th candidate; NULL: it has all. A tier
 * becomes the first of its functions that the node has; a tier without such a function is left out.
 * -1 with err: as preset_candidates; or the node does not have a tier that the preset needs (its
 * entry), or more than half of its tiers are missing. */
int preset_make(const char *text, const bool *there, struct preset_set *out, struct err *e);
/* Sets tiers, entry and identity in o, each only if o has none. */
void preset_fill(const struct preset_set *s, struct options *o);

#endif
