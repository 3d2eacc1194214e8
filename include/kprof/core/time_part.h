/* The parts of the time of a call: what its process did from the start of the call to its end.
 *
 * Invariant: the parts of a call add up to its duration, to the nanosecond. Time that is not known
 * is PART_UNKNOWN and is never added to another part. Plain data; any thread.
 *
 * A call is seen from its own process. While that process waits for a message, the time belongs to
 * PART_MAILBOX until a call of the same request begins in another process (the message is in the
 * mailbox of that process), and to PART_WAIT from then on. Without such a call it is PART_WAIT. */
#ifndef KPROF_CORE_TIME_PART_H
#define KPROF_CORE_TIME_PART_H

#include <stdint.h>

#define PART_WHAT_BYTES 96 /* a name in a slow trace, cut if it is longer */

enum time_part {
    PART_RUN,       /* on a scheduler */
    PART_RUN_QUEUE, /* ready to run, waits for a scheduler */
    PART_GC,        /* garbage collection; of a large heap also its wait for a dirty scheduler */
    PART_DIRTY,     /* in a dirty job, or in the queue of the dirty schedulers */
    PART_PORT,      /* waits for a port */
    PART_WAIT, /* waits for a message: another process works for it, or the sender is not known */
    PART_MAILBOX, /* its message waits in the mailbox of another process */
    PART_UNKNOWN,
    PART_COUNT
};

/* "run" "run queue" "gc" "dirty" "port" "wait" "mailbox" "unknown". */
const char *time_part_name(enum time_part p);
/* For bars without color: 'r' 'q' 'g' 'd' 'p' 'w' 'm' '?'. */
char time_part_letter(enum time_part p);

struct time_parts {
    uint64_t ns[PART_COUNT];
};

/* The parts of the calls of one row, in the window. Values in us; shares are 0..1 and add up to 1.
 */
struct time_part_view {
    uint64_t calls; /* calls whose parts were recorded */
    double mean_us[PART_COUNT], p50_us[PART_COUNT], p99_us[PART_COUNT];
    double share[PART_COUNT];      /* of the sum of the durations of these calls */
    double slow_share[PART_COUNT]; /* the same, of the slowest 1 % of them (at least one call) */
    double slow_from_us;           /* the duration from which a call belongs to the slowest 1 % */
};

/* One piece of a call in a slow trace: contiguous pieces cover the call. Times are node times. */
struct time_part_piece {
    uint64_t from_ns, to_ns;
    uint32_t call; /* index of the call in the slow trace */
    uint8_t part;  /* enum time_part */
    uint32_t what; /* number of a name in the slow trace, from 1: the function in which it waits, or
                      the dirty job; 0: none */
    uint64_t other; /* MAILBOX, WAIT: the process it waits for; 0: not known */
    uint32_t queue; /* MAILBOX; WAIT for a process without a call: length of the mailbox of `other`
                       in this time, plus 1; 0: not known */
};

#endif
