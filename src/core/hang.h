/* The places where requests that have been open for a long time hang: what their processes did when
 * the node polled them. Private to core.
 *
 * Invariant: a poll belongs to a request only if it was made before the request ended. At most
 * HANG_REQUESTS requests with HANG_PLACES places each are kept; the oldest request makes room.
 * Polls beyond the places are only counted. The pauses between the polls of a request grow with its
 * age, so that requests that never end do not keep others from being polled. One thread. */
#ifndef KPROF_CORE_HANG_H
#define KPROF_CORE_HANG_H

#include <kprof/base/map.h>
#include <kprof/core/core.h>
#include <stdint.h>

enum { HANG_REQUESTS = 1024, HANG_PLACES = 4 };

struct hang_place {
    char text[CORE_PLACE_BYTES];
    uint32_t polls;
    uint8_t status;
};

struct hang {
    uint64_t label;
    uint64_t again_ns; /* not polled again before this time */
    uint32_t polls;
    struct hang_place place[HANG_PLACES]; /* in the order of their first poll; polls 0: free */
};

struct hang_table {
    struct hang *hang; /* a ring; NULL until the first poll */
    uint64_t n;
    struct map by_label;
    uint64_t from_ns, until_ns; /* from: the age from which a request hangs; until: node time until
                                   which it is valid */
};

void hang_init(struct hang_table *h);
void hang_release(struct hang_table *h);
void hang_clear(struct hang_table *h);
const struct hang *hang_find(const struct hang_table *h, uint64_t label); /* NULL: never polled */

#endif
