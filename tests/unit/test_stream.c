/* trace/decode and trace/stream: messages of the agent, complete, cut and invalid. */
#include "agent_terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/core/event.h>
#include <kprof/core/vm_event.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/stream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct intern *names;
    struct ring *ring;
    struct stream *s;
    struct buf m;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->names = intern_new(1000, 1 << 16);
    f->ring = ring_new(64, sizeof(struct event));
    f->s = stream_new(f->ring, f->names);
    stream_clock(f->s, -576460752303423488, 1000000000);
    buf_init(&f->m, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    stream_free(f->s);
    ring_free(f->ring);
    intern_free(f->names);
    buf_release(&f->m);
    free(f);
    return 0;
}

static void head(struct buf *b, uint32_t arity, uint32_t id, const char *kind)
{
    enc_tuple(b, arity);
    enc_atom(b, "trace_ts");
    agent_pid(b, "app@host", id, 3);
    enc_atom(b, kind);
}

static void stamp(struct buf *b, int64_t ns)
{
    enc_i64(b, -576460752303423488 + ns);
}

static void batch_after(struct buf *b, uint64_t seq, uint64_t dropped, uint32_t n)
{
    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 5);
    enc_atom(b, "kb");
    enc_u64(b, seq);
    enc_u64(b, dropped);
    enc_u64(b, 10); /* weight */
    enc_list(b, n);
}

static void batch(struct buf *b, uint64_t seq, uint32_t n)
{
    batch_after(b, seq, 7, n);
}

/* Newest first: the entry's return, a tier's call, the entry's call. */
static void request(struct buf *b)
{
    batch(b, 1, 3);
    head(b, 5, 42, "return_to");
    agent_mfa(b, "caller", "f", 0);
    stamp(b, 3000);

    head(b, 6, 43, "call");
    agent_mfa(b, "db", "q", 2);
    enc_tuple(b, 4);
    enc_u64(b, 1);
    enc_u64(b, UINT64_C(5) << 32 | 77);
    enc_atom(b, "undefined");
    enc_str(b, "read");
    stamp(b, 2000);

    head(b, 6, 42, "call");
    agent_mfa(b, "web", "handle", 1);
    enc_tuple(b, 6);
    enc_u64(b, 0);
    enc_u64(b, UINT64_C(5) << 32 | 77);
    agent_mfa(b, "caller", "f", 0);
    enc_atom(b, "undefined");
    enc_atom(b, "true");
    agent_pid(b, "app@host", 42, 3);
    stamp(b, 1000);
    enc_nil(b);
}

/* A call of a tier with arguments: {Caller, {{{V},false,false,false,false}}}. */
static void told(struct buf *b)
{
    batch(b, 1, 1);
    head(b, 6, 43, "call");
    agent_mfa(b, "db", "q", 1);
    enc_tuple(b, 3);
    enc_u64(b, 1);
    enc_u64(b, 77);
    enc_tuple(b, 2);
    agent_mfa(b, "caller", "f", 0);
    enc_tuple(b, 1);
    enc_tuple(b, 5);
    enc_tuple(b, 1);
    enc_str(b, "key");
    for (int i = 0; i < 4; i++)
        enc_atom(b, "false");
    stamp(b, 2000);
    enc_nil(b);
}

/* A message to a server, and the return of its sender: newest first. */
static void sent(struct buf *b)
{
    batch(b, 1, 2);
    head(b, 5, 42, "return_to");
    agent_mfa(b, "gen_server", "call", 3);
    stamp(b, 3000);
    head(b, 6, 42, "call");
    agent_mfa(b, "gen", "do_call", 4);
    enc_tuple(b, 3);
    agent_pid(b, "app@host", 43, 3);
    enc_u64(b, UINT64_C(5) << 32 | 77);
    agent_mfa(b, "gen_server", "call", 3);
    stamp(b, 1000);
    enc_nil(b);
}

static enum stream_kind feed_at(struct fixture *f, const struct buf *b, uint64_t now_ns)
{
    struct etf rest;
    uint64_t ref;
    return stream_feed(f->s, b->data, b->len, now_ns, &rest, &ref);
}

static enum stream_kind feed(struct fixture *f, const struct buf *b)
{
    return feed_at(f, b, 500);
}

static void test_arguments(void **state)
{
    struct fixture *f = *state;
    struct text_ring *text_ring = text_ring_new(0);
    const void *p;
    char text[100];

    told(&f->m);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS); /* nothing stores them */
    stream_keep_args(f->s, text_ring);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 2);
    const struct event *ev = p;
    assert_int_equal(ev[0].args, 0);
    assert_string_equal(intern_str(f->names, ev[0].caller), "caller:f/0");
    assert_string_equal(intern_str(f->names, ev[1].caller), "caller:f/0");
    assert_true(text_ring_get(text_ring, ev[1].args, text, sizeof text));
    assert_string_equal(text, "[<<\"key\">>]");
    text_ring_free(text_ring);
}

static void test_a_request_in_order(void **state)
{
    struct fixture *f = *state;
    const void *p;

    request(&f->m);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 3);
    const struct event *ev = p;
    assert_int_equal(ev[0].kind, EVENT_ENTRY);
    assert_int_equal(ev[0].ts_ns, 1000);
    assert_int_equal(ev[0].pid, UINT64_C(3) << 32 | 42);
    assert_int_equal(ev[0].label, UINT64_C(5) << 32 | 77);
    assert_int_equal(ev[0].prev, UINT64_C(1) << 63 | UINT64_C(3) << 32 | 42);
    assert_int_equal(ev[0].weight, 10);
    assert_int_equal(ev[0].ident, 0);
    assert_string_equal(intern_str(f->names, ev[0].fn), "web:handle/1");
    assert_string_equal(intern_str(f->names, ev[0].caller), "caller:f/0");
    assert_int_equal(ev[1].kind, EVENT_CALL);
    assert_int_equal(ev[1].tier, 1);
    assert_string_equal(intern_str(f->names, ev[1].ident), "read");
    assert_string_equal(intern_str(f->names, ev[1].fn), "db:q/2");
    assert_int_equal(ev[1].caller, 0);
    assert_int_equal(ev[2].kind, EVENT_RETURN_TO);
    assert_int_equal(ev[2].fn, ev[0].caller);
    assert_int_equal(ev[2].ts_ns, 3000);
}

/* A call with a rule path(...), as the relay sends it. */
static void path_call(struct buf *b, uint64_t seq, const char *text)
{
    batch(b, seq, 1);
    head(b, 6, 42, "call");
    agent_mfa(b, "web", "handle", 1);
    enc_tuple(b, 4);
    enc_u64(b, 0);
    enc_u64(b, 77);
    enc_atom(b, "undefined");
    enc_tuple(b, 2);
    enc_atom(b, "get");
    enc_tuple(b, 2);
    enc_atom(b, "kprof path");
    enc_str(b, text);
    stamp(b, (int64_t)seq * 1000);
    enc_nil(b);
}

static void test_many_paths_are_one_name(void **state)
{
    struct fixture *f = *state;
    const void *p;
    char text[40];
    uint32_t ident = 0, known = 0;

    for (uint64_t i = 1; i <= 100000; i++) {
        snprintf(text, sizeof text, "/item/%llu?x=1", (unsigned long long)(i * 7919));
        path_call(&f->m, i, text);
        assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
        size_t n = ring_peek(f->ring, &p);
        const struct event *ev = p;
        assert_true(n > 0 && ev[n - 1].kind == EVENT_CALL);
        if (i == 1) {
            ident = ev[n - 1].ident;
            known = intern_count(f->names);
            assert_string_equal(intern_str(f->names, ident), "get /item/*");
        }
        assert_int_equal(ev[n - 1].ident, ident);
        ring_consume(f->ring, n);
    }
    assert_int_equal(intern_count(f->names), known);
}

static void test_returns_of_full_mode(void **state)
{
    struct fixture *f = *state;
    const void *p;

    batch(&f->m, 1, 2);
    head(&f->m, 6, 42, "exception_from");
    agent_mfa(&f->m, "db", "q", 2);
    enc_tuple(&f->m, 2);
    enc_atom(&f->m, "error");
    enc_u64(&f->m, 0);
    stamp(&f->m, 20);
    head(&f->m, 6, 42, "return_from");
    agent_mfa(&f->m, "db", "q", 2);
    enc_u64(&f->m, 0);
    stamp(&f->m, 10);
    enc_nil(&f->m);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 2);
    const struct event *ev = p;
    assert_int_equal(ev[0].kind, EVENT_RETURN);
    assert_int_equal(ev[1].kind, EVENT_EXCEPTION);
    assert_int_equal(ev[0].fn, ev[1].fn);
}

/* Newest first: the length of a mailbox, the state is not known from then on, what a function does,
 * a garbage collection, in, out. */
static void details(struct buf *b, uint64_t seq, uint64_t dropped)
{
    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 4);
    enc_atom(b, "kd");
    enc_u64(b, seq);
    enc_u64(b, dropped);
    enc_list(b, 7);
    head(b, 5, 42, "queue");
    enc_u64(b, 37);
    stamp(b, 6500);
    head(b, 5, 42, "off");
    enc_u64(b, 0);
    stamp(b, 6000);
    head(b, 6, 42, "receives");
    agent_mfa(b, "gen", "do_call", 4);
    enc_u64(b, 1);
    stamp(b, 5500);
    head(b, 5, 42, "gc_major_end");
    enc_u64(b, 0);
    stamp(b, 5000);
    head(b, 5, 42, "gc_minor_start");
    enc_u64(b, 0);
    stamp(b, 4000);
    head(b, 6, 42, "in");
    enc_u64(b, 0);
    enc_u64(b, 0);
    stamp(b, 3000);
    head(b, 6, 42, "out");
    agent_mfa(b, "gen", "do_call", 4);
    enc_u64(b, 2);
    stamp(b, 2000);
    enc_nil(b);
}

static void test_scheduling(void **state)
{
    static const enum event_kind kinds[] = {EVENT_OUT,      EVENT_IN,      EVENT_GC,   EVENT_GC_END,
                                            EVENT_RECEIVES, EVENT_UNKNOWN, EVENT_QUEUE};
    struct fixture *f = *state;
    struct stream_figures fig;
    const void *p;

    details(&f->m, 1, 7);
    assert_int_equal(feed(f, &f->m), STREAM_DETAIL);
    assert_int_equal(ring_peek(f->ring, &p), 7);
    const struct event *ev = p;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(ev[i].kind, kinds[i]);
        assert_int_equal(ev[i].pid, UINT64_C(3) << 32 | 42);
    }
    assert_int_equal(ev[0].ts_ns, 2000);
    assert_int_equal(ev[0].tier, 2); /* its scheduler */
    assert_string_equal(intern_str(f->names, ev[0].fn), "gen:do_call/4");
    assert_int_equal(ev[1].fn, 0);
    assert_int_equal(ev[1].tier, 0);
    assert_int_equal(ev[4].fn, ev[0].fn);
    assert_int_equal(ev[4].tier, 1);
    assert_int_equal(ev[5].ts_ns, 6000);
    assert_int_equal(ev[6].ts_ns, 6500);
    assert_int_equal(ev[6].label, 37);
    stream_figures(f->s, &fig);
    assert_int_equal(fig.details, 7);
    assert_int_equal(fig.bad_events, 0);
}

/* Before the events after a loss, one says that nothing is known. */
static void test_lost_scheduling(void **state)
{
    static const struct {
        uint64_t seq, dropped;
        bool lost;
    } feeds[] = {{1, 7, false}, {2, 7, false}, {4, 7, true}, {5, 8, true}, {6, 8, false}};
    struct fixture *f = *state;
    const void *p;

    for (size_t i = 0; i < sizeof feeds / sizeof *feeds; i++) {
        details(&f->m, feeds[i].seq, feeds[i].dropped);
        assert_int_equal(feed(f, &f->m), STREAM_DETAIL);
        size_t n = ring_peek(f->ring, &p);
        const struct event *ev = p;
        assert_int_equal(n, feeds[i].lost ? 8 : 7);
        assert_int_equal(ev[0].kind, feeds[i].lost ? EVENT_UNKNOWN : EVENT_OUT);
        assert_int_equal(ev[0].pid == UINT64_MAX, feeds[i].lost);
        ring_consume(f->ring, n);
    }
}

/* The message of the fixture, cut anywhere and with changed bytes: nothing is read beyond the end,
 * what is malformed is counted, and every event of the VM has a kind. */
static void feed_malformed(struct fixture *f, unsigned seed)
{
    struct stream_figures fig;
    struct etf rest;
    uint64_t ref;
    const void *p;

    for (size_t n = 0; n < f->m.len + 2000; n++) {
        size_t len = n < f->m.len ? n : f->m.len;
        char *exact = malloc(len ? len : 1);
        memcpy(exact, f->m.data, len);
        for (int k = 0; n >= f->m.len && k < 3; k++)
            exact[(size_t)rand_r(&seed) % len] = (char)rand_r(&seed);
        stream_feed(f->s, exact, len, 0, &rest, &ref);
        free(exact);
        size_t got = ring_peek(f->ring, &p);
        for (size_t i = 0; i < got; i++) {
            const struct event *ev = (const struct event *)p + i;
            assert_true(ev->kind != EVENT_VM || ev->tier < VM_EVENT_COUNT);
        }
        ring_consume(f->ring, got);
    }
    stream_figures(f->s, &fig);
    assert_true(fig.bad_events > f->m.len / 2);
}

static void test_malformed_scheduling(void **state)
{
    struct fixture *f = *state;

    details(&f->m, 1, 0);
    feed_malformed(f, 20261123u);
}

/* Newest first: events of the VM of each kind. */
static void vm_events(struct buf *b, uint64_t seq, uint64_t lost)
{
    static const struct {
        const char *kind;
        uint64_t us, value;
    } of[] = {{"long_message_queue", 0, 0},  {"long_message_queue", 0, 1000},
              {"busy_port", 0, 0},           {"long_schedule", 73000, 0},
              {"large_heap", 0, UINT64_MAX}, {"long_gc", 84000, 65000000}};

    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 4);
    enc_atom(b, "kv");
    enc_u64(b, seq);
    enc_u64(b, lost);
    enc_list(b, 6);
    for (int i = 0; i < 6; i++) {
        enc_tuple(b, 6);
        enc_atom(b, of[i].kind);
        if (i == 3)
            enc_u64(b, 0); /* of a port */
        else
            agent_pid(b, "app@host", 42, 3);
        stamp(b, 600000000 - i * 1000);
        enc_u64(b, of[i].us);
        enc_u64(b, of[i].value);
        if (i == 2 || i == 3)
            enc_binary(b, "#Port<0.5>", 10);
        else if (i == 5)
            agent_mfa(b, "lists", "sort", 1);
        else
            enc_u64(b, 0);
    }
    enc_nil(b);
}

static void test_vm_events(void **state)
{
    static const enum vm_event_kind kinds[] = {VM_EVENT_LONG_GC,       VM_EVENT_LARGE_HEAP,
                                               VM_EVENT_LONG_SCHEDULE, VM_EVENT_BUSY_PORT,
                                               VM_EVENT_LONG_QUEUE,    VM_EVENT_LONG_QUEUE};
    /* the totals of a new sender begin again */
    static const uint64_t seq[] = {1, 2, 1, 2, 3}, lost[] = {0, 7, 0, 4, 4},
                          sum[] = {0, 7, 7, 11, 11};
    struct fixture *f = *state;
    struct stream_figures fig;
    const void *p;

    for (int k = 0; k < 5; k++) {
        vm_events(&f->m, seq[k], lost[k]);
        assert_int_equal(feed(f, &f->m), STREAM_VM_EVENTS);
        stream_figures(f->s, &fig);
        assert_int_equal(fig.vm_lost, sum[k]);
        assert_int_equal(ring_peek(f->ring, &p), 6);
        const struct event *ev = p;
        for (int i = 0; i < 6; i++) {
            assert_int_equal(ev[i].kind, EVENT_VM);
            assert_int_equal(ev[i].tier, kinds[i]);
            assert_int_equal(ev[i].pid, i == 2 ? 0 : UINT64_C(3) << 32 | 42);
            assert_int_equal(ev[i].ts_ns, 600000000 - (5 - i) * 1000);
        }
        assert_int_equal(ev[0].prev, 84000000);
        assert_int_equal(ev[0].label, 65000000);
        assert_string_equal(intern_str(f->names, ev[0].fn), "lists:sort/1");
        assert_int_equal(ev[1].fn, 0);
        assert_string_equal(intern_str(f->names, ev[2].fn), "#Port<0.5>");
        assert_int_equal(ev[4].label, 1000);
        assert_int_equal(ev[5].label, 0);
        ring_consume(f->ring, 6);
    }
    assert_int_equal(fig.bad_events, 0);
    assert_int_equal(fig.events, 0); /* they are no calls */
}

static void test_malformed_vm_events(void **state)
{
    struct fixture *f = *state;

    vm_events(&f->m, 1, 0);
    feed_malformed(f, 20261124u);
}

static void test_a_message_to_a_server(void **state)
{
    struct fixture *f = *state;
    struct stream_figures fig;
    const void *p;
    struct event ev[2];

    sent(&f->m);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 2);
    memcpy(ev, p, sizeof ev);
    assert_int_equal(ev[0].kind, EVENT_SENT);
    assert_int_equal(ev[0].pid, UINT64_C(3) << 32 | 42);
    assert_int_equal(ev[0].prev, UINT64_C(3) << 32 | 43);
    assert_int_equal(ev[0].label, UINT64_C(5) << 32 | 77);
    assert_int_equal(ev[0].caller, ev[1].fn);
    assert_int_equal(ev[1].kind, EVENT_RETURN_TO);
    stream_figures(f->s, &fig);
    assert_int_equal(fig.bad_events, 0);
}

static void every_truncation(struct fixture *f)
{
    struct stream_figures fig;
    const void *p;

    for (size_t n = 0; n < f->m.len; n++) {
        char *exact = malloc(n ? n : 1); /* so that the sanitizer detects a read past the end */
        struct etf rest;
        uint64_t ref;
        memcpy(exact, f->m.data, n);
        stream_feed(f->s, exact, n, 0, &rest, &ref);
        free(exact);
        ring_consume(f->ring, ring_peek(f->ring, &p));
    }
    stream_figures(f->s, &fig);
    assert_true(fig.bad_events > 0);
}

static void test_every_truncation(void **state)
{
    struct fixture *f = *state;

    request(&f->m);
    every_truncation(f);
    sent(&f->m);
    every_truncation(f);
}

static void test_unknown_messages_are_passed_over(void **state)
{
    struct fixture *f = *state;
    struct stream_figures fig;
    const void *p;

    batch(&f->m, 1, 2);
    enc_atom(&f->m, "what");
    head(&f->m, 5, 42, "return_to");
    agent_mfa(&f->m, "a", "b", 0);
    stamp(&f->m, 10);
    enc_nil(&f->m);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 1);
    stream_figures(f->s, &fig);
    assert_int_equal(fig.bad_events, 1);
    assert_int_equal(fig.target_dropped, 7);
}

static void test_missing_batches_are_counted(void **state)
{
    struct fixture *f = *state;
    struct stream_figures fig;

    batch(&f->m, 1, 1);
    enc_atom(&f->m, "x");
    enc_nil(&f->m);
    feed(f, &f->m);
    batch(&f->m, 4, 1);
    enc_atom(&f->m, "x");
    enc_nil(&f->m);
    feed(f, &f->m);
    stream_figures(f->s, &fig);
    assert_int_equal(fig.missing_batches, 2);
}

/* Core is informed where events were dropped or a batch is missing; never for the first batch. */
static void test_what_was_dropped_is_told(void **state)
{
    static const struct {
        uint64_t seq, dropped;
        bool dropping;
    } batches[] = {{4, 9, false}, {5, 9, false}, {6, 30, true}, {7, 30, false}, {9, 30, true}};
    struct fixture *f = *state;
    const void *p;

    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        batch_after(&f->m, batches[i].seq, batches[i].dropped, 1);
        head(&f->m, 5, 42, "return_to");
        agent_mfa(&f->m, "caller", "f", 0);
        stamp(&f->m, 3000 + (int64_t)i);
        enc_nil(&f->m);
        assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
        size_t n = ring_peek(f->ring, &p);
        const struct event *ev = p;
        assert_int_equal(n, batches[i].dropping ? 2 : 1);
        assert_int_equal(ev[0].kind == EVENT_DROPPED, batches[i].dropping);
        assert_int_equal(ev[0].ts_ns, ev[n - 1].ts_ns);
        ring_consume(f->ring, n);
    }
}

static void test_a_full_ring_counts_what_it_loses(void **state)
{
    struct fixture *f = *state;
    struct stream_figures fig;

    for (int i = 0; i < 40; i++) {
        request(&f->m);
        feed(f, &f->m);
    }
    stream_figures(f->s, &fig);
    assert_int_equal(fig.events, 120);
    assert_int_equal(ring_fill(f->ring) + ring_lost(f->ring), 120);
}

static void test_off_becomes_a_flush(void **state)
{
    struct fixture *f = *state;
    const void *p;

    request(&f->m);
    feed(f, &f->m);
    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 2);
    enc_atom(&f->m, "kx");
    enc_u64(&f->m, 1);
    assert_int_equal(feed(f, &f->m), STREAM_OFF);
    assert_int_equal(ring_peek(f->ring, &p), 4);
    const struct event *ev = p;
    assert_int_equal(ev[3].kind, EVENT_FLUSH);
    assert_int_equal(ev[3].ts_ns, 3000);
}

static void test_heartbeat_and_note(void **state)
{
    struct fixture *f = *state;
    struct heartbeat b;
    struct stream_note n;

    assert_false(stream_heartbeat(f->s, &b));
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "kh");
    stamp(&f->m, 5000);
    enc_map(&f->m, 10);
    enc_atom(&f->m, "detail");
    enc_u64(&f->m, 800);
    enc_atom(&f->m, "detail_why");
    enc_u64(&f->m, 2);
    enc_atom(&f->m, "run_queue");
    enc_u64(&f->m, 4);
    enc_atom(&f->m, "dirty_queue");
    enc_u64(&f->m, 3);
    enc_atom(&f->m, "cost");
    enc_u64(&f->m, 8000);
    enc_atom(&f->m, "call_ns");
    enc_u64(&f->m, UINT64_C(1) << 40);
    enc_atom(&f->m, "cost_assumed");
    enc_u64(&f->m, 1);
    enc_atom(&f->m, "sample_why");
    enc_u64(&f->m, 9);
    enc_atom(&f->m, "new");
    enc_str(&f->m, "unknown keys are fine");
    enc_atom(&f->m, "memory");
    enc_u64(&f->m, 123456);
    assert_int_equal(feed(f, &f->m), STREAM_HEARTBEAT);
    assert_true(stream_heartbeat(f->s, &b));
    assert_int_equal(b.run_queue, 4);
    assert_int_equal(b.dirty_queue, 3);
    assert_int_equal(b.memory_bytes, 123456);
    assert_int_equal(b.cost_ppm, 8000);
    assert_int_equal(b.call_ns, UINT32_MAX);
    assert_true(b.cost_assumed);
    assert_int_equal(b.sample_why, 0); /* an unknown reason */
    assert_int_equal(b.detail, 800);
    assert_int_equal(b.detail_why, 2);
    assert_int_equal(b.sched_permille, -1);
    assert_int_equal(b.ts_ns, 5000);

    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "ke");
    enc_atom(&f->m, "reload");
    enc_str(&f->m, "db was loaded again");
    assert_int_equal(feed(f, &f->m), STREAM_NOTE);
    assert_true(stream_take_note(f->s, &n));
    assert_string_equal(n.tag, "reload");
    assert_string_equal(n.text, "db was loaded again");
    assert_false(stream_take_note(f->s, &n));
}

/* The agent's last message ends the session, and is in the log. */
static void test_an_agent_that_is_gone(void **state)
{
    struct fixture *f = *state;
    struct stream_note n;
    const uint8_t *b;
    struct etf rest;
    uint64_t ref;
    size_t len;

    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "ke");
    enc_atom(&f->m, "gone");
    enc_str(&f->m, "killed");
    assert_int_equal(stream_feed(f->s, f->m.data, f->m.len, 500, &rest, &ref), STREAM_GONE);
    assert_true(etf_string(&rest, &b, &len));
    assert_int_equal(len, 6);
    assert_memory_equal(b, "killed", 6);
    assert_true(stream_take_note(f->s, &n));
    assert_string_equal(n.text, "killed");
}

static void begin_beat(struct fixture *f, int64_t ns, uint32_t entries)
{
    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "kh");
    stamp(&f->m, ns);
    enc_map(&f->m, entries);
}

static void beat_with_gap(struct fixture *f, int64_t ns, uint64_t gap)
{
    begin_beat(f, ns, 1);
    enc_atom(&f->m, "gap");
    enc_u64(&f->m, gap);
    assert_int_equal(feed(f, &f->m), STREAM_HEARTBEAT);
}

/* The reason for not tracing takes the path of the events; an invalid reason is dropped. */
static void test_gaps_and_marks_are_events(void **state)
{
    struct fixture *f = *state;
    struct stream_note n;
    const void *p;

    beat_with_gap(f, 5000, 0);
    beat_with_gap(f, 6000, GAP_OVERLOAD);
    beat_with_gap(f, 7000, GAP_LOST); /* a reason that an agent may not send */
    beat_with_gap(f, 8000, UINT64_MAX);
    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "ke");
    enc_atom(&f->m, "mark");
    enc_str(&f->m, "kv_db");
    assert_int_equal(feed(f, &f->m), STREAM_NOTE);
    assert_false(stream_take_note(f->s, &n));
    assert_int_equal(ring_peek(f->ring, &p), 3);
    const struct event *ev = p;
    assert_int_equal(ev[0].kind, EVENT_GAP);
    assert_int_equal(ev[0].ident, GAP_NONE);
    assert_int_equal(ev[0].ts_ns, 5000);
    assert_int_equal(ev[1].kind, EVENT_GAP);
    assert_int_equal(ev[1].ident, GAP_OVERLOAD);
    assert_int_equal(ev[1].ts_ns, 6000);
    assert_int_equal(ev[2].kind, EVENT_MARK);
    assert_int_equal(ev[2].ts_ns, 8000);
    assert_string_equal(intern_str(f->names, ev[2].ident), "kv_db");
}

/* One call of a tier; the rule gives this name. Returns the event. */
static struct event named(struct fixture *f, uint64_t seq, const char *caller, const char *name)
{
    const void *p;

    buf_clear(&f->m);
    batch(&f->m, seq, 1);
    head(&f->m, 6, 43, "call");
    agent_mfa(&f->m, "db", "q", 2);
    enc_tuple(&f->m, 4);
    enc_u64(&f->m, 1);
    enc_u64(&f->m, 77);
    agent_mfa(&f->m, "caller", caller, 0);
    enc_str(&f->m, name);
    stamp(&f->m, 2000);
    enc_nil(&f->m);
    assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 1);
    struct event ev = *(const struct event *)p;
    ring_consume(f->ring, 1);
    return ev;
}

/* A tuple such as {lists,map,2} has the bytes of a function; whichever came first. */
static void test_a_name_with_the_bytes_of_a_function(void **state)
{
    static const char *const function[] = {"map", "sort"};
    struct fixture *f = *state;
    const void *p;

    for (unsigned round = 0; round < 4; round++) {
        const char *caller = function[round & 1], *name = function[round < 2];
        buf_clear(&f->m);
        batch(&f->m, round + 1, 1);
        head(&f->m, 6, 43, "call");
        agent_mfa(&f->m, "db", "q", 2);
        enc_tuple(&f->m, 4);
        enc_u64(&f->m, 1);
        enc_u64(&f->m, 77);
        agent_mfa(&f->m, "lists", caller, 2);
        agent_mfa(&f->m, "lists", name, 2);
        stamp(&f->m, 2000);
        enc_nil(&f->m);
        assert_int_equal(feed(f, &f->m), STREAM_EVENTS);
        assert_int_equal(ring_peek(f->ring, &p), 1);
        const struct event *ev = p;
        assert_string_equal(intern_str(f->names, ev->caller),
                            caller == function[0] ? "lists:map/2" : "lists:sort/2");
        assert_string_equal(intern_str(f->names, ev->ident),
                            name == function[0] ? "lists map 2" : "lists sort 2");
        ring_consume(f->ring, 1);
    }
}

/* A rule with a name for each request, such as its number: the names do not take the room of
 * functions, nor of the rule that the operator chooses instead. */
static void test_names_of_a_rule_leave_room(void **state)
{
    struct fixture *f = *state;
    char text[20];
    uint64_t seq = 0;
    struct event ev;

    for (unsigned i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "order %u", i);
        ev = named(f, ++seq, "f", text);
        assert_true(i > 300 || ev.ident != INTERN_FULL);
    }
    assert_int_equal(ev.ident, INTERN_FULL);
    for (unsigned i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "f%u", i);
        assert_int_not_equal(named(f, ++seq, text, "order 5").caller, INTERN_FULL);
    }
    assert_string_equal(intern_str(f->names, named(f, ++seq, "f", "order 5").ident), "order 5");
    assert_int_equal(named(f, ++seq, "f", "order 2999").ident, INTERN_FULL);
    stream_new_rule(f->s);
    assert_string_equal(intern_str(f->names, named(f, ++seq, "f", "read").ident), "read");
    assert_string_equal(intern_str(f->names, named(f, ++seq, "f", "order 2999").ident),
                        "order 2999");
}

/* A new connection that is refused, for example because another kprof-top is tracing: the node's
 * time goes on, so that the windows become empty. */
static void test_time_goes_on_while_connections_are_refused(void **state)
{
    struct fixture *f = *state;
    struct etf rest;
    uint64_t ref, now;

    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "kh");
    stamp(&f->m, INT64_C(100000000000));
    enc_map(&f->m, 0);
    assert_int_equal(feed(f, &f->m), STREAM_HEARTBEAT);
    for (uint64_t s = 0; s < 60; s++) {
        if (s % 5 == 1) { /* connected, an answer, lost */
            stream_clock(f->s, 0, 0);
            buf_clear(&f->m);
            enc_version(&f->m);
            enc_tuple(&f->m, 2);
            enc_atom(&f->m, "rex");
            enc_atom(&f->m, "refused");
            stream_feed(f->s, f->m.data, f->m.len, 500 + s * 1000000000u, &rest, &ref);
        }
        assert_true(stream_now(f->s, 500 + s * 1000000000u, &now));
        assert_int_equal(now, UINT64_C(100000000000) + s * 1000000000u);
    }
    /* accepted: its own time counts from the first stamp */
    stream_clock(f->s, -576460752303423488, 1000000000);
    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "kh");
    stamp(&f->m, INT64_C(160000000000));
    enc_map(&f->m, 0);
    stream_feed(f->s, f->m.data, f->m.len, 500 + UINT64_C(60000000000), &rest, &ref);
    assert_true(stream_now(f->s, 500 + UINT64_C(60000000000), &now));
    assert_int_equal(now, UINT64_C(160000000000));
}

/* The clock of a restarted node begins at 0; its events follow those of the earlier node. */
static void test_a_restarted_node_goes_on_in_time(void **state)
{
    struct fixture *f = *state;
    struct etf rest;
    uint64_t ref;
    const void *p;
    struct heartbeat b;

    enc_version(&f->m); /* the old node has run for 100 s when our clock is 500 ns */
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "kh");
    stamp(&f->m, INT64_C(100000000000));
    enc_map(&f->m, 0);
    assert_int_equal(feed(f, &f->m), STREAM_HEARTBEAT);
    stream_clock(f->s, 0, 0);
    stream_clock(f->s, -576460752303423488, 1000000000);
    request(&f->m); /* its newest event is 3000 ns after its start; our clock is 7 s later */
    assert_int_equal(
        stream_feed(f->s, f->m.data, f->m.len, 500 + UINT64_C(7000000000), &rest, &ref),
        STREAM_EVENTS);
    assert_int_equal(ring_peek(f->ring, &p), 3);
    const struct event *ev = p;
    assert_int_equal(ev[2].ts_ns, UINT64_C(107000000000));
    assert_int_equal(ev[0].ts_ns, UINT64_C(107000000000) - 2000);
    /* the offset remains */
    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 3);
    enc_atom(&f->m, "kh");
    stamp(&f->m, 3000 + 1000);
    enc_map(&f->m, 0);
    stream_feed(f->s, f->m.data, f->m.len, 500 + UINT64_C(7000001000), &rest, &ref);
    assert_true(stream_heartbeat(f->s, &b));
    assert_int_equal(b.ts_ns, UINT64_C(107000001000));
}

/* arity 3: format of old agents, with a time (here -1: not known) that is ignored. */
static void counts_since(struct buf *b, int64_t since, size_t n, uint64_t tier, uint64_t calls,
                         unsigned arity)
{
    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 4);
    enc_atom(b, "kc");
    stamp(b, since);
    stamp(b, 5000);
    if (n)
        enc_list(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        enc_tuple(b, arity);
        enc_u64(b, tier + i);
        if (arity > 1)
            enc_u64(b, calls);
        for (unsigned k = 2; k < arity; k++)
            buf_add(b, "\x62\xff\xff\xff\xff", 5); /* -1 */
    }
    enc_nil(b);
}

static void counts(struct buf *b, size_t n, uint64_t tier, uint64_t calls, unsigned arity)
{
    counts_since(b, 4000, n, tier, calls, arity);
}

static void test_counts(void **state)
{
    struct fixture *f = *state;
    struct stream_figures fig;
    const void *p;

    counts(&f->m, 2, 3, 1000, 2);
    assert_int_equal(feed(f, &f->m), STREAM_COUNTS);
    assert_int_equal(ring_peek(f->ring, &p), 3);
    const struct event *ev = p;
    assert_int_equal(ev[0].kind, EVENT_COUNTED);
    assert_int_equal(ev[0].tier, UINT16_MAX); /* the event of the message comes first */
    assert_int_equal(ev[0].ts_ns, 5000);
    assert_int_equal(ev[0].label, 1000);
    for (unsigned i = 1; i <= 2; i++) {
        assert_int_equal(ev[i].kind, EVENT_COUNTED);
        assert_int_equal(ev[i].tier, 5 - i);
        assert_int_equal(ev[i].label, 1000);
        assert_int_equal(ev[i].ts_ns, 5000);
    }
    ring_consume(f->ring, 3);
    counts(&f->m, 1, 0, 7, 3); /* in an old recording */
    assert_int_equal(feed(f, &f->m), STREAM_COUNTS);
    assert_int_equal(ring_peek(f->ring, &p), 2);
    ev = p;
    assert_int_equal(ev[1].label, 7);
    ring_consume(f->ring, 2);
    counts(&f->m, 0, 0, 0, 2);
    assert_int_equal(feed(f, &f->m), STREAM_COUNTS);
    assert_int_equal(ring_peek(f->ring, &p), 1);
    ring_consume(f->ring, 1);
    /* they do not count as events */
    stream_figures(f->s, &fig);
    assert_int_equal(fig.events, 0);
    assert_int_equal(fig.bad_events, 0);
    /* unknown tier, too many tiers, impossible value: the message is refused */
    counts(&f->m, 2, EVENT_TIERS - 1, 1, 2);
    assert_int_equal(feed(f, &f->m), STREAM_BAD);
    counts(&f->m, EVENT_TIERS + 1, 0, 1, 2);
    assert_int_equal(feed(f, &f->m), STREAM_BAD);
    counts(&f->m, 1, 0, UINT64_C(1) << 60, 2);
    assert_int_equal(feed(f, &f->m), STREAM_BAD);
    counts_since(&f->m, 5001, 1, 0, 1, 2); /* time goes back */
    assert_int_equal(feed(f, &f->m), STREAM_BAD);
    counts(&f->m, 1, 0, 1, 1);
    assert_int_equal(feed(f, &f->m), STREAM_BAD);
    counts(&f->m, 1, 0, 1, 4);
    assert_int_equal(feed(f, &f->m), STREAM_BAD);
    assert_int_equal(ring_peek(f->ring, &p), 0);
    stream_figures(f->s, &fig);
    assert_int_equal(fig.bad_events, 6);
}

static void test_random_bytes(void **state)
{
    struct fixture *f = *state;
    unsigned seed = (unsigned)(uintptr_t)f ^ 20261121u;
    uint8_t junk[200];

    print_message("seed %u\n", seed);
    for (int i = 0; i < 20000; i++) {
        if (i % 4 == 1)
            request(&f->m);
        else if (i % 4 == 3)
            sent(&f->m);
        size_t n = (size_t)rand_r(&seed) % sizeof junk;
        struct etf rest;
        uint64_t ref;
        const void *p;
        if (i % 2) {
            n = f->m.len < sizeof junk ? f->m.len : sizeof junk;
            memcpy(junk, f->m.data, n);
            for (int k = 0; k < 3; k++)
                junk[(size_t)rand_r(&seed) % n] = (uint8_t)rand_r(&seed);
        } else {
            for (size_t k = 0; k < n; k++)
                junk[k] = (uint8_t)rand_r(&seed);
        }
        stream_feed(f->s, junk, n, 0, &rest, &ref);
        ring_consume(f->ring, ring_peek(f->ring, &p));
    }
}

/* ---- the age of events ---- */

#define MS  INT64_C(1000000)
#define SEC (1000 * MS)

static void beat_at(struct fixture *f, int64_t ns, int64_t now_ns)
{
    begin_beat(f, ns, 0);
    assert_int_equal(feed_at(f, &f->m, (uint64_t)now_ns), STREAM_HEARTBEAT);
}

/* A batch with two returns. */
static void calls_at(struct fixture *f, int64_t newest_ns, int64_t oldest_ns, int64_t now_ns)
{
    batch(&f->m, 1, 2);
    for (int i = 0; i < 2; i++) {
        head(&f->m, 5, 42, "return_to");
        agent_mfa(&f->m, "caller", "f", 0);
        stamp(&f->m, i ? oldest_ns : newest_ns);
    }
    enc_nil(&f->m);
    assert_int_equal(feed_at(f, &f->m, (uint64_t)now_ns), STREAM_EVENTS);
}

static void scheduled_at(struct fixture *f, int64_t in_ns, int64_t out_ns, int64_t now_ns)
{
    buf_clear(&f->m);
    enc_version(&f->m);
    enc_tuple(&f->m, 4);
    enc_atom(&f->m, "kd");
    enc_u64(&f->m, 1);
    enc_u64(&f->m, 0);
    enc_list(&f->m, 2);
    for (int i = 0; i < 2; i++) {
        head(&f->m, 6, 42, i ? "out" : "in");
        enc_u64(&f->m, 0);
        enc_u64(&f->m, 0);
        stamp(&f->m, i ? out_ns : in_ns);
    }
    enc_nil(&f->m);
    assert_int_equal(feed_at(f, &f->m, (uint64_t)now_ns), STREAM_DETAIL);
}

static void expect_ages(struct fixture *f, int64_t lag_ns, int64_t oldest_ns)
{
    struct stream_figures fig;

    stream_figures(f->s, &fig);
    assert_int_equal(fig.oldest_ns, oldest_ns);
    assert_int_equal(fig.lag_ns, lag_ns);
}

/* The node keeps the `out` of a process until the process runs again: this is not late. */
static void test_the_age_is_that_of_calls(void **state)
{
    struct fixture *f = *state;
    int64_t now = 100 * SEC;

    beat_at(f, now, now);
    calls_at(f, now - 2 * MS, now - 5 * MS, now);
    beat_at(f, now, now);
    expect_ages(f, 2 * MS, 5 * MS);
    now += 10 * SEC;
    scheduled_at(f, now, now - 10 * SEC, now);
    beat_at(f, now, now);
    expect_ages(f, 2 * MS, 5 * MS);
    calls_at(f, now - MS, now - 8 * MS, now);
    beat_at(f, now, now);
    expect_ages(f, MS, 8 * MS);
}

static void pong_at(struct fixture *f, int64_t sent_ns, int64_t ns, int64_t now_ns)
{
    stream_round_trip(f->s, (uint64_t)sent_ns, -576460752303423488 + ns, (uint64_t)now_ns);
}

/* A few ms are the possible error of the offset. */
static void expect_oldest(struct fixture *f, int64_t ns)
{
    struct stream_figures fig;

    stream_figures(f->s, &fig);
    assert_in_range(fig.oldest_ns, ns - MS, ns + 2 * MS);
}

/* Two clocks that show the same; the oldest event was 5 ms old. -> the time */
static int64_t in_time(struct fixture *f, bool with_pongs)
{
    int64_t now = 100 * SEC;

    for (int i = 0; i < 20; i++, now += SEC / 2) {
        beat_at(f, now, now);
        if (with_pongs)
            pong_at(f, now - MS, now, now + MS);
    }
    calls_at(f, now - 2 * MS, now - 5 * MS, now);
    beat_at(f, now, now);
    expect_oldest(f, 5 * MS);
    return now;
}

/* This machine was suspended: its clock went on, that of the node did not. */
static void test_a_suspended_machine_is_not_an_age(void **state)
{
    struct fixture *f = *state;
    int64_t node = in_time(f, true) + 100 * MS, now = node + 60 * SEC;

    calls_at(f, node - MS, node - 8 * MS, now);
    pong_at(f, node - 99 * MS, node - 99 * MS, now); /* asked before: it proves nothing */
    expect_oldest(f, 5 * MS);
    beat_at(f, node, now); /* from here on the clocks are in doubt */
    calls_at(f, node - MS, node - 4 * MS, now + MS);
    expect_oldest(f, 5 * MS);
    pong_at(f, now, node + MS, now + 2 * MS); /* the clock has stepped */
    expect_oldest(f, 8 * MS);
    calls_at(f, node + 500 * MS, node + 488 * MS, now + 500 * MS);
    beat_at(f, node + SEC, now + SEC);
    expect_oldest(f, 12 * MS);
}

/* In a recording without answers of the node, later heartbeats show the step. */
static void test_a_recorded_suspend_is_not_an_age(void **state)
{
    struct fixture *f = *state;
    int64_t node = in_time(f, false) + 100 * MS, now = node + 60 * SEC;

    calls_at(f, node - MS, node - 4 * MS, now);
    for (int i = 0; i < 20; i++, node += SEC / 2, now += SEC / 2) {
        beat_at(f, node, now);
        expect_oldest(f, 5 * MS);
    }
}

/* The clock of the node was set forward: events before that are not old. */
static void test_a_step_of_the_node_is_not_an_age(void **state)
{
    static const int64_t steps[] = {3600 * SEC, 400 * MS};
    struct fixture *f = *state;
    int64_t now = in_time(f, true), node = now;

    for (int i = 0; i < 2; i++, node += SEC, now += SEC) {
        int64_t age = (8 + 4 * i) * MS;
        calls_at(f, node - MS, node - age, now);
        node += steps[i];
        beat_at(f, node + MS, now + MS);
        pong_at(f, now + MS, node + 2 * MS, now + 3 * MS);
        expect_oldest(f, age);
    }
}

/* The machine was suspended, and the node was restarted before anything showed the clocks. */
static void test_a_new_node_confirms_no_age(void **state)
{
    struct fixture *f = *state;
    int64_t node = in_time(f, true), now = node + 60 * SEC;

    calls_at(f, node - MS, node - 4 * MS, now);
    stream_clock(f->s, -576460752303423488, 1000000000);
    beat_at(f, SEC, now + 2 * SEC);
    expect_oldest(f, 5 * MS);
}

/* A link that was blocked: the node answers that its clock is as before. */
static void test_a_blocked_link_is_an_age(void **state)
{
    struct fixture *f = *state;
    int64_t now = in_time(f, true) + 10 * SEC;

    calls_at(f, now - 9 * SEC, now - 9 * SEC - MS, now);
    beat_at(f, now - 9 * SEC, now);
    pong_at(f, now - 9 * SEC, now - 9 * SEC, now); /* was sent before: it proves nothing */
    expect_oldest(f, 5 * MS);
    pong_at(f, now, now + MS, now + 2 * MS);
    expect_oldest(f, 9 * SEC + MS);
}

/* Only the events are late: the next heartbeat is enough. */
static void test_a_busy_relay_is_an_age(void **state)
{
    struct fixture *f = *state;
    int64_t now = in_time(f, false) + 100 * MS;

    calls_at(f, now - 2 * SEC, now - 3 * SEC, now);
    calls_at(f, now - SEC, now - 2 * SEC, now + MS);
    expect_oldest(f, 5 * MS);
    beat_at(f, now + 2 * MS, now + 2 * MS);
    expect_oldest(f, 3 * SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_request_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_paths_are_one_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_agent_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_returns_of_full_mode, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_message_to_a_server, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scheduling, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost_scheduling, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed_scheduling, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vm_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed_vm_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_truncation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_messages_are_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_batches_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_dropped_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_ring_counts_what_it_loses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_off_becomes_a_flush, setup, teardown),
        cmocka_unit_test_setup_teardown(test_heartbeat_and_note, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gaps_and_marks_are_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_name_with_the_bytes_of_a_function, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_of_a_rule_leave_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_goes_on_while_connections_are_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_restarted_node_goes_on_in_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_age_is_that_of_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_suspended_machine_is_not_an_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_recorded_suspend_is_not_an_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_step_of_the_node_is_not_an_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_new_node_confirms_no_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_blocked_link_is_an_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_busy_relay_is_an_age, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
