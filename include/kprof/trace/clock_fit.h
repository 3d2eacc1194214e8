/* The fit of two clocks: offset and drift of the target's to ours, and how wrong they may be.
 *
 * Every message bounds the offset (target clock minus ours) from one side each: a message stamped
 * T and received at R says it is at least T - R; an answer stamped T to what was sent at S says it
 * is at most T - S; a round trip says both. Of each two seconds the tightest bound of each side is
 * kept, for ten minutes; the drift is that of the lines between the bounds (see base/envelope); a
 * bound loosens as it ages, by what the drift may be wrong; the offset is the middle of the
 * tightest two, the error half their distance. After Duda, Harrus, Haddad, Bernard, "Estimating
 * global time in distributed systems" (ICDCS 1987: bounds from both sides, hulls), and the clock
 * filter of RFC 5905, section 10 (least delay, dispersion that grows with age).
 *
 * Where only messages came (a recording without round trips) the offset is that of the least delay,
 * and how long that was is not known: `bounded` is false.
 *
 * Steps: bounds that contradict each other prove that a clock was set, slept or was paused; the
 * newest is the truth, the fit begins anew with it. So do stamps that go back. With messages alone
 * a step back shows as delay: when some in a row are late by the same it is taken for a step, and
 * when the least delay of a minute is longer than it was, for drift.
 *
 * Invariant: whatever the stamps are nothing overflows and no memory is asked for. If no clock
 * steps, delays are not negative and drift changes slower than `wander` says, the true offset is
 * within the error where the reading is bounded. Pure: time comes in. One thread; a reading is a
 * value for any. Unit: ns; drift as a ratio, 1e-6 is 1 ppm. */
#ifndef KPROF_TRACE_CLOCK_FIT_H
#define KPROF_TRACE_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_FIT_BUCKET_NS UINT64_C(2000000000)
#define CLOCK_FIT_BUCKETS   300u

struct clock_reading {
    bool known;       /* false: nothing has come, all else is 0 */
    bool bounded;     /* false: error_ns is not known, and 0 */
    bool drift_known; /* false: not for long enough; drift is a guess */
    bool in_doubt;    /* as clock_fit_in_doubt at that time */
    uint64_t at_ns;   /* our clock, when */
    int64_t offset_ns;
    double drift;
    double error_ns, wander; /* it grows by that ratio with time */
};

/* At another time of our clock, some way from at_ns. */
int64_t clock_reading_offset(const struct clock_reading *r, uint64_t now_ns);
double clock_reading_error_ns(const struct clock_reading *r, uint64_t now_ns);

enum clock_fit_side { CLOCK_FIT_LOW, CLOCK_FIT_HIGH, CLOCK_FIT_SIDES };

struct clock_fit_bound {
    bool has;
    uint64_t at_ns;
    int64_t offset_ns;
};

struct clock_fit { /* its inside is its own */
    struct {
        uint64_t id; /* its time / CLOCK_FIT_BUCKET_NS */
        struct clock_fit_bound side[CLOCK_FIT_SIDES];
    } bucket[CLOCK_FIT_BUCKETS];
    struct clock_fit_bound best[CLOCK_FIT_SIDES]; /* the tightest, with their age */
    uint64_t fit_id;                              /* the bucket in which it was fitted last */
    double drift, wander, noise_ns;
    double proven_drift; /* 0, or of a clock that is put right just now */
    bool drift_known;
    unsigned messages;              /* up to a few */
    uint64_t stamp_ns, received_ns; /* of the last message */
    struct clock_fit_bound begun;   /* where it began anew last */
    uint64_t late_ns;               /* since when messages come late; 0: they do not */
    bool late_sure;                 /* the clocks have been asked since */
    struct clock_fit_bound run;     /* the first of messages that are late by the same, */
    unsigned run_n;                 /* and how many they are */
};

void clock_fit_init(struct clock_fit *f);

/* -> by how much the offset has stepped, where that is proven and a tenth of a second or more; 0.
 * Messages of one sender, which come in the order they were sent. */
int64_t clock_fit_message(struct clock_fit *f, uint64_t stamp_ns, uint64_t received_ns);
/* A stamp of something that happened some time before it came: tells steps ahead only. */
int64_t clock_fit_event(struct clock_fit *f, uint64_t stamp_ns, uint64_t received_ns);
int64_t clock_fit_round_trip(struct clock_fit *f, uint64_t sent_ns, uint64_t stamp_ns,
                             uint64_t received_ns);
/* Stamps that are fed from now on read so much more than they would have (wraps). */
void clock_fit_shift(struct clock_fit *f, uint64_t by_ns);

struct clock_reading clock_fit_read(const struct clock_fit *f);
/* Messages come late of a sudden, and it is not known yet whether they or a clock are at fault: for
 * at most 5 s the age of what comes says nothing. */
bool clock_fit_in_doubt(const struct clock_fit *f, uint64_t now_ns);

#endif
