/* Suggests tiers, an entry and an identity rule for a node, from its catalog and from call counts
 * of about a second.
 *
 * The entry is the outermost function that is called once per request: one of a known server, a
 * handler (found by its behaviour or its exports), a callback of a server process, or another
 * function, preferably one whose call rate divides the call rates of most others. Where the static
 * calls of the code are known, a function that leads to the entry replaces it; one that calls
 * itself (the loop of a process, for example) is neither entry nor tier. The tiers are
 * functions of the application's own modules, of different modules where possible, and of known
 * libraries, that are called 0.3 to 20 times per call of the entry. The rule follows from the kind
 * of the entry.
 *
 * Invariant: at most SUGGEST_COUNTED functions are to be counted, each once; every tier is a
 * function of the catalog that was called, the first is the entry, the rule names only the entry. A
 * function that was not counted, or not called, is never suggested. Texts of the catalog come from
 * the node: names made of them are printable. Pure; any thread. This unit does not count: the
 * caller sets the rates in the catalog. */
#ifndef KPROF_CLI_SUGGEST_H
#define KPROF_CLI_SUGGEST_H

#include <kprof/cli/options.h>
#include <kprof/cli/preset.h>
#include <kprof/core/catalog.h>

#define SUGGEST_COUNTED 400
#define SUGGEST_TIERS   6
#define SUGGEST_ASKED   48
#define SUGGEST_CALLS   512

/* Which functions of the node's own code call which, by their numbers in the catalog. Incomplete:
 * functions whose code is not known are missing, and what is beyond the limits. */
struct suggest_calls {
    struct {
        uint32_t from, to;
    } of[SUGGEST_CALLS];
    size_t n;
    uint32_t asked[SUGGEST_ASKED]; /* functions whose calls are asked for, in this order */
    size_t n_asked, next;
};

struct suggestion {
    struct tier_spec tier[SUGGEST_TIERS]; /* the first is the entry */
    double per_s[SUGGEST_TIERS];          /* calls per second */
    size_t n;
    char identity[PRESET_RULE_BYTES]; /* "": none */
    const char *named_by; /* what the rule names requests by, "method and path"; "": no rule */
};

/* Stores the numbers of the functions to count, the most promising first; returns how many. */
size_t suggest_count(const struct catalog *c, uint32_t ids[SUGGEST_COUNTED]);
/* Begins with the node's own functions among the counted ones. If a known server or handler is
 * called, nothing is asked: the entry is known. */
void suggest_calls_begin(struct suggest_calls *k, const struct catalog *c, const uint32_t *ids,
                         size_t n);
/* Stores the next function whose calls are to be asked for. False: there is none. */
bool suggest_calls_next(struct suggest_calls *k, uint32_t *id);
/* The function `from` calls this one ("lists:map/2"; any text). A call to a server process counts
 * as a call of the callbacks in the caller's own module. */
void suggest_calls_add(struct suggest_calls *k, const struct catalog *c, uint32_t from,
                       const char *function);
/* Makes the suggestion from the rates of ids[0..n). calls: NULL: not known. -1 with err: why there
 * is none. */
int suggest_make(const struct catalog *c, const uint32_t *ids, size_t n,
                 const struct suggest_calls *calls, struct suggestion *out, struct err *e);
/* Sets tiers, entry and identity in o, which has none. keep[0..n): which tiers; NULL: all.
 * identity: with the rule. If the entry is left out, the first tier that is kept becomes the entry,
 * without a rule. */
void suggest_fill(const struct suggestion *s, const bool *keep, bool identity, struct options *o);

#endif
