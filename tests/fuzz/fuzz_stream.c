/* The event stream: any bytes as messages of an agent, then through core, or into the store of
 * stack samples. */
#include "core_test.h"

#include <kprof/base/ring.h>
#include <kprof/core/core.h>
#include <kprof/core/waterfall.h>
#include <kprof/trace/stream.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void feed(struct stream *s, struct core *c, struct ring *r, const uint8_t *p, size_t n)
{
    struct etf rest;
    uint64_t ref;
    const void *ev;
    size_t got;

    stream_feed(s, p, n, 1000, &rest, &ref);
    while ((got = ring_peek(r, &ev)) > 0) {
        core_feed(c, ev, got);
        ring_consume(r, got);
    }
}

static void take_stacks(struct stream *s, struct stack_decoder *d)
{
    struct stack_message *m;

    while ((m = stream_take_stacks(s))) {
        stack_decoder_feed(d, m->bytes, m->n, &m->clock);
        stack_message_free(m);
    }
}

/* Every sample that was read is in the store, or counted as dropped. */
static void stacks_conserve(const struct stack_profile *p, const struct stack_decoder *d)
{
    struct stack_profile_counts c = stack_profile_counts(p);

    if (c.added > stack_decoder_counts(d)->samples || c.left_out > c.added)
        abort();
}

/* For any input, the values of the stored slow requests add up. */
static void fall(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_slow_traces; i++) {
        struct waterfall w;
        waterfall_make(&w, s->slow_traces[i].request);
        uint64_t self = w.omitted_ns;
        for (uint32_t k = 0; k < w.n - w.late; k++)
            self += w.row[k].self_ns;
        if (self != w.whole_ns)
            abort();
        waterfall_release(&w);
    }
}

/* Each VM event has a text, and begins not after the one before it. */
static void tell(const struct snapshot *s)
{
    for (size_t i = 0; i < s->vm.n; i++) {
        char text[VM_EVENT_TEXT_BYTES];
        vm_event_text(&s->vm.of[i], text);
        if (!text[0] || (i && s->vm.of[i].wall_ns > s->vm.of[i - 1].wall_ns))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct core_limits l;
    struct intern *names = intern_new(1000, 1 << 16);
    struct ring *r = ring_new(256, sizeof(struct event));
    struct stream *s = stream_new(r, names);
    struct stack_profile_limits few = {
        .max_samples = 100, .max_texts = 50, .max_frames = 50, .max_stacks = 50};
    struct stack_profile *stacks = stack_profile_new(&few);
    struct stack_decoder *d = stack_decoder_new(stacks);

    core_limits_default(&l);
    l.open_requests = 64;
    l.processes = 64;
    l.slow_entries = 16;
    struct core *c = core_new(&l, names);
    core_tier_add(c, "a", "m:a/1");
    core_tier_add(c, "b", "m:b/1");
    core_set_entry(c, 0);
    core_set_identity(c, true);
    core_set_slow(c, 1);
    struct text_ring *text_ring = text_ring_new(0);
    core_set_text_ring(c, text_ring);
    stream_keep_args(s, text_ring);
    stream_clock(s, 0, 1000000000);
    /* 0x83, the version byte, separates messages, so that one input has several */
    for (size_t from = 0, at = 1; at <= n; at++) {
        if (at == n || data[at] == 0x83) {
            feed(s, c, r, data + from, at - from);
            take_stacks(s, d);
            from = at;
        }
    }
    core_advance(c, core_now(c) + 1000000);
    struct snapshot *snap = core_snapshot(c, WINDOW_10S, 0);
    if (!snapshot_conserves(snap))
        abort();
    fall(snap);
    tell(snap);
    stacks_conserve(stacks, d);
    stack_decoder_free(d);
    stack_profile_free(stacks);
    snapshot_free(snap);
    core_free(c);
    text_ring_free(text_ring);
    stream_free(s);
    ring_free(r);
    intern_free(names);
    return 0;
}
