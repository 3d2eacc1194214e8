/* trace/record: stack samples in the ring. A file names all processes and stacks that its samples
 * refer to. */
#include "agent_stacks.h"
#include "record_fixture.h"

#include <kprof/erl/enc.h>
#include <stdlib.h>
#include <string.h>

static void forget_old(struct buf *b, uint64_t seq)
{
    if (seq > 10) {
        enc_list(b, 1);
        enc_u64(b, seq - 10);
    }
    enc_nil(b);
}

/* Message `seq`: a process and a stack of this number are new, those before are used, too; the
 * stack that is ten older is forgotten. */
static void stacks_of(struct recorder *w, struct buf *b, uint64_t seq)
{
    static const int64_t few[2] = {77, -1};
    const uint64_t oldest = seq > 9 ? seq - 9 : 1;
    char leaf[24];

    snprintf(leaf, sizeof leaf, "f%llu", (unsigned long long)seq);
    agent_stacks_head(b, seq, 99000, STACK_GATE_OPEN);
    enc_list(b, 1);
    agent_stacks_process(b, seq, (uint8_t)seq, true);
    enc_nil(b);
    forget_old(b, seq);
    enc_list(b, 1);
    agent_stacks_stack(b, seq, false, leaf);
    enc_nil(b);
    forget_old(b, seq);
    enc_list(b, 2);
    agent_stacks_sample(b, seq, 1000 * (int64_t)seq, seq, few, 2);
    agent_stacks_sample(b, oldest, 1000 * (int64_t)seq, oldest, few, 2);
    enc_nil(b);
    recorder_write(w, RECORD_STACKS, seq, b->data, b->len);
}

/* The samples of the file, decoded. */
static struct stack_decode_counts decoded(uint64_t *first_stamp)
{
    static const struct node_clock clock = {.start_native = AGENT_STACKS_START,
                                            .units_per_s = 1000000000};
    struct stack_profile *p = stack_profile_new(NULL);
    struct stack_decoder *d = stack_decoder_new(p);
    struct stack_decode_counts c;
    struct err e;
    struct frame f;
    size_t frames = 0;
    struct replay *r = replay_open(path, &e);

    assert_non_null(r);
    while (next_frame(r, &f) == 1) {
        if (f.kind != RECORD_STACKS)
            continue;
        *first_stamp = frames++ ? *first_stamp : f.stamp;
        assert_true(stack_decoder_feed(d, f.bytes, f.n, &clock));
    }
    c = *stack_decoder_counts(d);
    replay_close(r);
    stack_decoder_free(d);
    stack_profile_free(p);
    return c;
}

/* A file that begins in the middle of a sampling names its processes and stacks, also those that
 * have left the ring, and also if they are forgotten later. */
static void test_a_file_names_its_stacks(void **state)
{
    struct recorder *w = recorder_ring(20000);
    struct stack_decode_counts c;
    struct buf b;
    struct err e;
    uint64_t first, seq = 0;
    (void)state;

    buf_init(&b, 0);
    recorder_write(w, RECORD_META, 1, "meta", 4);
    for (unsigned sampler = 0; sampler < 2; sampler++) { /* the second one counts anew */
        for (seq = 1; seq <= 100; seq++)
            stacks_of(w, &b, seq);
        for (unsigned half = 0; half < 2; half++) {
            uint64_t from = half ? 95 : 0; /* the whole ring; its end */
            assert_int_equal(recorder_keep(w, path, from, &e), 0);
            stacks_of(w, &b, seq++);
            assert_int_equal(recorder_cut(w, &e), 0);
            c = decoded(&first);
            assert_int_equal(c.unknown, 0);
            assert_int_equal(c.missing, 0);
            assert_int_equal(c.bad, 0);
            assert_int_equal(first, half ? 95 : first);
            assert_true(half ? c.messages == 9 : c.messages > 20);
            /* the first message only names processes and stacks */
            assert_int_equal(c.samples, 2 * (c.messages - 1));
            unlink(path);
        }
    }
    buf_release(&b);
    assert_int_equal(recorder_close(w, &e), 0);
}

/* Invalid messages of the node are not named; the recording is written nevertheless. */
static void test_invalid_stacks_in_the_ring(void **state)
{
    struct recorder *w = recorder_ring(4000);
    struct buf b;
    struct err e;
    (void)state;

    buf_init(&b, 0);
    agent_stacks_message(&b, 1);
    for (size_t n = 0; n < b.len; n++) {
        uint8_t *some = malloc(n ? n : 1);
        memcpy(some, b.data, n);
        recorder_write(w, RECORD_STACKS, n, some, n);
        free(some);
    }
    assert_int_equal(recorder_keep(w, path, b.len - 2, &e), 0);
    assert_int_equal(recorder_close(w, &e), 0);
    buf_release(&b);
}

/* Its file has the samples of one message, and all that they refer to. */
static void ends_with_one_message(struct recorder *w)
{
    struct err e;
    uint64_t first;

    assert_int_equal(recorder_keep(w, path, 0, &e), 0);
    assert_int_equal(recorder_close(w, &e), 0);
    struct stack_decode_counts c = decoded(&first);
    assert_int_equal(c.unknown, 0);
    assert_int_equal(c.samples, 2);
}

/* Samples that the recorder dropped: what they named is known. */
static void test_names_from_before_the_ring(void **state)
{
    struct recorder *w = recorder_idle();
    struct buf b;
    (void)state;

    buf_init(&b, 0);
    for (uint64_t seq = 1; seq <= 20; seq++)
        stacks_of(w, &b, seq);
    recorder_remember(w, 10000);
    stacks_of(w, &b, 21);
    ends_with_one_message(w);
    buf_release(&b);
}

/* The first message of the second sampler is missing: its samples do not get the names of the one
 * before. */
static void test_another_sampler(void **state)
{
    struct recorder *w = recorder_idle();
    struct buf b;
    struct err e;
    uint64_t first;
    (void)state;

    buf_init(&b, 0);
    for (uint64_t seq = 1; seq <= 3; seq++)
        stacks_of(w, &b, seq);
    stacks_of(w, &b, 2);
    recorder_remember(w, 10000);
    stacks_of(w, &b, 3); /* refers to number 1, too */
    assert_int_equal(recorder_keep(w, path, 0, &e), 0);
    assert_int_equal(recorder_close(w, &e), 0);
    struct stack_decode_counts c = decoded(&first);
    assert_int_equal(c.unknown, 1);
    assert_int_equal(c.samples, 1);
    unlink(path);
    buf_release(&b);
}

/* What was in memory is gone, but for the names that later samples refer to. */
static void test_forgets(void **state)
{
    struct recorder *w = recorder_idle();
    struct buf b;
    (void)state;

    buf_init(&b, 0);
    recorder_forget(w); /* there is nothing */
    recorder_remember(w, 10000);
    for (uint64_t seq = 1; seq <= 5; seq++)
        stacks_of(w, &b, seq);
    recorder_forget(w);
    stacks_of(w, &b, 6);
    recorder_remember(w, 10000);
    stacks_of(w, &b, 7);
    ends_with_one_message(w);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_file_names_its_stacks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_invalid_stacks_in_the_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_from_before_the_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_sampler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgets, setup, teardown),
    };
    return cmocka_run_group_tests_name("record_stacks", tests, NULL, NULL);
}
