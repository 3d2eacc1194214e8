#include "stream_impl.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MAX      65536u
#define VM_EVENTS_MOST 64

struct event *stream_batch_slot(struct stream *s, size_t n)
{
    if (n == s->batch_cap) {
        size_t cap = n ? n * 2 : 1024;
        struct event *more = realloc(s->batch, cap * sizeof *more);
        if (!more)
            abort();
        s->batch = more;
        s->batch_cap = cap;
    }
    return &s->batch[n];
}

void stream_push(struct stream *s, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct event t = s->batch[i];
        s->batch[i] = s->batch[n - 1 - i];
        s->batch[n - 1 - i] = t;
    }
    for (size_t done = 0; done < n;) {
        size_t room = ring_capacity(s->ring) - ring_fill(s->ring);
        if (room == 0 && s->full && s->full(s->full_arg))
            continue;
        size_t take = n - done < room || room == 0 ? n - done : room;
        ring_push_n(s->ring, s->batch + done,
                    take); /* without room, the ring counts them as lost */
        done += take;
    }
}

static void push_dropped(struct stream *s, uint64_t ts_ns)
{
    struct event ev = {.ts_ns = ts_ns, .kind = EVENT_DROPPED, .pid = UINT64_MAX};

    ring_push_n(s->ring, &ev, 1);
    s->lossy = false;
}

/* Converts the stamps of a batch, newest first, to the time of the session. */
static void date_batch(struct stream *s, size_t n, uint64_t now_ns)
{
    uint64_t lack = timeline_join(&s->time, s->batch[0].ts_ns, now_ns);

    for (size_t i = 0; lack && i < n; i++)
        s->batch[i].ts_ns += lack;
    lack = timeline_event(&s->time, s->batch[0].ts_ns, now_ns);
    for (size_t i = 0; lack && i < n; i++)
        if (timeline_is_ahead(&s->time, s->batch[i].ts_ns, now_ns))
            s->batch[i].ts_ns += lack;
    s->dec.clock.base_ns = s->time.base_ns;
    s->last_ts_ns = s->batch[0].ts_ns;
    STREAM_STORE(last_ns, s->last_ts_ns);
}

/* The ages of the events of a batch of calls, newest first. */
static void take_age(struct stream *s, size_t n, uint64_t now_ns)
{
    int64_t age;

    if (timeline_age(&s->time, s->batch[0].ts_ns, now_ns, &age))
        STREAM_STORE(lag, age);
    uint64_t ts_ns = s->batch[n - 1].ts_ns;
    if (!timeline_age(&s->time, ts_ns, now_ns, &age) || age <= STREAM_LOAD(oldest) ||
        age <= s->older.age_ns)
        return;
    s->older.age_ns = age;
    s->older.ts_ns = ts_ns;
    s->older.arrived_ns = now_ns;
}

/* {kb, Seq, Dropped, Weight, [Message]} */
enum stream_kind stream_feed_batch(struct stream *s, struct etf *c, uint64_t now_ns)
{
    uint64_t seq, dropped, weight;
    uint32_t n;

    if (!etf_u64(c, &seq) || !etf_u64(c, &dropped) || !etf_u64(c, &weight) || !etf_list(c, &n) ||
        n > BATCH_MAX)
        goto bad;
    size_t got = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct event *ev = stream_batch_slot(s, got);
        memset(ev, 0, sizeof *ev);
        enum decode_result r = decode_message(&s->dec, c, ev);
        if (r == DECODE_EVENT) {
            ev->weight = (uint32_t)weight;
            got++;
        } else {
            STREAM_ADD(bad_events, 1);
            if (r == DECODE_BAD)
                break;
        }
    }
    if (got) {
        date_batch(s, got, now_ns);
        take_age(s, got, now_ns);
    }
    s->lossy |=
        s->next_seq && (seq > s->next_seq || s->dropped_before + dropped != STREAM_LOAD(dropped));
    if (s->lossy && got && ring_fill(s->ring) < ring_capacity(s->ring))
        push_dropped(s, s->batch[got - 1].ts_ns);
    uint64_t refused = ring_lost(s->ring);
    stream_push(s, got);
    s->lossy |= ring_lost(s->ring) != refused;
    STREAM_ADD(events, got);
    STREAM_ADD(batches, 1);
    if (s->next_seq && seq > s->next_seq)
        STREAM_ADD(missing, seq - s->next_seq);
    s->next_seq = seq + 1;
    STREAM_STORE(dropped, s->dropped_before + dropped);
    return STREAM_EVENTS;
bad:
    STREAM_ADD(bad_events, 1);
    return STREAM_BAD;
}

/* True: scheduling events ({kd}) were lost before this message. */
static bool detail_gap(struct stream *s, uint64_t seq, uint64_t dropped)
{
    uint64_t refused = ring_lost(s->ring);
    bool lost = refused != s->ring_lost;

    if (s->next_detail)
        lost |= seq != s->next_detail || dropped != s->detail_dropped;
    s->next_detail = seq + 1;
    s->detail_dropped = dropped;
    s->ring_lost = refused;
    return lost;
}

typedef enum decode_result decode_one(struct decoder *d, struct etf *c, struct event *ev);

/* Decodes n messages without a weight into the batch; counts those that are not events. Returns the
 * number of events. stream_feed_batch does not use it: a parameter for the weight makes decoding a
 * batch of calls 2 % slower. */
static size_t decode_list(struct stream *s, struct etf *c, uint32_t n, decode_one *decode)
{
    size_t got = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct event *ev = stream_batch_slot(s, got);
        memset(ev, 0, sizeof *ev);
        enum decode_result r = decode(&s->dec, c, ev);
        if (r == DECODE_EVENT) {
            got++;
        } else {
            STREAM_ADD(bad_events, 1);
            if (r == DECODE_BAD)
                break;
        }
    }
    return got;
}

/* {kd, Seq, Dropped, [Message]}: the scheduling of processes. The node may keep an event until the
 * process runs again, so its age says nothing about delays. */
enum stream_kind stream_feed_detail(struct stream *s, struct etf *c, uint64_t now_ns)
{
    uint64_t seq, dropped;
    uint32_t n;

    if (!etf_u64(c, &seq) || !etf_u64(c, &dropped) || !etf_list(c, &n) || n > BATCH_MAX)
        goto bad;
    size_t got = decode_list(s, c, n, decode_scheduling);
    if (got && detail_gap(s, seq, dropped)) {
        uint64_t last_ns = s->batch[got - 1].ts_ns;

        *stream_batch_slot(s, got) =
            (struct event){.ts_ns = last_ns, .kind = EVENT_UNKNOWN, .pid = UINT64_MAX};
        got++;
    }
    if (got) {
        date_batch(s, got, now_ns);
        stream_push(s, got);
    }
    STREAM_ADD(details, got);
    return STREAM_DETAIL;
bad:
    STREAM_ADD(bad_events, 1);
    return STREAM_BAD;
}

/* The totals of a new sender begin again. */
static void vm_lost(struct stream *s, uint64_t seq, uint64_t lost)
{
    if (seq <= 1 || lost < s->vm_lost_last)
        s->vm_lost_before += s->vm_lost_last;
    s->vm_lost_last = lost;
    STREAM_STORE(vm_lost, s->vm_lost_before + lost);
}

/* {kv, Seq, Lost, [Event]}: events of the VM, newest first */
enum stream_kind stream_feed_vm_events(struct stream *s, struct etf *c, uint64_t now_ns)
{
    uint64_t seq, lost;
    uint32_t n;

    if (!s->clock_known || !etf_u64(c, &seq) || !etf_u64(c, &lost) || !etf_list(c, &n) ||
        n > VM_EVENTS_MOST)
        goto bad;
    size_t got = decode_list(s, c, n, decode_vm_event);
    uint64_t lack = got ? timeline_join(&s->time, s->batch[0].ts_ns, now_ns) : 0;
    for (size_t i = 0; i < got; i++)
        s->batch[i].ts_ns += lack;
    s->dec.clock.base_ns = s->time.base_ns;
    stream_push(s, got);
    vm_lost(s, seq, lost);
    return STREAM_VM_EVENTS;
bad:
    STREAM_ADD(bad_events, 1);
    return STREAM_BAD;
}
