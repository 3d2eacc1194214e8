/* The session's identities: name ids to small numbers, first come, bounded. Inside of core.
 *
 * Invariant: 0 is "undefined", 1 is "<other>" (everything beyond the bound); a number keeps its
 * name, unless that is gone and the number given to another. A name is gone when only a former rule
 * gave it: it had its number before the rule changed, or so shortly after that requests of before
 * may have brought it, and has not been seen for some seconds. Reads no clock: seconds are the
 * caller's. One thread. */
#ifndef KPROF_CORE_IDENT_H
#define KPROF_CORE_IDENT_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

enum { IDENT_UNDEFINED, IDENT_OTHER, IDENT_FIRST };

struct idents {
    struct map by_name;
    uint32_t *name;   /* name id by number, from IDENT_FIRST */
    uint8_t *old;     /* by number: a former rule gave it, for all that is known */
    uint32_t *seen_s; /* by number: last seen; 0: not since idents_age */
    uint16_t n_old;   /* of those that can be given to another */
    uint16_t n, cap;
    bool used;           /* something was named */
    uint32_t settled_s;  /* what began before may still be named by the former rule */
    uint32_t searched_s; /* in this second there was none that is gone */
    uint32_t last_name;  /* the last one asked for, and its number: requests come in runs */
    uint16_t last;
    uint64_t folded; /* times a name beyond the bound was asked for */
};

void idents_init(struct idents *t, uint32_t max);
void idents_release(struct idents *t);
/* Gives a number if there is one left. began_s: when what it names began. */
uint16_t idents_of(struct idents *t, uint32_t name, uint32_t began_s, uint32_t now_s);
void idents_age(struct idents *t, uint32_t now_s); /* the rule has changed: all are of the former */
/* The number of a name that is gone gets this name: what is counted under it is the caller's to
 * forget before. 0: none is gone, or the name has a number. */
uint16_t idents_recycle(struct idents *t, uint32_t name, uint32_t began_s, uint32_t now_s);
uint16_t idents_peek(const struct idents *t, uint32_t name); /* IDENT_OTHER if it has none */
bool idents_gone(const struct idents *t, uint16_t at, uint32_t now_s);

#endif
