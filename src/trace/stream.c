#include <kprof/trace/stream.h>

#include "decode.h"
#include "timeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX      65536u
#define VM_EVENTS_MOST 64
#define NOTES          64u
#define COUNTED_MAX    (UINT64_C(1) << 48) /* maximum calls, or microseconds, of one message */

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
    struct stream_note note[NOTES];
    size_t note_first, notes;
};

#define LOAD(x)     atomic_load_explicit(&s->fig.x, memory_order_relaxed)
#define ADD(x, v)   atomic_fetch_add_explicit(&s->fig.x, (v), memory_order_relaxed)
#define STORE(x, v) atomic_store_explicit(&s->fig.x, (v), memory_order_relaxed)

struct stream *stream_new(struct ring *ring, struct intern *names)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->ring = ring;
    decoder_init(&s->dec, names);
    pthread_mutex_init(&s->lock, NULL);
    timeline_init(&s->time);
    stack_inbox_init(&s->stacks);
    return s;
}

void stream_keep_args(struct stream *s, struct text_ring *text_ring)
{
    s->dec.text_ring = text_ring;
}

void stream_new_rule(struct stream *s)
{
    atomic_store(&s->rule_new, true);
}

void stream_free(struct stream *s)
{
    if (!s)
        return;
    decoder_release(&s->dec);
    pthread_mutex_destroy(&s->lock);
    timeline_release(&s->time);
    stack_inbox_release(&s->stacks);
    free(s->batch);
    free(s);
}

void stream_clock(struct stream *s, int64_t start_native, int64_t units_per_s)
{
    pthread_mutex_lock(&s->lock);
    s->new_start_native = start_native;
    s->new_units_per_s = units_per_s;
    atomic_store(&s->clock_new, true);
    pthread_mutex_unlock(&s->lock);
}

/* Reader: the clock of a connection takes effect between two messages, never within one. */
static void take_clock(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->clock_new, false);
    s->clock_known = s->new_units_per_s > 0;
    s->dec.clock.start_native = s->new_start_native;
    s->dec.clock.units_per_s = s->clock_known ? s->new_units_per_s : 1000000000;
    s->has_beat = false;
    pthread_mutex_unlock(&s->lock);
    timeline_connect(&s->time, s->clock_known);
    s->next_seq = s->next_detail = 0;
    s->older.age_ns = 0;
    s->dropped_before = LOAD(dropped);
}

void stream_on_full(struct stream *s, bool (*wait)(void *arg), void *arg)
{
    s->full = wait;
    s->full_arg = arg;
}

static struct event *batch_slot(struct stream *s, size_t n)
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

static void push_oldest_first(struct stream *s, size_t n)
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
    STORE(last_ns, s->last_ts_ns);
}

/* The ages of the events of a batch of calls, newest first. */
static void take_age(struct stream *s, size_t n, uint64_t now_ns)
{
    int64_t age;

    if (timeline_age(&s->time, s->batch[0].ts_ns, now_ns, &age))
        STORE(lag, age);
    uint64_t ts_ns = s->batch[n - 1].ts_ns;
    if (!timeline_age(&s->time, ts_ns, now_ns, &age) || age <= LOAD(oldest) ||
        age <= s->older.age_ns)
        return;
    s->older.age_ns = age;
    s->older.ts_ns = ts_ns;
    s->older.arrived_ns = now_ns;
}

/* Called after a heartbeat or an answer. The step of a clock, for example because this machine was
 * suspended, looks like a great age until then. So a greater age counts once the clocks are no
 * longer in doubt, and at most with the value that the present offset gives. */
static void settle_oldest(struct stream *s)
{
    int64_t age = s->older.age_ns, by_new;

    if (!age || timeline_reading(&s->time).in_doubt)
        return;
    s->older.age_ns = 0;
    if (timeline_age(&s->time, s->older.ts_ns, s->older.arrived_ns, &by_new) && by_new < age)
        age = by_new;
    if (age > LOAD(oldest))
        STORE(oldest, age);
}

/* {kb, Seq, Dropped, Weight, [Message]} */
static enum stream_kind feed_batch(struct stream *s, struct etf *c, uint64_t now_ns)
{
    uint64_t seq, dropped, weight;
    uint32_t n;

    if (!etf_u64(c, &seq) || !etf_u64(c, &dropped) || !etf_u64(c, &weight) || !etf_list(c, &n) ||
        n > BATCH_MAX)
        goto bad;
    size_t got = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct event *ev = batch_slot(s, got);
        memset(ev, 0, sizeof *ev);
        enum decode_result r = decode_message(&s->dec, c, ev);
        if (r == DECODE_EVENT) {
            ev->weight = (uint32_t)weight;
            got++;
        } else {
            ADD(bad_events, 1);
            if (r == DECODE_BAD)
                break;
        }
    }
    if (got) {
        date_batch(s, got, now_ns);
        take_age(s, got, now_ns);
    }
    s->lossy |= s->next_seq && (seq > s->next_seq || s->dropped_before + dropped != LOAD(dropped));
    if (s->lossy && got && ring_fill(s->ring) < ring_capacity(s->ring))
        push_dropped(s, s->batch[got - 1].ts_ns);
    uint64_t refused = ring_lost(s->ring);
    push_oldest_first(s, got);
    s->lossy |= ring_lost(s->ring) != refused;
    ADD(events, got);
    ADD(batches, 1);
    if (s->next_seq && seq > s->next_seq)
        ADD(missing, seq - s->next_seq);
    s->next_seq = seq + 1;
    STORE(dropped, s->dropped_before + dropped);
    return STREAM_EVENTS;
bad:
    ADD(bad_events, 1);
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
 * number of events. feed_batch does not use it: a parameter for the weight makes decoding a batch
 * of calls 2 % slower. */
static size_t decode_list(struct stream *s, struct etf *c, uint32_t n, decode_one *decode)
{
    size_t got = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct event *ev = batch_slot(s, got);
        memset(ev, 0, sizeof *ev);
        enum decode_result r = decode(&s->dec, c, ev);
        if (r == DECODE_EVENT) {
            got++;
        } else {
            ADD(bad_events, 1);
            if (r == DECODE_BAD)
                break;
        }
    }
    return got;
}

/* {kd, Seq, Dropped, [Message]}: the scheduling of processes. The node may keep an event until the
 * process runs again, so its age says nothing about delays. */
static enum stream_kind feed_detail(struct stream *s, struct etf *c, uint64_t now_ns)
{
    uint64_t seq, dropped;
    uint32_t n;

    if (!etf_u64(c, &seq) || !etf_u64(c, &dropped) || !etf_list(c, &n) || n > BATCH_MAX)
        goto bad;
    size_t got = decode_list(s, c, n, decode_scheduling);
    if (got && detail_gap(s, seq, dropped)) {
        uint64_t last_ns = s->batch[got - 1].ts_ns;

        *batch_slot(s, got) =
            (struct event){.ts_ns = last_ns, .kind = EVENT_UNKNOWN, .pid = UINT64_MAX};
        got++;
    }
    if (got) {
        date_batch(s, got, now_ns);
        push_oldest_first(s, got);
    }
    ADD(details, got);
    return STREAM_DETAIL;
bad:
    ADD(bad_events, 1);
    return STREAM_BAD;
}

/* The totals of a new sender begin again. */
static void vm_lost(struct stream *s, uint64_t seq, uint64_t lost)
{
    if (seq <= 1 || lost < s->vm_lost_last)
        s->vm_lost_before += s->vm_lost_last;
    s->vm_lost_last = lost;
    STORE(vm_lost, s->vm_lost_before + lost);
}

/* {kv, Seq, Lost, [Event]}: events of the VM, newest first */
static enum stream_kind feed_vm_events(struct stream *s, struct etf *c, uint64_t now_ns)
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
    push_oldest_first(s, got);
    vm_lost(s, seq, lost);
    return STREAM_VM_EVENTS;
bad:
    ADD(bad_events, 1);
    return STREAM_BAD;
}

/* {Ix, Calls}; older agents add their time, which is not accurate and is ignored */
static bool read_counted(struct etf *c, struct event *ev)
{
    uint32_t arity;
    uint64_t tier, calls;

    if (!etf_tuple(c, &arity) || arity < 2 || arity > 3 || !etf_u64(c, &tier) ||
        !etf_u64(c, &calls) || (arity == 3 && !etf_skip(c)))
        return false;
    if (tier >= EVENT_TIERS || calls > COUNTED_MAX)
        return false;
    ev->tier = (uint16_t)tier;
    ev->label = calls;
    return true;
}

/* {kc, SinceNative, MonotonicNative, [{Ix, Calls}]}: one event for the time, and one per tier. */
static enum stream_kind feed_counts(struct stream *s, struct etf *c, uint64_t now_ns)
{
    struct event head = {.kind = EVENT_COUNTED, .tier = UINT16_MAX};
    int64_t since, native;
    uint32_t n;

    if (!etf_i64(c, &since) || !etf_i64(c, &native) || since > native || !etf_list(c, &n) ||
        n > EVENT_TIERS)
        goto bad;
    head.ts_ns = node_clock_ns(&s->dec.clock, native);
    head.label = head.ts_ns - node_clock_ns(&s->dec.clock, since);
    head.ts_ns += timeline_join(&s->time, head.ts_ns, now_ns);
    s->dec.clock.base_ns = s->time.base_ns;
    for (uint32_t i = 0; i < n; i++) {
        struct event *ev = batch_slot(s, i);
        *ev = head;
        if (!read_counted(c, ev))
            goto bad;
    }
    *batch_slot(s, n) = head; /* pushed first */
    if (s->clock_known)
        push_oldest_first(s, n + 1u);
    return STREAM_COUNTS;
bad:
    ADD(bad_events, 1);
    return STREAM_BAD;
}

static void push_mark(struct stream *s, uint32_t module)
{
    uint64_t ts_ns = s->beat_ts_ns > s->last_ts_ns ? s->beat_ts_ns : s->last_ts_ns;

    *batch_slot(s, 0) = (struct event){.ts_ns = ts_ns, .kind = EVENT_MARK, .ident = module};
    push_oldest_first(s, 1);
}

/* One connection keeps the order of messages. So what was sent before the heartbeat has arrived,
 * however long the connection, or this thread, was held up. What was made before it may still be in
 * the relay: at least as long as the last batch was late. */
static uint64_t complete_ns(struct stream *s)
{
    struct clock_reading r = timeline_reading(&s->time);
    int64_t lag_ns = LOAD(lag);
    uint64_t late_ns =
        lag_ns > 0 && (uint64_t)lag_ns > STREAM_LATE_NS ? (uint64_t)lag_ns : STREAM_LATE_NS;

    return r.known && !r.in_doubt && s->beat_ts_ns > late_ns ? s->beat_ts_ns - late_ns : 0;
}

static void push_gap(struct stream *s, int reason)
{
    *batch_slot(s, 0) = (struct event){.ts_ns = s->beat_ts_ns,
                                       .prev = complete_ns(s),
                                       .kind = EVENT_GAP,
                                       .ident = (uint32_t)reason};
    push_oldest_first(s, 1);
}

/* {kh, MonotonicNative, #{...}} */
static enum stream_kind feed_heartbeat(struct stream *s, struct etf *c, uint64_t now_ns)
{
    struct heartbeat b;
    int64_t native;

    if (!etf_i64(c, &native) || !heartbeat_read(c, &b))
        return STREAM_BAD;
    b.ts_ns = node_clock_ns(&s->dec.clock, native);
    b.received_ns = now_ns;
    if (!s->clock_known)
        return STREAM_HEARTBEAT;
    b.ts_ns += timeline_join(&s->time, b.ts_ns, now_ns);
    b.ts_ns += timeline_beat(&s->time, b.ts_ns, now_ns);
    s->dec.clock.base_ns = s->time.base_ns;
    settle_oldest(s);
    pthread_mutex_lock(&s->lock);
    s->beat = b;
    s->has_beat = true;
    pthread_mutex_unlock(&s->lock);
    s->beat_ts_ns = b.ts_ns;
    if (b.gap >= 0)
        push_gap(s, b.gap);
    return STREAM_HEARTBEAT;
}

static enum stream_kind feed_note(struct stream *s, struct etf *c, struct etf *reason)
{
    const char *tag;
    const uint8_t *text;
    size_t tag_n, n;
    struct stream_note note = {{0}, {0}};

    if (!etf_atom(c, &tag, &tag_n))
        return STREAM_BAD;
    *reason = *c;
    if (!etf_string(c, &text, &n))
        return STREAM_BAD;
    if (tag_n == 4 && memcmp(tag, "mark", 4) == 0) { /* gives no line in the log */
        push_mark(s, intern_add(s->dec.names, (const char *)text, n < 255 ? n : 255));
        return STREAM_NOTE;
    }
    memcpy(note.tag, tag, tag_n < sizeof note.tag - 1 ? tag_n : sizeof note.tag - 1);
    memcpy(note.text, text, n < sizeof note.text - 1 ? n : sizeof note.text - 1);
    pthread_mutex_lock(&s->lock);
    if (s->notes == NOTES) { /* the oldest is dropped */
        s->note_first = (s->note_first + 1) % NOTES;
        s->notes--;
    }
    s->note[(s->note_first + s->notes++) % NOTES] = note;
    pthread_mutex_unlock(&s->lock);
    return strcmp(note.tag, "gone") == 0 ? STREAM_GONE : STREAM_NOTE;
}

/* {ks | kf, Seq, MonotonicNative, ...}: queued, and decoded by the owner of the profile. */
static enum stream_kind feed_stacks(struct stream *s, struct etf *c, const void *bytes, size_t n,
                                    uint64_t now_ns)
{
    uint64_t seq;
    int64_t native;

    if (!s->clock_known || !etf_u64(c, &seq) || !etf_i64(c, &native)) {
        ADD(bad_events, 1);
        return STREAM_BAD;
    }
    timeline_join(&s->time, node_clock_ns(&s->dec.clock, native), now_ns);
    s->dec.clock.base_ns = s->time.base_ns;
    stack_inbox_put(&s->stacks, bytes, n, &s->dec.clock);
    return STREAM_STACKS;
}

struct stack_message *stream_take_stacks(struct stream *s)
{
    return stack_inbox_take(&s->stacks);
}

static enum stream_kind feed_off(struct stream *s)
{
    struct event ev = {.ts_ns = s->last_ts_ns, .kind = EVENT_FLUSH, .pid = UINT64_MAX};

    *batch_slot(s, 0) = ev;
    push_oldest_first(s, 1);
    ADD(offs, 1);
    return STREAM_OFF;
}

void stream_round_trip(struct stream *s, uint64_t sent_ns, int64_t native, uint64_t now_ns)
{
    if (atomic_load(&s->clock_new))
        take_clock(s);
    if (s->clock_known)
        timeline_round_trip(&s->time, sent_ns, node_clock_ns(&s->dec.clock, native), now_ns);
    s->dec.clock.base_ns = s->time.base_ns;
    if ((int64_t)(sent_ns - s->older.arrived_ns) >= 0)
        settle_oldest(s);
}

bool stream_now(struct stream *s, uint64_t now_ns, uint64_t *target_ns)
{
    return timeline_now(&s->time, now_ns, target_ns);
}

enum stream_kind stream_feed(struct stream *s, const void *bytes, size_t n, uint64_t now_ns,
                             struct etf *rest, uint64_t *ref)
{
    struct etf c;
    uint32_t arity;

    etf_init(&c, bytes, n);
    ADD(bytes, n);
    *ref = 0;
    if (atomic_load(&s->clock_new))
        take_clock(s);
    if (atomic_load(&s->rule_new) && atomic_exchange(&s->rule_new, false))
        decoder_new_rule(&s->dec);
    if (!etf_version(&c) || !etf_tuple(&c, &arity))
        goto bad;
    if (arity == 5 && etf_is_atom(&c, "kb"))
        return feed_batch(s, &c, now_ns);
    if (arity == 4 && etf_is_atom(&c, "kd"))
        return feed_detail(s, &c, now_ns);
    if (arity == 4 && etf_is_atom(&c, "kv"))
        return feed_vm_events(s, &c, now_ns);
    if (arity == 4 && etf_is_atom(&c, "kc"))
        return feed_counts(s, &c, now_ns);
    if (arity == 3 && etf_is_atom(&c, "kh"))
        return feed_heartbeat(s, &c, now_ns);
    if ((arity == 9 && etf_is_atom(&c, "ks")) || (arity == 7 && etf_is_atom(&c, "kf")))
        return feed_stacks(s, &c, bytes, n, now_ns);
    if (arity == 3 && etf_is_atom(&c, "ke"))
        return feed_note(s, &c, rest);
    if (arity == 2 && etf_is_atom(&c, "kx"))
        return feed_off(s);
    if (arity == 3 && etf_is_atom(&c, "kr") && etf_u64(&c, ref)) {
        *rest = c;
        return STREAM_REPLY;
    }
    if (arity == 2 && etf_u64(&c, ref)) {
        *rest = c;
        return STREAM_RPC;
    }
bad:
    ADD(bad_events, 1);
    return STREAM_BAD;
}

void stream_figures(struct stream *s, struct stream_figures *out)
{
    out->events = LOAD(events);
    out->details = LOAD(details);
    out->vm_lost = LOAD(vm_lost);
    out->bad_events = LOAD(bad_events);
    out->batches = LOAD(batches);
    out->missing_batches = LOAD(missing);
    out->target_dropped = LOAD(dropped);
    out->bytes = LOAD(bytes);
    out->last_event_ns = LOAD(last_ns);
    out->offs = LOAD(offs);
    out->dropped_stacks = stack_inbox_dropped(&s->stacks);
    out->clock = timeline_reading(&s->time);
    out->lag_ns = LOAD(lag);
    out->oldest_ns = LOAD(oldest);
}

bool stream_heartbeat(struct stream *s, struct heartbeat *out)
{
    pthread_mutex_lock(&s->lock);
    bool has = s->has_beat;
    *out = s->beat;
    pthread_mutex_unlock(&s->lock);
    return has;
}

bool stream_take_note(struct stream *s, struct stream_note *out)
{
    pthread_mutex_lock(&s->lock);
    bool has = s->notes > 0;
    if (has) {
        *out = s->note[s->note_first];
        s->note_first = (s->note_first + 1) % NOTES;
        s->notes--;
    }
    pthread_mutex_unlock(&s->lock);
    return has;
}
