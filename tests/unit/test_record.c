/* trace/record and engine/recording_meta: files are read back unchanged; broken files give an error
 * message. */
#include "agent_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <engine/recording_meta.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/agent.h>
#include <kprof/trace/record.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/kprof-test-record-%ld", (long)getpid());
    unlink(path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void write_three(void)
{
    struct err e;
    struct recorder *r = recorder_open(path, &e);

    assert_non_null(r);
    recorder_write(r, RECORD_META, 10, "meta", 4);
    recorder_write(r, RECORD_EVENTS, 20, "\x83h\x01", 3);
    recorder_write(r, RECORD_EVENTS, 30, "", 0);
    assert_int_equal(recorder_close(r, &e), 0);
}

static void test_round_trip(void **state)
{
    struct err e;
    const uint8_t *bytes;
    uint64_t stamp;
    size_t n;
    char kind;
    struct stat st;
    (void)state;

    write_three();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct replay *r = replay_open(path, &e);
    assert_non_null(r);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(kind, RECORD_META);
    assert_int_equal(stamp, 10);
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, "meta", 4);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(n, 0);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 0);
    replay_close(r);
}

/* A frame of a round trip between them, which old readers ignore. */
static void test_a_round_trip_of_the_clocks(void **state)
{
    struct err e;
    const uint8_t *bytes;
    uint64_t stamp, sent;
    int64_t native;
    size_t n;
    char kind;
    (void)state;

    struct recorder *w = recorder_open(path, &e);
    recorder_round_trip(w, UINT64_C(1) << 40, -576460752303423488, (UINT64_C(1) << 40) + 7);
    recorder_round_trip(NULL, 1, 2, 3);
    recorder_connect(NULL, 1, 2, 3);
    assert_int_equal(recorder_close(w, &e), 0);
    struct replay *r = replay_open(path, &e);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(kind, RECORD_CLOCK);
    assert_int_equal(stamp, (UINT64_C(1) << 40) + 7);
    assert_true(replay_round_trip(bytes, n, &sent, &native));
    assert_int_equal(sent, UINT64_C(1) << 40);
    assert_true(native == -576460752303423488);
    assert_false(replay_round_trip(bytes, n - 1, &sent, &native));
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 0);
    replay_close(r);
}

/* The clock of each connection; a file of the ring has only frames of the last start of the node.
 */
static void test_connections(void **state)
{
    struct err e;
    const uint8_t *bytes;
    uint64_t stamp;
    int64_t native, units;
    size_t n;
    char kind;
    (void)state;

    struct recorder *w = recorder_ring(1 << 20);
    recorder_write(w, RECORD_META, 1, "meta", 4);
    recorder_connect(w, 2, -5, 1000);
    recorder_write(w, RECORD_EVENTS, 3, "old", 3);
    recorder_connect(w, 4, 0, 0);
    recorder_connect(w, 5, -7, 1000); /* another start */
    recorder_write(w, RECORD_EVENTS, 6, "new", 3);
    recorder_connect(w, 7, -7, 1000); /* only the connection was lost */
    assert_int_equal(recorder_keep(w, path, 0, &e), 0);
    assert_int_equal(recorder_close(w, &e), 0);
    struct replay *r = replay_open(path, &e);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(kind, RECORD_META);
    do
        assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    while (kind == RECORD_STACKS);
    assert_int_equal(kind, RECORD_CONNECT);
    assert_int_equal(stamp, 5);
    assert_true(replay_connection(bytes, n, &native, &units));
    assert_true(native == -7 && units == 1000);
    assert_false(replay_connection(bytes, n - 1, &native, &units));
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(stamp, 6);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(kind, RECORD_CONNECT);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 0);
    replay_close(r);
}

static void test_never_overwrites(void **state)
{
    struct err e;
    (void)state;

    write_three();
    assert_null(recorder_open(path, &e));
    assert_non_null(strstr(e.text, path));
}

static void test_a_cut_file(void **state)
{
    struct err e;
    const uint8_t *bytes;
    uint64_t stamp;
    size_t n, frames = 0;
    char kind;
    int rc;
    (void)state;

    write_three();
    assert_int_equal(truncate(path, 12 + 13 + 4 + 13 + 1), 0);
    struct replay *r = replay_open(path, &e);
    while ((rc = replay_next(r, &kind, &stamp, &bytes, &n, &e)) == 1)
        frames++;
    assert_int_equal(rc, -1);
    assert_int_equal(frames, 1);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 0);
    replay_close(r);
}

static void test_no_recording(void **state)
{
    struct err e;
    (void)state;

    assert_null(replay_open("/nonexistent/x", &e));
    assert_null(replay_open("/etc/passwd", &e));
    assert_non_null(strstr(e.text, "not a recording"));
}

static void test_meta(void **state)
{
    struct recording_meta m, back;
    struct buf b;
    (void)state;

    memset(&m, 0, sizeof m);
    strcpy(m.node, "app@host");
    strcpy(m.otp, "27");
    m.start_native = -576460752303423488;
    m.units_per_s = 1000000000;
    m.wall_ns = 1234567890123456789;
    m.sample = 10;
    m.tiers.n = 2;
    m.tiers.entry = 1;
    m.tiers.has_identity = true;
    m.tiers.returns = RETURNS_FULL;
    strcpy(m.tiers.tier[0].name, "db");
    strcpy(m.tiers.tier[0].mfa, "db:q/2");
    m.tiers.tier[0].active = true;
    strcpy(m.tiers.tier[1].name, "web");
    strcpy(m.tiers.tier[1].mfa, "My.Web.call/2");
    buf_init(&b, 0);
    recording_meta_write(&m, &b);
    assert_true(recording_meta_read(&back, b.data, b.len));
    assert_memory_equal(&m, &back, sizeof m);
    for (size_t n = 0; n < b.len; n++) {
        char *exact = malloc(n ? n : 1);
        memcpy(exact, b.data, n);
        recording_meta_read(&back, exact,
                            n); /* no crash; the last nil byte may be accepted or not */
        free(exact);
    }
    assert_false(recording_meta_read(&back, b.data, b.len / 2));
    buf_release(&b);
}

static size_t count(const uint8_t *hay, size_t n, const char *needle)
{
    size_t found = 0, len = strlen(needle);
    for (size_t i = 0; i + len <= n; i++)
        found += memcmp(hay + i, needle, len) == 0;
    return found;
}

static void test_agent_slots(void **state)
{
    struct agent_module a, b;
    size_t differ = 0;
    (void)state;

    agent_module_make(AGENT_MAIN, 0, &a);
    agent_module_make(AGENT_MAIN, 42, &b);
    assert_string_equal(a.name, "kprof_agent_00");
    assert_string_equal(b.name, "kprof_agent_42");
    assert_int_equal(a.len, b.len);
    for (size_t k = 0; k < a.len; k++)
        differ += a.bytes[k] != b.bytes[k];
    for (size_t i = 0; i < 4; i++) {
        static const char *const word[] = {"kprof_agent_42", "kprof_controller_42",
                                           "kprof_relay_42", "kprof_guardian_42"};
        assert_true(count(b.bytes, b.len, word[i]) >= 1);
    }
    assert_true(differ >= 8 && differ % 2 == 0 && differ <= 40); /* names, nothing else */
    assert_int_equal(count(b.bytes, b.len, "LitT"), 0); /* unloading literals can crash a VM */
    agent_module_release(&a);
    agent_module_release(&b);
    agent_module_make(AGENT_TOOLS, 7, &b); /* it calls the functions of the agent in its slot */
    assert_string_equal(b.name, "kprof_tools_07");
    assert_true(count(b.bytes, b.len, "kprof_tools_07") >= 1);
    assert_true(count(b.bytes, b.len, "kprof_agent_07") >= 1);
    assert_int_equal(count(b.bytes, b.len, "_00"), 0);
    assert_int_equal(count(b.bytes, b.len, "LitT"), 0);
    agent_module_release(&b);
}

static void add_number(struct recorder *r, uint64_t i, size_t bytes)
{
    uint8_t b[300] = {0};

    memcpy(b, &i, sizeof i);
    recorder_write(r, RECORD_EVENTS, i, b, bytes);
}

/* Checks a file: the session data, then the frames first..last, each once. Returns their number. */
static uint64_t kept(uint64_t from, uint64_t last)
{
    struct err e;
    const uint8_t *bytes;
    uint64_t stamp, at, n_frames = 0, next = 0;
    size_t n;
    char kind;
    struct replay *r = replay_open(path, &e);

    assert_non_null(r);
    assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
    assert_int_equal(kind, RECORD_META);
    assert_memory_equal(bytes, "second", n);
    for (; replay_next(r, &kind, &stamp, &bytes, &n, &e) == 1; n_frames++, next++) {
        memcpy(&at, bytes, sizeof at);
        next = n_frames ? next : at;
        assert_int_equal(kind, RECORD_EVENTS);
        assert_int_equal(stamp, next);
        assert_int_equal(at, next);
        assert_true(at >= from);
    }
    assert_int_equal(next, last + 1);
    replay_close(r);
    unlink(path);
    return n_frames;
}

/* Whatever the sizes of frames and ring: a file has the newest frames in order, as many as fit, not
 * older than wanted, and what comes until it is cut. */
static void test_ring(void **state)
{
    struct err e;
    (void)state;

    for (size_t size = 8; size <= 300; size += 13) {
        struct recorder *r = recorder_ring(10000);
        recorder_write(r, RECORD_META, 1, "first", 5);
        recorder_write(r, RECORD_META, 1, "second", 6);
        for (uint64_t i = 1; i <= 2000; i++)
            add_number(r, i, size);
        assert_int_equal(recorder_keep(r, path, 0, &e), 0);
        for (uint64_t i = 2001; i <= 2010; i++)
            add_number(r, i, size);
        assert_int_equal(recorder_cut(r, &e), 0);
        assert_int_equal(recorder_keep(r, path, 0, &e), -1); /* it exists */
        for (uint64_t i = 2011; i <= 2020; i++)
            add_number(r, i, size);
        assert_int_equal(kept(1, 2010), 10000 / (size + 13) + 10);
        assert_int_equal(recorder_keep(r, path, 2016, &e), 0);
        assert_int_equal(recorder_cut(r, &e), 0);
        assert_int_equal(kept(2016, 2020), 5);
        assert_int_equal(recorder_close(r, &e), 0);
    }
}

/* The slow-call threshold and the session data are at the start of each file of the ring, however
 * old they are: also if they are from before the ring. */
static void test_what_a_file_begins_with(void **state)
{
    struct err e;
    const uint8_t *bytes;
    uint64_t stamp, ns;
    size_t n;
    char kind;
    (void)state;

    for (int late = 0; late < 2; late++) {
        struct recorder *w = late ? recorder_idle() : recorder_ring(10000);
        recorder_slow(w, 1, 50000000);
        recorder_write(w, RECORD_META, 2, "meta", 4);
        recorder_slow(w, 2, 20000000);
        recorder_remember(w, 10000);
        for (uint64_t i = 3; i <= 2000; i++)
            add_number(w, i, 50);
        assert_int_equal(recorder_keep(w, path, 1990, &e), 0);
        recorder_slow(w, 2001, 5000000);
        assert_int_equal(recorder_close(w, &e), 0);
        struct replay *r = replay_open(path, &e);
        assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
        assert_int_equal(kind, RECORD_META);
        assert_memory_equal(bytes, "meta", n);
        assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
        assert_int_equal(kind, RECORD_SLOW);
        assert_true(replay_slow(bytes, n, &ns));
        assert_int_equal(ns, 20000000);
        for (uint64_t i = 1990; i <= 2000; i++) {
            assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
            assert_int_equal(kind, RECORD_EVENTS);
            assert_int_equal(stamp, i);
        }
        assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 1);
        assert_true(kind == RECORD_SLOW && stamp == 2001 && replay_slow(bytes, n, &ns));
        assert_int_equal(ns, 5000000);
        assert_int_equal(replay_next(r, &kind, &stamp, &bytes, &n, &e), 0);
        replay_close(r);
        unlink(path);
    }
}

/* Message `seq`: a process and a stack of this number are new, those before are used, too; the
 * stack that is ten older is forgotten. */
static void stacks_of(struct recorder *w, struct buf *b, uint64_t seq)
{
    static const int64_t few[2] = {77, -1};
    char leaf[24];

    snprintf(leaf, sizeof leaf, "f%llu", (unsigned long long)seq);
    agent_stacks_head(b, seq, 99000, STACK_GATE_OPEN);
    enc_list(b, 1);
    agent_stacks_process(b, seq, (uint8_t)seq, true);
    enc_nil(b);
    if (seq > 10)
        enc_list(b, 1);
    if (seq > 10)
        enc_u64(b, seq - 10);
    enc_nil(b);
    enc_list(b, 1);
    agent_stacks_stack(b, seq, false, leaf);
    enc_nil(b);
    if (seq > 10)
        enc_list(b, 1);
    if (seq > 10)
        enc_u64(b, seq - 10);
    enc_nil(b);
    enc_list(b, 2);
    agent_stacks_sample(b, seq, 1000 * (int64_t)seq, seq, few, 2);
    agent_stacks_sample(b, seq > 9 ? seq - 9 : 1, 1000 * (int64_t)seq, seq > 9 ? seq - 9 : 1, few,
                        2);
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
    const uint8_t *bytes;
    uint64_t stamp;
    size_t n, frames = 0;
    char kind;
    struct replay *r = replay_open(path, &e);

    assert_non_null(r);
    while (replay_next(r, &kind, &stamp, &bytes, &n, &e) == 1) {
        if (kind != RECORD_STACKS)
            continue;
        *first_stamp = frames++ ? *first_stamp : stamp;
        assert_true(stack_decoder_feed(d, bytes, n, &clock));
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
            assert_true(half ? c.messages == 9
                             : c.messages >
                                   20); /* the first message only names processes and stacks */
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

/* Frames are dropped until the recorder remembers. */
static void test_remembers_later(void **state)
{
    struct recorder *w = recorder_idle();
    struct buf b;
    struct err e;
    (void)state;

    add_number(w, 1, 8);
    recorder_remember(w, 10000);
    recorder_write(w, RECORD_META, 1, "second", 6);
    add_number(w, 2, 8);
    recorder_remember(w, 10000);
    add_number(w, 3, 8);
    assert_int_equal(recorder_keep(w, path, 0, &e), 0);
    assert_int_equal(recorder_close(w, &e), 0);
    assert_int_equal(kept(2, 3), 2);
    unlink(path);

    buf_init(&b, 0);
    w = recorder_idle();
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

static void add_large(struct recorder *w, size_t times)
{
    static const char bytes[1000];

    while (times--)
        recorder_write(w, RECORD_EVENTS, 1, bytes, sizeof bytes);
}

/* Reported once, at the first write that fails; the end of the recorder reports it, too. */
static void test_a_full_disk(void **state)
{
    struct rlimit old, full;
    struct err e;
    (void)state;

    struct recorder *w = recorder_open(path, &e);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    full = old;
    full.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    assert_int_equal(recorder_trouble(w, &e), 0);
    add_large(w, 100);
    int first = recorder_trouble(w, &e), again = recorder_trouble(w, &(struct err){{0}});
    int end = recorder_close(w, &(struct err){{0}});
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(first, -1);
    assert_non_null(strstr(e.text, path));
    assert_int_equal(again, 0);
    assert_int_equal(end, -1);
    assert_int_equal(recorder_trouble(NULL, &e), 0);
    unlink(path);

    /* a recording of a trigger: recorder_cut reports the error, and it is not reported again */
    w = recorder_ring(10000);
    assert_int_equal(recorder_keep(w, path, 0, &e), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    add_large(w, 100);
    first = recorder_cut(w, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(first, -1);
    recorder_forget(w);
    assert_int_equal(recorder_trouble(w, &e), 0);
    assert_int_equal(recorder_close(w, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_file_names_its_stacks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_invalid_stacks_in_the_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remembers_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_sampler, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_file_begins_with, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_round_trip_of_the_clocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_overwrites, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_cut_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_recording, setup, teardown),
        cmocka_unit_test(test_meta),
        cmocka_unit_test(test_agent_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
