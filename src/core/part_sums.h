/* The parts of the calls of requests that are followed in detail, by row, for any time range.
 * Private to core.
 *
 * Invariant: the newest PART_SUMS_CALLS calls are stored, in the order in which they were added;
 * values of a time range are exact for those of them that ended in it. Memory is reserved with the
 * first call. One thread. */
#ifndef KPROF_CORE_PART_SUMS_H
#define KPROF_CORE_PART_SUMS_H

#include <kprof/core/time_part.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PART_SUMS_CALLS = 32768 };

struct part_sums_call {
    uint64_t end_ns;
    struct time_parts parts;
    uint16_t tier, ident; /* tier: position of a row, with ROW_TOTAL */
};

struct part_sums {
    struct part_sums_call *call; /* a ring; NULL: none yet */
    uint64_t n;                  /* calls added */
    struct {                     /* the time range that is read */
        uint64_t *of;            /* tier, identity, position in `call`, in this order */
        size_t n;
    } view;
    double *value; /* of one part, of the calls of a row */
};

void part_sums_init(struct part_sums *s);
void part_sums_release(struct part_sums *s);
void part_sums_clear(struct part_sums *s);
void part_sums_add(struct part_sums *s, const struct part_sums_call *call);
void part_sums_forget_tier(struct part_sums *s, uint16_t tier);
void part_sums_rename(struct part_sums *s, uint16_t from, uint16_t to); /* of identities */

/* Chooses the calls that ended in [from, to) for part_sums_read. */
void part_sums_view(struct part_sums *s, uint64_t from_ns, uint64_t to_ns);
/* The values of a row; ident UINT16_MAX: all identities. False: there are no calls. */
bool part_sums_read(struct part_sums *s, uint16_t tier, uint16_t ident, struct time_part_view *out);

#endif
