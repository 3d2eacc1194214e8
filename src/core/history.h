/* The slots that hold a stretch of the history. Inside of core.
 *
 * Invariant: slots come in order of time, none overlaps another; each time the coarsest that fits
 * into the stretch, and where none fits because the finer ones are no longer kept, the finest that
 * sticks out of it. Seconds of which nothing is kept are left out. Reads only; a walk ends when the
 * windows advance. */
#ifndef KPROF_CORE_HISTORY_H
#define KPROF_CORE_HISTORY_H

#include "window.h"

struct history {
    const struct windows *w;
    uint64_t at_s, to_s, from_s; /* from: no slot may begin before, but the first one */
};

uint64_t history_oldest_s(const struct windows *w); /* nothing is kept from before */
/* The closed seconds [from, to). */
void history_begin(struct history *p, const struct windows *w, uint64_t from_s, uint64_t to_s);
/* The next slot, and its seconds [begins, ends); NULL: no more. */
const struct slot *history_next(struct history *p, uint64_t *begins_s, uint64_t *ends_s);

#endif
