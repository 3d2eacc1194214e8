/* What a screen offers to trace with `x`: a request, a process, or a choice between the two.
 *
 * Invariant: a value; its texts are those of the snapshot, valid while the key is handled. */
#ifndef UI_FULL_OFFER_H
#define UI_FULL_OFFER_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stdint.h>

enum { FULL_SLOW_CHOICES = 4 };

struct full_offer {
    uint64_t pid;                        /* this process; 0: only a request can be traced */
    bool request;                        /* a request can be traced; false: only the process */
    bool process_first;                  /* the process is the default */
    uint16_t tier;                       /* as in full_ask */
    const char *tier_name;               /* NULL: the entry */
    const char *ident;                   /* NULL: any */
    uint64_t slow_ns[FULL_SLOW_CHOICES]; /* durations to offer, ascending; 0: none */
    uint64_t default_slow_ns;            /* one of them, or 0 */
};

/* The next request like one that took so long. ident: may be NULL. took_us 0: not known. */
struct full_offer full_offer_request(const struct snapshot *s, const char *ident, double took_us);
/* A row of the table: the next request of an identity, or the next call of a tier. */
struct full_offer full_offer_row(const struct snapshot *s, const struct snap_row *r);

#endif
