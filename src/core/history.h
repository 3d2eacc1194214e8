/* Walks over the slots of a time range of the history. Private to core.
 *
 * Invariant: slots are in order of time and do not overlap. Each step gives the coarsest slot that
 * fits into the range; if the finer slots are no longer stored and none fits, it gives the finest
 * slot that extends beyond the range. Seconds that are not stored are skipped. Read-only; a walk is
 * invalid after the windows advance. One thread. */
#ifndef KPROF_CORE_HISTORY_H
#define KPROF_CORE_HISTORY_H

#include "window.h"

struct history {
    const struct windows *w;
    uint64_t at_s, to_s, from_s; /* from: only the first slot may begin before it */
};

uint64_t history_oldest_s(const struct windows *w); /* no earlier second is kept */
/* Begins a walk over the closed seconds [from, to). */
void history_begin(struct history *p, const struct windows *w, uint64_t from_s, uint64_t to_s);
/* Returns the next slot and its seconds [begins, ends); NULL: there are no more. */
const struct slot *history_next(struct history *p, uint64_t *begins_s, uint64_t *ends_s);

#endif
