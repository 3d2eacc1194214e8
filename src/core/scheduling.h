/* Stores what the processes of detailed requests do (on a scheduler or not, garbage collections,
 * messages to servers, the mailbox lengths of these servers), and divides the time of a call into
 * its parts. Private to core.
 *
 * Invariant: the pieces of a call cover it without gaps, in order, so the parts add up to its
 * duration; time for which events are missing is PART_UNKNOWN. The newest SCHEDULING_POINTS events
 * of all processes are stored; a call with older ones begins with unknown time. Events of a process
 * may arrive in any order. Memory is reserved with the first event. One thread. */
#ifndef KPROF_CORE_SCHEDULING_H
#define KPROF_CORE_SCHEDULING_H

#include <kprof/base/intern.h>
#include <kprof/base/map.h>
#include <kprof/core/event.h>
#include <kprof/core/time_part.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SCHEDULING_POINTS = 65536,
    SCHEDULING_PIECES = 256,
    SCHEDULING_CALL_POINTS = 8192,
    SCHEDULING_QUEUES = 1024
};

struct scheduling_point {
    uint64_t ts_ns, pid;
    uint64_t seq;   /* number of this point, from 1 */
    uint64_t older; /* number of the point before it, of this process; 0: none */
    uint64_t other; /* SENT: the process that gets the message */
    uint32_t fn;
    uint8_t kind; /* EVENT_OUT, EVENT_IN, EVENT_GC, EVENT_GC_END, EVENT_UNKNOWN; EVENT_CALL: a call
                     of a tier, EVENT_SENT: a message to a server, so it runs */
    bool dirty;   /* OUT, IN: on a dirty scheduler */
};

/* Length of a mailbox. */
struct scheduling_queue {
    uint64_t ts_ns, pid, length;
};

struct scheduling {
    struct scheduling_point *point; /* a ring, by number; NULL: no event yet */
    uint64_t seq;
    struct map newest;   /* pid -> position of its newest point in time */
    struct map receives; /* function -> whether it waits for messages itself: 1, 0 */
    const struct scheduling_point **walk; /* of one call, while it is divided */
    struct scheduling_queue *queue;       /* a ring; NULL: none yet */
    uint64_t queues;                      /* added to it */
};

/* A call of the same request, in any process; end 0: it has not ended. */
struct scheduling_call {
    uint64_t start_ns, end_ns, pid;
};

struct scheduling_piece {
    uint64_t from_ns, to_ns;
    uint64_t other; /* WAIT, MAILBOX: the process that it waits for; 0: not known */
    uint32_t what;  /* name id of the function in which it waits, or of the dirty job; 0: none */
    uint8_t part;
};

struct scheduling_cut {
    struct time_parts parts;
    struct scheduling_piece piece[SCHEDULING_PIECES];
    size_t n;
    /* The time at the end of the call, for which there was no room in piece: it becomes one piece
     * per part, in the order of enum time_part. */
    struct time_parts rest;
};

void scheduling_init(struct scheduling *s);
void scheduling_release(struct scheduling *s);
/* Stores an event of a kind from EVENT_OUT to EVENT_QUEUE. */
void scheduling_event(struct scheduling *s, const struct event *ev);
/* A call of a detailed request: its process runs. */
void scheduling_runs(struct scheduling *s, uint64_t pid, uint64_t ts_ns);
/* Such a process runs, and is about to send the message of a call to a server. */
void scheduling_sent(struct scheduling *s, uint64_t pid, uint64_t to, uint64_t ts_ns);
/* Returns the length of the mailbox of a process in this time, plus 1: the first that is known; 0:
 * none is. */
uint32_t scheduling_queue_length(const struct scheduling *s, uint64_t pid, uint64_t from_ns,
                                 uint64_t to_ns);
/* Divides a call that has ended into its parts. all: calls of its request by start, the call itself
 * may be among them. */
void scheduling_cut(const struct scheduling *s, const struct intern *names,
                    const struct scheduling_call *call, const struct scheduling_call *all, size_t n,
                    struct scheduling_cut *out);

#endif
