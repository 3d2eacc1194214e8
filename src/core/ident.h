/* The session's identities: name ids to small numbers, first come, bounded. Inside of core.
 *
 * Invariant: 0 is "undefined", 1 is "<other>" (everything beyond the bound); a number keeps its
 * name, unless it is stale (only a former rule gave that) and given to another. One thread. */
#ifndef KPROF_CORE_IDENT_H
#define KPROF_CORE_IDENT_H

#include <kprof/base/map.h>
#include <stdint.h>

enum { IDENT_UNDEFINED, IDENT_OTHER, IDENT_FIRST };

struct idents {
    struct map by_name;
    uint32_t *name; /* name id by number, from IDENT_FIRST */
    uint8_t *stale; /* by number: not seen since idents_age */
    uint16_t n_stale;
    uint16_t n, cap;
    uint32_t last_name; /* the last one asked for, and its number: requests come in runs */
    uint16_t last;
    uint64_t folded; /* times a name beyond the bound was asked for */
};

void idents_init(struct idents *t, uint32_t max);
void idents_release(struct idents *t);
uint16_t idents_of(struct idents *t, uint32_t name); /* gives a number if there is one left */
void idents_age(struct idents *t); /* the rule has changed: all are stale until seen again */
/* A stale number that gets this name: what is counted under it is the caller's to forget before.
 * 0: none is stale, or the name has a number. */
uint16_t idents_recycle(struct idents *t, uint32_t name);
uint16_t idents_peek(const struct idents *t, uint32_t name); /* IDENT_OTHER if it has none */

#endif
