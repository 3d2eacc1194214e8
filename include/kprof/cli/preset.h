/* Presets: tiers, entry and identity for servers that people run, in one table.
 *
 * Versions of a server differ: a tier may be one of several functions. Names with commas between
 * are combined: each gives its tiers, the first its entry and identity, too.
 *
 * Invariant: every tier of the table parses, and every rule names only tiers of its preset.
 * Constant data; pure; any thread. Does not know whether a node has the functions: whoever asks the
 * node says so (`there`). */
#ifndef KPROF_CLI_PRESET_H
#define KPROF_CLI_PRESET_H

#include <kprof/base/buf.h>
#include <kprof/cli/options.h>

#define PRESET_TIERS_OF_ONE 8
#define PRESET_TIERS        32 /* of several together */
#define PRESET_RULE_BYTES   2048
#define PRESET_SAID_BYTES   1100

struct preset_set {
    struct tier_spec tier[PRESET_TIERS]; /* the first is the entry, unless entry_none */
    size_t n, all;                       /* tiers of it; tiers with those that were left out */
    bool entry_none;
    char identity[PRESET_RULE_BYTES];
    char left_out[PRESET_SAID_BYTES]; /* which tiers the node lacks, in a sentence; "": none */
};

size_t preset_count(void);
const char *preset_name(size_t i);
const char *preset_about(size_t i);
bool preset_asks(const char *name); /* it is used as NAME:MODULE */
/* Adds the functions that text may mean to lines, each with a newline, the first choice of a tier
 * first; n: how many. text: NAME, or NAME:MODULE, or several with commas between. -1 with err: no
 * such preset, no such module. */
int preset_candidates(const char *text, struct buf *lines, size_t *n, struct err *e);
/* there[i]: the node has the i-th candidate; NULL: all. A tier becomes the first of its functions
 * that is there; one that the node lacks is left out. -1 with err: as above; the node lacks a tier
 * that the preset needs (its entry), or more than half of its tiers. */
int preset_make(const char *text, const bool *there, struct preset_set *out, struct err *e);
/* Gives o those of tiers, entry and identity that it has not. */
void preset_fill(const struct preset_set *s, struct options *o);

#endif
