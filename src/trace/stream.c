#include "stream_impl.h"

#include <stdlib.h>
#include <string.h>

#define COUNTED_MAX (UINT64_C(1) << 48) /* maximum calls, or microseconds, of one message */

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
    s->dropped_before = STREAM_LOAD(dropped);
}

void stream_on_full(struct stream *s, bool (*wait)(void *arg), void *arg)
{
    s->full = wait;
    s->full_arg = arg;
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
    if (age > STREAM_LOAD(oldest))
        STREAM_STORE(oldest, age);
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
        struct event *ev = stream_batch_slot(s, i);
        *ev = head;
        if (!read_counted(c, ev))
            goto bad;
    }
    *stream_batch_slot(s, n) = head; /* pushed first */
    if (s->clock_known)
        stream_push(s, n + 1u);
    return STREAM_COUNTS;
bad:
    STREAM_ADD(bad_events, 1);
    return STREAM_BAD;
}

static void push_mark(struct stream *s, uint32_t module)
{
    uint64_t ts_ns = s->beat_ts_ns > s->last_ts_ns ? s->beat_ts_ns : s->last_ts_ns;

    *stream_batch_slot(s, 0) = (struct event){.ts_ns = ts_ns, .kind = EVENT_MARK, .ident = module};
    stream_push(s, 1);
}

/* One connection keeps the order of messages. So what was sent before the heartbeat has arrived,
 * however long the connection, or this thread, was held up. What was made before it may still be in
 * the relay: at least as long as the last batch was late. */
static uint64_t complete_ns(struct stream *s)
{
    struct clock_reading r = timeline_reading(&s->time);
    int64_t lag_ns = STREAM_LOAD(lag);
    uint64_t late_ns =
        lag_ns > 0 && (uint64_t)lag_ns > STREAM_LATE_NS ? (uint64_t)lag_ns : STREAM_LATE_NS;

    return r.known && !r.in_doubt && s->beat_ts_ns > late_ns ? s->beat_ts_ns - late_ns : 0;
}

static void push_gap(struct stream *s, int reason)
{
    *stream_batch_slot(s, 0) = (struct event){.ts_ns = s->beat_ts_ns,
                                              .prev = complete_ns(s),
                                              .kind = EVENT_GAP,
                                              .ident = (uint32_t)reason};
    stream_push(s, 1);
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
    if (s->notes == STREAM_NOTES) { /* the oldest is dropped */
        s->note_first = (s->note_first + 1) % STREAM_NOTES;
        s->notes--;
    }
    s->note[(s->note_first + s->notes++) % STREAM_NOTES] = note;
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
        STREAM_ADD(bad_events, 1);
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

    *stream_batch_slot(s, 0) = ev;
    stream_push(s, 1);
    STREAM_ADD(offs, 1);
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
    STREAM_ADD(bytes, n);
    *ref = 0;
    if (atomic_load(&s->clock_new))
        take_clock(s);
    if (atomic_load(&s->rule_new) && atomic_exchange(&s->rule_new, false))
        decoder_new_rule(&s->dec);
    if (!etf_version(&c) || !etf_tuple(&c, &arity))
        goto bad;
    if (arity == 5 && etf_is_atom(&c, "kb"))
        return stream_feed_batch(s, &c, now_ns);
    if (arity == 4 && etf_is_atom(&c, "kd"))
        return stream_feed_detail(s, &c, now_ns);
    if (arity == 4 && etf_is_atom(&c, "kv"))
        return stream_feed_vm_events(s, &c, now_ns);
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
    STREAM_ADD(bad_events, 1);
    return STREAM_BAD;
}

void stream_figures(struct stream *s, struct stream_figures *out)
{
    out->events = STREAM_LOAD(events);
    out->details = STREAM_LOAD(details);
    out->vm_lost = STREAM_LOAD(vm_lost);
    out->bad_events = STREAM_LOAD(bad_events);
    out->batches = STREAM_LOAD(batches);
    out->missing_batches = STREAM_LOAD(missing);
    out->target_dropped = STREAM_LOAD(dropped);
    out->bytes = STREAM_LOAD(bytes);
    out->last_event_ns = STREAM_LOAD(last_ns);
    out->offs = STREAM_LOAD(offs);
    out->dropped_stacks = stack_inbox_dropped(&s->stacks);
    out->clock = timeline_reading(&s->time);
    out->lag_ns = STREAM_LOAD(lag);
    out->oldest_ns = STREAM_LOAD(oldest);
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
        s->note_first = (s->note_first + 1) % STREAM_NOTES;
        s->notes--;
    }
    pthread_mutex_unlock(&s->lock);
    return has;
}
