/* The stream: decodes the agent's messages into event records and status values.
 *
 * Invariant: stream_feed survives any bytes; an event that cannot be read is counted in bad_events,
 * and no part of it is used. Events are pushed in the order in which the relay received them; the
 * ring counts the events that it refuses. Every payload may be recorded and fed again later with
 * the same result. Stamps become one time for the whole session (trace/timeline). stream_feed is
 * for one thread (the reader, or the thread that replays); the status values are atomics, and any
 * thread may read them or call stream_take_*. src/agent/PROTOCOL.md describes the forms. The stream
 * owns its tables and borrows ring and names. */
#ifndef KPROF_TRACE_STREAM_H
#define KPROF_TRACE_STREAM_H

#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/text_ring.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/clock_fit.h>
#include <kprof/trace/heartbeat.h>
#include <kprof/trace/stack_inbox.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An event rarely arrives later than this after a heartbeat that was made at the same time. */
#define STREAM_LATE_NS UINT64_C(150000000)

struct stream;

struct stream_figures {
    uint64_t events, bad_events, batches, missing_batches, target_dropped, bytes, last_event_ns;
    uint64_t vm_lost;           /* VM events that the node did not report */
    uint64_t details;           /* events of the scheduling of processes */
    uint64_t offs;              /* number of {kx,_} received */
    uint64_t dropped_stacks;    /* messages with stack samples that were not taken in time */
    struct clock_reading clock; /* node clock minus local clock */
    /* Ages of events of calls, not of scheduling. oldest: maximum age of an event of the run when
     * it arrived; a greater age counts once a later heartbeat or answer shows the offset of the
     * clocks. lag: age of the newest event of the last batch when it arrived; 0 while the clocks
     * are in doubt (see trace/clock_fit). */
    int64_t oldest_ns, lag_ns;
};

struct stream_note { /* {ke,Tag,Text}: for the session log */
    char tag[32];
    char text[400];
};

enum stream_kind {
    STREAM_BAD,
    STREAM_EVENTS,
    STREAM_DETAIL, /* the scheduling of processes of requests that are followed in detail */
    STREAM_VM_EVENTS,
    STREAM_HEARTBEAT,
    STREAM_COUNTS,
    STREAM_NOTE,
    STREAM_STACKS, /* stack samples, or a full trace: wait for stream_take_stacks */
    STREAM_OFF,
    STREAM_GONE, /* a note that the agent has ended */
    STREAM_REPLY,
    STREAM_RPC
};

struct stream *stream_new(struct ring *ring, struct intern *names);
/* Stores arguments of calls in text_ring, which is borrowed. Must precede the first stream_feed. */
void stream_keep_args(struct stream *s, struct text_ring *text_ring);
/* The identities are made by another rule from now on (see decoder_new_rule). Any thread. */
void stream_new_rule(struct stream *s);
void stream_free(struct stream *s);

/* Sets the node's clock: its value when the VM started, and native units per second (0: not known
 * yet; heartbeats are skipped). Takes effect before the next message and drops data of the last
 * connection (sequence numbers). Any thread. */
void stream_clock(struct stream *s, int64_t start_native, int64_t units_per_s);
/* Sets the function that is called between failed pushes while the ring is full: it returns true to
 * try again, false to drop. NULL: drop. */
void stream_on_full(struct stream *s, bool (*wait)(void *arg), void *arg);

/* Feeds one message with its version byte. For STREAM_REPLY and STREAM_RPC, *rest is at the answer
 * and *ref is set; for STREAM_GONE, *rest is at the reason. */
enum stream_kind stream_feed(struct stream *s, const void *bytes, size_t n, uint64_t now_ns,
                             struct etf *rest, uint64_t *ref);

/* Feeds an answer that the node stamped. sent_ns: local time of the request; now_ns: local time at
 * which the answer arrived. For the thread of stream_feed. */
void stream_round_trip(struct stream *s, uint64_t sent_ns, int64_t native, uint64_t now_ns);

/* Returns the node's current time as timeline_now does (trace/timeline). One thread, other than the
 * thread of stream_feed. */
bool stream_now(struct stream *s, uint64_t now_ns, uint64_t *target_ns);

void stream_figures(struct stream *s, struct stream_figures *out);
bool stream_heartbeat(struct stream *s, struct heartbeat *out); /* false: none yet */
bool stream_take_note(struct stream *s, struct stream_note *out);

/* Returns the oldest message with stack samples, or of a full trace, which the caller frees with
 * stack_message_free; NULL: none. */
struct stack_message *stream_take_stacks(struct stream *s);

#endif
