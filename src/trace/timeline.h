/* The timeline: makes one time for the whole session from the stamps of a node whose clock may
 * start again, step, or run faster or slower than that of this machine.
 *
 * Invariant: a stamp of the timeline is the node's stamp plus base_ns. base_ns changes only where
 * time would otherwise go back or step: at a connection to a restarted node, and at a proven step
 * of a clock (see trace/clock_fit). The time from timeline_now never goes back, and later stamps
 * continue from it, except those of events that were in transit. One thread (the reader) feeds the
 * timeline; one other thread may call timeline_now; any thread may call timeline_reading. */
#ifndef KPROF_TRACE_TIMELINE_H
#define KPROF_TRACE_TIMELINE_H

#include <kprof/trace/clock_fit.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct timeline { /* private to timeline.c, except base_ns */
    uint64_t base_ns;
    struct clock_fit fit;
    struct clock_reading kept; /* reading of the previous connection */
    bool joining;              /* the next stamp shows whether the node is still the same */
    uint64_t newest_ns;        /* newest stamp of the timeline */
    pthread_mutex_t lock;      /* guards all fields below */
    struct clock_reading reading;
    uint64_t told_ns;  /* latest time that timeline_now returned */
    uint64_t asked_ns; /* local clock: last call of timeline_now */
    uint64_t away_ns;  /* local clock: first call after a pause of more than 1 s */
};

void timeline_init(struct timeline *t);
void timeline_release(struct timeline *t);
/* Begins a new connection. known: its stamps can be read; until then, timeline_now continues with
 * the clock of the previous connection, because this one may still be refused. */
void timeline_connect(struct timeline *t, bool known);

/* Each of these feeds a stamp and changes base_ns if needed. Those with a result return that
 * change, which the caller must add to the stamp. timeline_join must be the first call for every
 * stamp. timeline_event takes the newest stamp of a batch; the caller adds its result to the stamps
 * of the batch for which timeline_is_ahead is true. */
uint64_t timeline_join(struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
uint64_t timeline_beat(struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
uint64_t timeline_event(struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
void timeline_round_trip(struct timeline *t, uint64_t sent_ns, uint64_t ts_ns,
                         uint64_t received_ns);
bool timeline_is_ahead(const struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
/* Stores the age of the stamp in *age_ns; 0 while the clocks are in doubt. False: the age is
 * unknown. */
bool timeline_age(const struct timeline *t, uint64_t ts_ns, uint64_t now_ns, int64_t *age_ns);

/* Stores the node's current time in *target_ns. False: the time is unknown, or the clocks are in
 * doubt, or timeline_now was not called for more than a second (kprof-top did not run, the machine
 * was suspended) and no stamp has arrived since. */
bool timeline_now(struct timeline *t, uint64_t now_ns, uint64_t *target_ns);
struct clock_reading timeline_reading(struct timeline *t);

#endif
