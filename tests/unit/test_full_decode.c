/* trace/full_decode: messages of a full trace, complete, cut and invalid; their way through
 * trace/stream; and the messages about the end. */
#include "agent_terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/core/event.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/full_decode.h>
#include <kprof/trace/stream.h>
#include <rng.h>
#include <stdlib.h>
#include <string.h>

#define START (-576460752303423488)

static const struct node_clock clock_of_node = {.start_native = START, .units_per_s = 1000000000};

struct fixture {
    struct stack_profile *p;
    struct call_tree *t;
    struct full_decoder *d;
    struct buf m;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->p = stack_profile_new(NULL);
    f->t = call_tree_new(f->p);
    f->d = full_decoder_new(f->t, f->p);
    buf_init(&f->m, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    full_decoder_free(f->d);
    call_tree_free(f->t);
    stack_profile_free(f->p);
    buf_release(&f->m);
    free(f);
    return 0;
}

/* ---- what the agent writes ---- */

static void pair(struct buf *b, const char *name, int64_t v)
{
    enc_atom(b, name);
    enc_i64(b, v);
}

static void head(struct buf *b, uint64_t seq, int64_t reason)
{
    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 7);
    enc_atom(b, "kf");
    enc_u64(b, seq);
    enc_i64(b, START + 5000);
    enc_map(b, 7);
    pair(b, "phase", 4);
    pair(b, "reason", reason);
    pair(b, "base", START + 1000);
    pair(b, "events", 4);
    pair(b, "budget", 100);
    enc_atom(b, "something_new");
    agent_mfa(b, "of", "later", 0);
    pair(b, "id", 5);
}

static void event(struct buf *b, uint64_t kind, uint64_t a, uint64_t c, int64_t at)
{
    enc_tuple(b, 5);
    enc_u64(b, 0);
    enc_u64(b, kind);
    enc_u64(b, a);
    enc_u64(b, c);
    enc_i64(b, at);
}

/* f calls g, which takes 300 ns */
static void message(struct buf *b, uint64_t seq, int64_t reason)
{
    head(b, seq, reason);
    enc_list(b, 3);
    for (uint64_t n = 1; n <= 2; n++) {
        enc_tuple(b, 2);
        enc_u64(b, n);
        agent_mfa(b, "mod", n == 1 ? "f" : "g", 1);
    }
    enc_tuple(b, 2);
    enc_u64(b, 3);
    enc_atom(b, "undefined");
    enc_nil(b);
    enc_list(b, 1);
    enc_tuple(b, 4);
    enc_u64(b, 0);
    agent_pid(b, "app@host", 77, 3);
    enc_u64(b, 0);
    agent_mfa(b, "proc_lib", "init_p", 5);
    enc_nil(b);
    enc_list(b, 4);
    event(b, CALL_EVENT_BEGIN, 1, 3, 0);
    event(b, CALL_EVENT_CALL, 2, 1, 100);
    event(b, CALL_EVENT_RETURN_TO, 1, 0, 400);
    event(b, CALL_EVENT_END, 1, 0, 500);
    enc_nil(b);
}

static void a_trace_is_read(void **state)
{
    struct fixture *f = *state;
    const struct call_tree_hide none = {0};
    message(&f->m, 1, FULL_DONE);
    assert_true(full_decoder_is(f->m.data, f->m.len));
    assert_int_equal(full_decoder_id(f->m.data, f->m.len), 5);
    assert_true(full_decoder_feed(f->d, f->m.data, f->m.len, &clock_of_node));
    call_tree_sum(f->t, &none);
    assert_int_equal(call_tree_nodes(f->t), 4);
    uint32_t process = call_tree_next(f->t, 0), of_f = call_tree_next(f->t, process);
    uint32_t of_g = call_tree_next(f->t, of_f);
    assert_int_equal(call_tree_node(f->t, process)->pid, (uint64_t)3 << 32 | 77);
    assert_int_equal(call_tree_node(f->t, of_f)->own_ns, 200);
    assert_int_equal(call_tree_node(f->t, of_g)->total_ns, 300);
    assert_int_equal(call_tree_counts(f->t)->first_ns, 1000);
    assert_int_equal(full_decoder_figures(f->d)->reason, FULL_DONE);
    assert_int_equal(full_decoder_figures(f->d)->budget, 100);
    message(&f->m, 4, FULL_DONE);
    full_decoder_feed(f->d, f->m.data, f->m.len, &clock_of_node);
    assert_int_equal(full_decoder_counts(f->d)->missing, 2);
}

/* A message that is cut anywhere, or has any byte changed, is counted and causes no crash. */
static void odd_messages_are_survived(void **state)
{
    struct fixture *f = *state;
    message(&f->m, 1, FULL_DONE);
    for (size_t n = 0; n < f->m.len; n++)
        assert_false(full_decoder_feed(f->d, f->m.data, n, &clock_of_node));
    assert_int_equal(full_decoder_id(f->m.data, 20), 0);
    assert_int_equal(full_decoder_counts(f->d)->bad, f->m.len);
    for (int i = rng_rounds(20000); i > 0; i--) {
        message(&f->m, 1, FULL_DONE);
        for (int k = 0; k < 3; k++)
            f->m.data[rng_below(f->m.len)] = (char)rng();
        full_decoder_id(f->m.data, f->m.len);
        full_decoder_feed(f->d, f->m.data, f->m.len, &clock_of_node);
    }
}

static void it_comes_through_the_stream(void **state)
{
    struct fixture *f = *state;
    struct intern *names = intern_new(10, 1000);
    struct ring *ring = ring_new(64, sizeof(struct event));
    struct stream *s = stream_new(ring, names);
    struct etf rest;
    uint64_t ref;
    stream_clock(s, START, 1000000000);
    message(&f->m, 1, FULL_DONE);
    assert_int_equal(stream_feed(s, f->m.data, f->m.len, 1, &rest, &ref), STREAM_STACKS);
    struct stack_message *m = stream_take_stacks(s);
    assert_non_null(m);
    assert_true(full_decoder_is(m->bytes, m->n));
    assert_true(full_decoder_feed(f->d, m->bytes, m->n, &m->clock));
    stack_message_free(m);
    stream_free(s);
    ring_free(ring);
    intern_free(names);
}

/* Each reason for the end of a trace has its own message. */
static void the_end_is_said(void **state)
{
    char said[FULL_REASONS][300];
    (void)state;
    for (unsigned r = 0; r < FULL_REASONS; r++) {
        struct full_figures f = {.reason = (enum full_reason)r, .counted = 1, .calls = 7};
        full_figures_say(&f, "m:f/1", said[r], sizeof said[r]);
        assert_true(strlen(said[r]) > 5);
        for (unsigned q = 0; q < r; q++)
            assert_string_not_equal(said[q], said[r]);
    }
    assert_non_null(strstr(said[FULL_NO_CALL], "no request came"));
    assert_non_null(strstr(said[FULL_NONE_MATCHED], "called 7 times"));
    assert_non_null(strstr(said[FULL_NO_FUNCTION], "matched nothing"));
    assert_non_null(strstr(said[FULL_BUDGET], "limit"));
    struct full_figures f = {.reason = FULL_NONE_MATCHED, .requests = 3, .slowest_ns = 2000000};
    full_figures_say(&f, "m:f/1", said[0], sizeof said[0]);
    assert_non_null(strstr(said[0], "3 requests"));
    f = (struct full_figures){
        .reason = FULL_CANCELED, .requests = 4, .events = 12, .slowest_ns = 2000000};
    full_figures_say(&f, "m:f/1", said[0], sizeof said[0]);
    assert_string_equal(said[0], "the full trace was canceled; 12 events of m:f/1 until then; no "
                                 "earlier request matched: the slowest took 2.00ms");
    full_figures_say(&f, "m:f/1", said[0], 40);
    assert_true(strlen(said[0]) < 40);
    for (unsigned p = 0; p <= FULL_SENDING; p++) {
        f = (struct full_figures){.phase = (enum full_phase)p};
        full_figures_say(&f, "m:f/1", said[0], sizeof said[0]);
        assert_true(strlen(said[0]) > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_trace_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(odd_messages_are_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(it_comes_through_the_stream, setup, teardown),
        cmocka_unit_test(the_end_is_said),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
