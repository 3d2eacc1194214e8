/* The private state of a stream, and its parts: stream_batch decodes messages with trace events and
 * pushes these to the ring; stream has the rest. For src/trace only. All functions here are called
 * by the reader. */
#ifndef KPROF_TRACE_STREAM_IMPL_H
#define KPROF_TRACE_STREAM_IMPL_H

#include "decode.h"
#include "timeline.h"

#include <kprof/trace/stream.h>
#include <pthread.h>

#define STREAM_NOTES 64u

struct stream {
    struct ring *ring;
    struct decoder dec;
    struct event *batch; /* one batch, newest first as received */
    size_t batch_cap;
    uint64_t next_seq, last_ts_ns, beat_ts_ns;
    uint64_t vm_lost_last, vm_lost_before; /* VM events: of this sender, of those before it */
    uint64_t next_detail, detail_dropped;  /* number of the next {kd, ...}; drops reported so far */
    uint64_t ring_lost;                    /* events that the ring refused before the last {kd} */
    bool (*full)(void *);
    void *full_arg;
    struct {
        _Atomic uint64_t events, details, vm_lost, bad_events, batches, missing, dropped, bytes,
            last_ns, offs;
        _Atomic int64_t lag, oldest;
    } fig;
    uint64_t dropped_before; /* of earlier connections */
    bool lossy;              /* events were dropped before the next ones */
    struct timeline time;
    struct {
        int64_t age_ns; /* 0: none */
        uint64_t ts_ns, arrived_ns;
    } older; /* an event older than fig.oldest, as far as the clocks are known (settle_oldest) */
    struct stack_inbox stacks;
    bool clock_known;      /* of the reader; before that no stamp can be read */
    atomic_bool clock_new; /* stream_clock was called: the reader takes the new clock */
    atomic_bool rule_new;  /* stream_new_rule was called */
    pthread_mutex_t lock;  /* protects the new clock, heartbeat and notes */
    int64_t new_start_native, new_units_per_s;
    struct heartbeat beat;
    bool has_beat;
    struct stream_note note[STREAM_NOTES];
    size_t note_first, notes;
};

/* The figures are read by other threads. */
#define STREAM_LOAD(x)     atomic_load_explicit(&s->fig.x, memory_order_relaxed)
#define STREAM_ADD(x, v)   atomic_fetch_add_explicit(&s->fig.x, (v), memory_order_relaxed)
#define STREAM_STORE(x, v) atomic_store_explicit(&s->fig.x, (v), memory_order_relaxed)

/* Messages with events, after their first element. STREAM_BAD: the message is counted as bad, and
 * what was decoded before that is lost. */
enum stream_kind stream_feed_batch(struct stream *s, struct etf *c, uint64_t now_ns);
enum stream_kind stream_feed_detail(struct stream *s, struct etf *c, uint64_t now_ns);
enum stream_kind stream_feed_vm_events(struct stream *s, struct etf *c, uint64_t now_ns);

/* The nth event of the batch, which the caller fills. The pointer is valid until the next call. */
struct event *stream_batch_slot(struct stream *s, size_t n);
/* The n events of the batch to the ring: they are there newest first. Without room, the ring counts
 * them as lost. */
void stream_push(struct stream *s, size_t n);

#endif
