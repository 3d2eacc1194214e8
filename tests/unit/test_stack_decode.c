/* trace/stack_decode: messages with stack samples, complete, cut and invalid; and their path
 * through trace/stream. */
#include "agent_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/core/event.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/stack_decode.h>
#include <kprof/trace/stream.h>
#include <rng.h>
#include <stdlib.h>
#include <string.h>

static const struct node_clock clock_of_node = {.start_native = AGENT_STACKS_START,
                                                .units_per_s = 1000000000};

static const int64_t few[2] = {77, -1};

struct fixture {
    struct stack_profile *p;
    struct stack_decoder *d;
    struct buf m;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->p = stack_profile_new(NULL);
    f->d = stack_decoder_new(f->p);
    buf_init(&f->m, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    stack_decoder_free(f->d);
    stack_profile_free(f->p);
    buf_release(&f->m);
    free(f);
    return 0;
}

static bool feed(struct fixture *f)
{
    return stack_decoder_feed(f->d, f->m.data, f->m.len, &clock_of_node);
}

/* ---- tests ---- */

static void assert_text(struct stack_profile *p, uint32_t id, const char *is)
{
    size_t n;
    const char *s = stack_profile_str(p, id, &n);
    assert_int_equal(n, strlen(is));
    assert_memory_equal(s, is, n);
}

static void assert_frame(struct stack_profile *p, uint32_t id, const char *function, uint32_t line)
{
    struct stack_frame f = stack_profile_frame_of(p, id);
    assert_text(p, f.function, function);
    assert_int_equal(f.line, line);
}

static void a_message_is_read(void **state)
{
    struct fixture *f = *state;
    int64_t value, delta;

    agent_stacks_message(&f->m, 1);
    assert_true(feed(f));
    assert_int_equal(stack_decoder_counts(f->d)->samples, 3);
    assert_int_equal(stack_decoder_figures(f->d)->weight_us, 99000);
    assert_int_equal(stack_decoder_figures(f->d)->gate, STACK_GATE_RUN_QUEUE);
    assert_int_equal(stack_decoder_figures(f->d)->cost_ppm, 1234);
    assert_int_equal(stack_decoder_figures(f->d)->cut, 12);
    assert_int_equal(stack_decoder_figures(f->d)->born, 1000);
    assert_int_equal(stack_decoder_figures(f->d)->born_ms, 2500);
    assert_int_equal(stack_profile_meta(f->p)->unit, STACK_UNIT_US);

    struct stack_view *v = stack_profile_view(f->p);
    assert_int_equal(stack_view_count(v), 3);
    const struct stack_sample *s = stack_view_at(v, 0); /* the oldest */
    assert_int_equal(s->time_ns, 1000);
    assert_int_equal(s->weight, 99000);
    assert_int_equal(s->process, UINT64_C(3) << 32 | 42);
    assert_int_equal(s->status, STACK_RUNNABLE);
    assert_text(f->p, s->name, "the_name");
    assert_text(f->p, s->application, "my_app");
    assert_frame(f->p, s->initial_call, "init_it", 0);
    assert_frame(f->p, stack_profile_leaf(f->p, s->stack), "f", 10);
    uint32_t outer = stack_profile_caller(f->p, s->stack);
    assert_frame(f->p, stack_profile_leaf(f->p, outer), "outer", 20);
    assert_int_equal(stack_profile_caller(f->p, outer), 0);
    assert_true(stack_view_metric(v, 0, STACK_MINOR_GCS, &value, &delta));
    assert_int_equal(value, 12);
    assert_int_equal(delta, 0);

    s = stack_view_at(v, 1);
    assert_int_equal(s->name, 0);
    assert_false(stack_view_metric(v, 1, STACK_MESSAGE_QUEUE_LEN, &value, &delta));
    assert_false(stack_view_metric(v, 1, STACK_MEMORY, &value, &delta));
    assert_true(stack_view_metric(v, 1, STACK_REDUCTIONS, &value, &delta));
    assert_int_equal(value, 77);

    s = stack_view_at(v, 2);
    uint32_t root = s->stack;
    while (stack_profile_caller(f->p, root))
        root = stack_profile_caller(f->p, root);
    assert_frame(f->p, stack_profile_leaf(f->p, root), "[truncated]", 0);
    assert_true(stack_view_metric(v, 2, STACK_REDUCTIONS, &value, &delta));
    assert_int_equal(delta, 500);
    assert_true(stack_view_metric(v, 2, STACK_MESSAGE_QUEUE_LEN, &value, &delta));
    assert_int_equal(delta, -1);
    assert_true(stack_view_metric(v, 2, STACK_BIN_VHEAP_SIZE, &value, &delta));
    assert_int_equal(delta, 72);
    assert_true(stack_view_metric(v, 2, STACK_TOTAL_HEAP_SIZE, &value, &delta));
    assert_int_equal(value, 43);
    assert_true(stack_view_metric(v, 2, STACK_MEMORY, &value, &delta));
    assert_int_equal(value, 43 * 8);
    assert_int_equal(delta, 80);
    stack_view_release(v);
}

/* Cut at each byte: no crash, and the message is counted as invalid. */
static void each_truncation_is_survived(void **state)
{
    struct fixture *f = *state;
    uint64_t bad = 0;

    agent_stacks_message(&f->m, 1);
    size_t whole = f->m.len;
    for (size_t n = 0; n < whole; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* the sanitizer detects a read past the end */
        memcpy(cut, f->m.data, n);
        assert_false(stack_decoder_feed(f->d, cut, n, &clock_of_node));
        assert_int_equal(stack_decoder_counts(f->d)->bad, ++bad);
        free(cut);
    }
    assert_true(feed(f));
    struct stack_profile_counts c = stack_profile_counts(f->p);
    assert_int_equal(c.added, stack_decoder_counts(f->d)->samples);
}

/* One changed byte anywhere: no crash, and no sample has an invalid weight or status. */
static void each_wrong_byte_is_survived(void **state)
{
    struct fixture *f = *state;

    agent_stacks_message(&f->m, 1);
    for (size_t at = 0; at < f->m.len; at++)
        for (int x = 1; x < 256; x += 37) {
            f->m.data[at] ^= (char)x;
            stack_decoder_feed(f->d, f->m.data, f->m.len, &clock_of_node);
            f->m.data[at] ^= (char)x;
        }
    struct stack_view *v = stack_profile_view(f->p);
    for (size_t i = 0; i < stack_view_count(v); i++)
        assert_true(stack_view_at(v, i)->status < STACK_STATUSES);
    stack_view_release(v);
    assert_true(feed(f));
}

/* Processes that ended and stacks that are removed may be in samples of the same message, not of
 * the next. */
static void left_and_gone_go_after(void **state)
{
    struct fixture *f = *state;

    for (uint64_t seq = 1; seq <= 2; seq++) {
        agent_stacks_head(&f->m, seq, 1, STACK_GATE_RUN_QUEUE);
        if (seq == 1) {
            enc_list(&f->m, 2);
            agent_stacks_process(&f->m, 7, 42, true);
            agent_stacks_process(&f->m, 8, 43, true);
            enc_nil(&f->m);
        } else {
            enc_nil(&f->m);
        }
        const uint8_t left[] = {107, 0, 1, 7}; /* [7], as the VM encodes it */
        buf_add(&f->m, left, sizeof left);
        if (seq == 1) {
            enc_list(&f->m, 2);
            agent_stacks_stack(&f->m, 5, false, "f");
            agent_stacks_stack(&f->m, 6, false, "g");
            enc_nil(&f->m);
        } else {
            enc_nil(&f->m);
        }
        enc_list(&f->m, 1);
        enc_u64(&f->m, 5);
        enc_nil(&f->m);
        enc_list(&f->m, 3);
        agent_stacks_sample(&f->m, 7, 10, 6, few, 2);
        agent_stacks_sample(&f->m, 8, 10, 5, few, 2);
        agent_stacks_sample(&f->m, 8, 10, 6, few, 2);
        enc_nil(&f->m);
        assert_true(feed(f));
        assert_int_equal(stack_decoder_counts(f->d)->samples, seq == 1 ? 3 : 4);
        assert_int_equal(stack_decoder_counts(f->d)->unknown, seq == 1 ? 0 : 2);
    }
}

static void numbers_of_messages(void **state)
{
    struct fixture *f = *state;

    agent_stacks_message(&f->m, 1);
    assert_true(feed(f));
    agent_stacks_message(&f->m, 2);
    assert_true(feed(f));
    assert_int_equal(stack_decoder_counts(f->d)->missing, 0);
    agent_stacks_message(&f->m, 6);
    assert_true(feed(f));
    assert_int_equal(stack_decoder_counts(f->d)->missing, 3);
    /* another sampler: earlier definitions are not valid */
    agent_stacks_head(&f->m, 1, 1, STACK_GATE_RUN_QUEUE);
    for (int i = 0; i < 4; i++)
        enc_nil(&f->m);
    enc_list(&f->m, 1);
    agent_stacks_sample(&f->m, 0, 10, 0, few, 2);
    enc_nil(&f->m);
    assert_true(feed(f));
    assert_int_equal(stack_decoder_counts(f->d)->missing, 3);
    assert_int_equal(stack_decoder_counts(f->d)->unknown, 1);
}

/* A message without processes and stacks, with one sample of process 1 and stack 1. */
static void refer(struct fixture *f, uint64_t seq)
{
    agent_stacks_head(&f->m, seq, 1, STACK_GATE_RUN_QUEUE);
    for (int i = 0; i < 4; i++)
        enc_nil(&f->m);
    enc_list(&f->m, 1);
    agent_stacks_sample(&f->m, 1, 10, 1, few, 2);
    enc_nil(&f->m);
    assert_true(feed(f));
}

/* kprof-top was slow and dropped it: its samples must not get the stacks of the sampler before. */
static void another_sampler_whose_first_message_is_missing(void **state)
{
    struct fixture *f = *state;

    agent_stacks_head(&f->m, 1, 1, STACK_GATE_RUN_QUEUE);
    enc_list(&f->m, 1);
    agent_stacks_process(&f->m, 1, 42, true);
    enc_nil(&f->m);
    enc_nil(&f->m);
    enc_list(&f->m, 1);
    agent_stacks_stack(&f->m, 1, false, "f");
    enc_nil(&f->m);
    enc_nil(&f->m);
    enc_nil(&f->m);
    assert_true(feed(f));
    refer(f, 2);
    assert_int_equal(stack_decoder_counts(f->d)->samples, 1);
    refer(f, 2);
    assert_int_equal(stack_decoder_counts(f->d)->samples, 1);
    assert_int_equal(stack_decoder_counts(f->d)->unknown, 1);
    assert_int_equal(stack_decoder_counts(f->d)->missing, 1);
    refer(f, 5);
    assert_int_equal(stack_decoder_counts(f->d)->missing, 3);
}

/* For random values and messages: the sum of the changes of a process is its last value minus its
 * first. */
static void deltas_add_up(void **state)
{
    struct fixture *f = *state;
    enum { PROCESSES = 5, MESSAGES = 200 };
    int64_t begun[PROCESSES] = {0}, last[PROCESSES] = {0}, sum[PROCESSES] = {0}, value, delta;
    bool seen[PROCESSES] = {false};

    rng_seed();
    for (uint64_t seq = 1; seq <= MESSAGES; seq++) {
        agent_stacks_head(&f->m, seq, 1, STACK_GATE_RUN_QUEUE);
        if (seq == 1) {
            enc_list(&f->m, PROCESSES);
            for (uint8_t i = 0; i < PROCESSES; i++)
                agent_stacks_process(&f->m, i, i, false);
            enc_nil(&f->m);
        } else {
            enc_nil(&f->m);
        }
        enc_nil(&f->m);
        if (seq == 1) {
            enc_list(&f->m, 1);
            agent_stacks_stack(&f->m, 0, false, "f");
            enc_nil(&f->m);
        } else {
            enc_nil(&f->m);
        }
        enc_nil(&f->m);
        uint64_t i = rng_below(PROCESSES);
        int64_t v[2] = {(int64_t)rng_below(1000000), rng_below(3) ? 5 : -1};
        enc_list(&f->m, 1);
        agent_stacks_sample(&f->m, i, (int64_t)seq, 0, v, 2);
        enc_nil(&f->m);
        assert_true(feed(f));
        if (!seen[i])
            begun[i] = v[0];
        seen[i] = true;
        last[i] = v[0];
    }
    struct stack_view *v = stack_profile_view(f->p);
    assert_int_equal(stack_view_count(v), MESSAGES);
    for (size_t i = 0; i < stack_view_count(v); i++) {
        assert_true(stack_view_metric(v, i, STACK_REDUCTIONS, &value, &delta));
        sum[stack_view_at(v, i)->process & 0xff] += delta;
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(sum[i], last[i] - begun[i]);
    stack_view_release(v);
}

/* Its timestamps are of the node's clock; until the offset is known nothing can be decoded. */
static void through_the_stream(void **state)
{
    struct fixture *f = *state;
    struct intern *names = intern_new(1000, 1 << 16);
    struct ring *ring = ring_new(64, sizeof(struct event));
    struct stream *s = stream_new(ring, names);
    struct stream_figures fig;
    struct etf rest;
    uint64_t ref;

    agent_stacks_message(&f->m, 1);
    assert_int_equal(stream_feed(s, f->m.data, f->m.len, 1000, &rest, &ref), STREAM_BAD);
    assert_null(stream_take_stacks(s));
    stream_clock(s, AGENT_STACKS_START, 1000000000);
    assert_int_equal(stream_feed(s, f->m.data, f->m.len, 1000, &rest, &ref), STREAM_STACKS);
    struct stack_message *m = stream_take_stacks(s);
    assert_non_null(m);
    assert_int_equal(m->clock.start_native, AGENT_STACKS_START);
    assert_true(stack_decoder_feed(f->d, m->bytes, m->n, &m->clock));
    stack_message_free(m);
    assert_null(stream_take_stacks(s));
    assert_int_equal(ring_fill(ring), 0);

    /* nothing takes them: they are dropped and counted */
    for (int i = 0; i < 1 << 16; i++)
        stream_feed(s, f->m.data, f->m.len, 1000, &rest, &ref);
    stream_figures(s, &fig);
    uint64_t kept = 0;
    while ((m = stream_take_stacks(s))) {
        stack_message_free(m);
        kept++;
    }
    assert_true(fig.dropped_stacks > 0);
    assert_int_equal(kept + fig.dropped_stacks, 1 << 16);
    assert_true(kept * (sizeof *m + f->m.len) <= STACK_INBOX_BYTES);
    stream_free(s);
    ring_free(ring);
    intern_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(each_truncation_is_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(each_wrong_byte_is_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(left_and_gone_go_after, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_of_messages, setup, teardown),
        cmocka_unit_test_setup_teardown(another_sampler_whose_first_message_is_missing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(deltas_add_up, setup, teardown),
        cmocka_unit_test_setup_teardown(through_the_stream, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
