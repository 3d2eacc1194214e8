/* The identities of a session: name ids to small numbers, in order of arrival, bounded. Private to
 * core.
 *
 * Invariant: 0 is "undefined", 1 is "<other>" (all names beyond the bound). A number keeps its name
 * until the name is former and the number is given to another name. A name is former when only a
 * former rule gave it and it has not been seen for some seconds. A former rule is assumed for names
 * that had a number before the rule changed, and for names of requests that began before the change
 * or shortly after it. Reads no clock: the caller passes seconds. One thread. */
#ifndef KPROF_CORE_IDENT_H
#define KPROF_CORE_IDENT_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

enum { IDENT_UNDEFINED, IDENT_OTHER, IDENT_FIRST };

struct idents {
    struct map by_name;
    uint32_t *name;   /* name id by number, from IDENT_FIRST */
    uint8_t *old;     /* by number: as far as is known, only a former rule gave it */
    uint32_t *seen_s; /* by number: last seen; 0: not since idents_age */
    uint16_t n_old;   /* number of old ones that can be given to another name */
    uint16_t n, cap;
    bool used;               /* a name was requested */
    uint32_t former_until_s; /* the former rule may have named calls that began before */
    uint32_t searched_s;     /* in this second no name was former */
    uint32_t last_name;      /* last requested name, and its number: requests come in runs */
    uint16_t last;
    uint64_t folded; /* requests for a name beyond the bound */
};

void idents_init(struct idents *t, uint32_t max);
void idents_release(struct idents *t);
/* Returns the number of a name, and assigns one if any is left. began_s: start of the call or
 * request. */
uint16_t idents_of(struct idents *t, uint32_t name, uint32_t began_s, uint32_t now_s);
void idents_age(struct idents *t, uint32_t now_s); /* call it when the rule changes */
/* Gives the number of a former name to this name and returns it; the caller must first reset what
 * is counted under the number. 0: no name is former, or the name has a number. */
uint16_t idents_recycle(struct idents *t, uint32_t name, uint32_t began_s, uint32_t now_s);
uint16_t idents_peek(const struct idents *t, uint32_t name); /* IDENT_OTHER if it has none */
bool idents_is_former(const struct idents *t, uint16_t at, uint32_t now_s);

#endif
