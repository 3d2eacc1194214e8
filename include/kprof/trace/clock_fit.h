/* The fit of two clocks: offset and drift of the node's clock relative to the clock of this
 * machine, and their possible error.
 *
 * Every message bounds the offset (node clock minus local clock) from one side. A message that is
 * stamped T and received at R shows that the offset is at least T - R. An answer that is stamped T
 * shows that the offset is at most T - S, if its request was sent at S. A round trip gives both
 * bounds. The fit keeps the tightest bound of each side in every interval of two seconds, for ten
 * minutes. The drift is the slope of the lines between the bounds (see base/envelope). A bound
 * loosens with its age, by the possible error of the drift. The offset is the middle of the
 * tightest two bounds; the error is half their distance. Source: Duda, Harrus, Haddad, Bernard,
 * "Estimating global time in distributed systems" (ICDCS 1987: bounds from both sides, hulls), and
 * the clock filter of RFC 5905, section 10 (least delay, dispersion that grows with age).
 *
 * If only messages came (a recording without round trips), the offset is taken from the message
 * with the least delay. The length of that delay is unknown, so `bounded` is false.
 *
 * Steps: bounds that contradict each other prove that a clock was set, or that a machine was
 * suspended or paused; the fit then starts again with the newest bound. Stamps that go back prove
 * the same. If only messages came, a step back looks like a delay. So several messages in a row
 * that are late by the same time count as a step. If the least delay within a minute is longer than
 * before that minute, the difference counts as drift.
 *
 * Invariant: no stamp causes an overflow, and the fit allocates no memory. The true offset of a
 * bounded reading is within the error if no clock steps, no delay is negative and the drift changes
 * slower than `wander`. Pure: the caller passes the time. One thread; a reading is a value for any
 * thread. Unit: ns; the drift is a ratio, 1e-6 is 1 ppm. */
#ifndef KPROF_TRACE_CLOCK_FIT_H
#define KPROF_TRACE_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_FIT_BUCKET_NS  UINT64_C(2000000000)
#define CLOCK_FIT_BUCKETS    300u
#define CLOCK_FIT_PRECISE_NS 5e6

struct clock_reading {
    bool known;       /* false: no stamp has arrived, all other fields are 0 */
    bool bounded;     /* false: the error is unknown, error_ns is 0 */
    bool drift_known; /* false: too few bounds so far; drift is a default */
    bool in_doubt;    /* result of clock_fit_in_doubt at at_ns */
    uint64_t at_ns;   /* local clock: time of the reading */
    int64_t offset_ns;
    double drift;
    double error_ns, wander; /* error_ns grows with time by the ratio `wander` */
};

/* Return the offset and the error at another time of the local clock than at_ns. */
int64_t clock_reading_offset(const struct clock_reading *r, uint64_t now_ns);
double clock_reading_error_ns(const struct clock_reading *r, uint64_t now_ns);
/* False: the offset may be wrong by more than CLOCK_FIT_PRECISE_NS, so a round trip should be made
 * soon. */
bool clock_reading_precise(const struct clock_reading *r);

enum clock_fit_side { CLOCK_FIT_LOW, CLOCK_FIT_HIGH, CLOCK_FIT_SIDES };

struct clock_fit_bound {
    bool has;
    uint64_t at_ns;
    int64_t offset_ns;
};

struct clock_fit { /* private to clock_fit.c */
    struct {
        uint64_t id; /* time of the bucket / CLOCK_FIT_BUCKET_NS */
        struct clock_fit_bound side[CLOCK_FIT_SIDES];
    } bucket[CLOCK_FIT_BUCKETS];
    struct clock_fit_bound best[CLOCK_FIT_SIDES]; /* the tightest bounds, with their times */
    uint64_t fit_id;                              /* id of the bucket at the last fit */
    double drift, wander, noise_ns;
    double proven_drift; /* drift of a clock that is being corrected; 0: none */
    bool drift_known;
    unsigned messages;              /* number of messages, counted up to a small limit */
    uint64_t stamp_ns, received_ns; /* of the last message */
    struct clock_fit_bound begun;   /* the bound with which the fit last started again */
    uint64_t late_ns;               /* time since which messages are late; 0: they are not */
    bool late_sure;                 /* a round trip has compared the clocks since late_ns */
    struct clock_fit_bound run;     /* the first of the messages that are late by the same time */
    unsigned run_n;                 /* number of those messages */
};

void clock_fit_init(struct clock_fit *f);

/* Returns the step of the offset if it is proven and a tenth of a second or more, else 0. The
 * messages must have one sender and come in the order in which they were sent. */
int64_t clock_fit_message(struct clock_fit *f, uint64_t stamp_ns, uint64_t received_ns);
/* Feeds the stamp of an event that happened some time before it arrived. Finds only forward steps.
 */
int64_t clock_fit_event(struct clock_fit *f, uint64_t stamp_ns, uint64_t received_ns);
int64_t clock_fit_round_trip(struct clock_fit *f, uint64_t sent_ns, uint64_t stamp_ns,
                             uint64_t received_ns);
/* Declares that the stamps fed from now on are greater by by_ns than they would have been
 * (wraps). */
void clock_fit_shift(struct clock_fit *f, uint64_t by_ns);

struct clock_reading clock_fit_read(const struct clock_fit *f);
/* True: messages suddenly arrive late, and the cause, a delay or a clock, is not known yet. During
 * that time, at most 5 s, the age of a message is not valid. */
bool clock_fit_in_doubt(const struct clock_fit *f, uint64_t now_ns);

#endif
