/* The timeline: one time for the whole session, out of the stamps of a node whose clock may begin
 * anew, step, or run faster or slower than ours.
 *
 * Invariant: a stamp of the timeline is the node's stamp plus base_ns. base_ns changes only where
 * time would else go back or leap: at a connection to a node that was started again, and at a step
 * of a clock that is proven (see trace/clock_fit). What timeline_now tells never goes back, and
 * stamps go on from there, but for what was under way. Fed by one thread (the reader);
 * timeline_now and timeline_reading by any other, one at a time. */
#ifndef KPROF_TRACE_TIMELINE_H
#define KPROF_TRACE_TIMELINE_H

#include <kprof/trace/clock_fit.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct timeline { /* its inside is its own, but for base_ns */
    uint64_t base_ns;
    struct clock_fit fit;
    struct clock_reading kept; /* of the connection before */
    bool joining;              /* the next stamp tells whether this is the node of before */
    uint64_t newest_ns;        /* stamp of the timeline */
    pthread_mutex_t lock;      /* what follows */
    struct clock_reading reading;
    uint64_t told_ns;  /* by timeline_now */
    uint64_t asked_ns; /* our clock: when it was asked last, */
    uint64_t away_ns;  /* and since when it was not asked for long */
};

void timeline_init(struct timeline *t);
void timeline_release(struct timeline *t);
/* A new connection. known: its stamps can be read. */
void timeline_connect(struct timeline *t, bool known);

/* Each of these -> what must be added to the stamp that it was given, base_ns having changed by the
 * same. timeline_join comes first for every stamp. timeline_event: the newest stamp of a batch; to
 * be added to those of its stamps that are not past by timeline_is_ahead. */
uint64_t timeline_join(struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
uint64_t timeline_beat(struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
uint64_t timeline_event(struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
void timeline_round_trip(struct timeline *t, uint64_t sent_ns, uint64_t ts_ns,
                         uint64_t received_ns);
bool timeline_is_ahead(const struct timeline *t, uint64_t ts_ns, uint64_t received_ns);
/* How old that is; 0 while the clocks are in doubt. False: not known. */
bool timeline_age(const struct timeline *t, uint64_t ts_ns, uint64_t now_ns, int64_t *age_ns);

/* The node's time now. False: not known, or the clocks are in doubt, or nobody asked for more than
 * a second (we did not run, the machine slept) and nothing has come since. */
bool timeline_now(struct timeline *t, uint64_t now_ns, uint64_t *target_ns);
struct clock_reading timeline_reading(struct timeline *t);

#endif
