/* Polls of processes in which requests hang: what is read from the agent's answer and from a
 * recording, whole, cut at any byte, and changed. */
#include "rng.h"

#include <engine/recording_poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/agent_request.h>
#include <stdlib.h>
#include <string.h>

static void add(struct buf *b, uint64_t index, uint64_t after_us, uint64_t status, const char *text)
{
    enc_tuple(b, 4);
    enc_u64(b, index);
    enc_u64(b, after_us);
    enc_u64(b, status);
    enc_str(b, text);
}

/* {51000, [{0, 12, 3, <<"db:wait/1 < db:query/2">>}, {1, 5015, 1, <<"a\nb">>}]} */
static struct buf answer(void)
{
    struct buf b;
    buf_init(&b, 0);
    enc_tuple(&b, 2);
    enc_u64(&b, 51000);
    enc_list(&b, 2);
    add(&b, 0, 12, 3, "db:wait/1 < db:query/2");
    add(&b, 1, 5015, 1, "a\nb");
    enc_nil(&b);
    return b;
}

static bool reads(const void *bytes, size_t n, struct buf *lines)
{
    struct etf c;
    uint8_t *copy = malloc(n ? n : 1); /* an access beyond the end is found */
    if (!copy)
        abort();
    if (n)
        memcpy(copy, bytes, n);
    etf_init(&c, copy, n);
    lines->len = 0;
    bool ok = agent_request_polls(&c, lines);
    free(copy);
    return ok;
}

static void an_answer(void **state)
{
    (void)state;
    struct buf b = answer(), lines;
    buf_init(&lines, 0);
    assert_true(reads(b.data, b.len, &lines));
    assert_string_equal(lines.data, "51000\n0 12 3 db:wait/1 < db:query/2\n1 5015 1 a b\n");
    for (size_t n = 0; n + 1 < b.len; n++) /* the last byte ends the list */
        assert_false(reads(b.data, n, &lines));
    buf_release(&lines);
    buf_release(&b);
}

static void too_many(void **state)
{
    (void)state;
    struct buf b, lines;
    buf_init(&b, 0);
    buf_init(&lines, 0);
    enc_tuple(&b, 2);
    enc_u64(&b, 1);
    enc_list(&b, 65);
    for (uint64_t i = 0; i < 65; i++)
        add(&b, 0, i, 3, "m:f/1");
    enc_nil(&b);
    assert_false(reads(b.data, b.len, &lines));
    buf_release(&lines);
    buf_release(&b);
}

static void changed_answers(void **state)
{
    (void)state;
    struct buf b = answer(), lines;
    buf_init(&lines, 0);
    for (int i = 0; i < 20000; i++) {
        size_t at = rng_below(b.len);
        char was = b.data[at];
        b.data[at] = (char)rng_below(256);
        reads(b.data, b.len, &lines);
        b.data[at] = was;
    }
    buf_release(&lines);
    buf_release(&b);
}

static void a_frame(void **state)
{
    (void)state;
    struct core_poll p = {.request = UINT64_MAX, .ns = 1234567890123, .status = 3}, q;
    struct buf b;
    memset(p.place, 'x', sizeof p.place - 1); /* the longest */
    buf_init(&b, 0);
    recording_poll_write(&p, &b);
    assert_true(recording_poll_read(&q, b.data, b.len));
    assert_memory_equal(&p, &q, sizeof p);
    for (size_t n = 0; n < b.len; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        if (!copy)
            abort();
        memcpy(copy, b.data, n);
        assert_false(recording_poll_read(&q, copy, n));
        free(copy);
    }
    for (int i = 0; i < 20000; i++) {
        size_t at = rng_below(b.len);
        char was = b.data[at];
        b.data[at] = (char)rng_below(256);
        if (recording_poll_read(&q, b.data, b.len)) {
            assert_true(q.status <= 6);
            assert_true(strlen(q.place) < sizeof q.place);
        }
        b.data[at] = was;
    }
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer),
        cmocka_unit_test(too_many),
        cmocka_unit_test(changed_answers),
        cmocka_unit_test(a_frame),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
