/* trace/record and engine/recording_meta: files are read back unchanged; broken files give an error
 * message. */
#include "record_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <engine/recording_meta.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/record.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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
    struct frame f;
    struct stat st;
    (void)state;

    write_three();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct replay *r = replay_open(path, &e);
    assert_non_null(r);
    NEXT_IS(r, &f, RECORD_META);
    assert_int_equal(f.stamp, 10);
    assert_int_equal(f.n, 4);
    assert_memory_equal(f.bytes, "meta", 4);
    assert_int_equal(next_frame(r, &f), 1);
    assert_int_equal(next_frame(r, &f), 1);
    assert_int_equal(f.n, 0);
    assert_int_equal(next_frame(r, &f), 0);
    replay_close(r);
}

/* A frame of a round trip between them, which old readers ignore. */
static void test_a_round_trip_of_the_clocks(void **state)
{
    struct err e;
    uint64_t sent;
    int64_t native;
    struct frame f;
    (void)state;

    struct recorder *w = recorder_open(path, &e);
    recorder_round_trip(w, UINT64_C(1) << 40, -576460752303423488, (UINT64_C(1) << 40) + 7);
    recorder_round_trip(NULL, 1, 2, 3);
    recorder_connect(NULL, 1, 2, 3);
    assert_int_equal(recorder_close(w, &e), 0);
    struct replay *r = replay_open(path, &e);
    NEXT_IS(r, &f, RECORD_CLOCK);
    assert_int_equal(f.stamp, (UINT64_C(1) << 40) + 7);
    assert_true(replay_round_trip(f.bytes, f.n, &sent, &native));
    assert_int_equal(sent, UINT64_C(1) << 40);
    assert_true(native == -576460752303423488);
    assert_false(replay_round_trip(f.bytes, f.n - 1, &sent, &native));
    assert_int_equal(next_frame(r, &f), 0);
    replay_close(r);
}

/* The clock of each connection; a file of the ring has only frames of the last start of the node.
 */
static void test_connections(void **state)
{
    struct err e;
    int64_t native, units;
    struct frame f;
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
    NEXT_IS(r, &f, RECORD_META);
    do
        assert_int_equal(next_frame(r, &f), 1);
    while (f.kind == RECORD_STACKS);
    assert_int_equal(f.kind, RECORD_CONNECT);
    assert_int_equal(f.stamp, 5);
    assert_true(replay_connection(f.bytes, f.n, &native, &units));
    assert_true(native == -7 && units == 1000);
    assert_false(replay_connection(f.bytes, f.n - 1, &native, &units));
    assert_int_equal(next_frame(r, &f), 1);
    assert_int_equal(f.stamp, 6);
    NEXT_IS(r, &f, RECORD_CONNECT);
    assert_int_equal(next_frame(r, &f), 0);
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
    struct frame f;
    size_t frames = 0;
    int rc;
    (void)state;

    write_three();
    assert_int_equal(truncate(path, 12 + 13 + 4 + 13 + 1), 0);
    struct replay *r = replay_open(path, &e);
    while ((rc = next_frame(r, &f)) == 1)
        frames++;
    assert_int_equal(rc, -1);
    assert_int_equal(frames, 1);
    assert_int_equal(next_frame(r, &f), 0);
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
    uint64_t at, n_frames = 0, next = 0;
    struct frame f;
    struct replay *r = replay_open(path, &e);

    assert_non_null(r);
    NEXT_IS(r, &f, RECORD_META);
    assert_memory_equal(f.bytes, "second", f.n);
    for (; next_frame(r, &f) == 1; n_frames++, next++) {
        memcpy(&at, f.bytes, sizeof at);
        next = n_frames ? next : at;
        assert_int_equal(f.kind, RECORD_EVENTS);
        assert_int_equal(f.stamp, next);
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
    uint64_t ns;
    struct frame f;
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
        NEXT_IS(r, &f, RECORD_META);
        assert_memory_equal(f.bytes, "meta", f.n);
        NEXT_IS(r, &f, RECORD_SLOW);
        assert_true(replay_slow(f.bytes, f.n, &ns));
        assert_int_equal(ns, 20000000);
        for (uint64_t i = 1990; i <= 2000; i++) {
            NEXT_IS(r, &f, RECORD_EVENTS);
            assert_int_equal(f.stamp, i);
        }
        assert_int_equal(next_frame(r, &f), 1);
        assert_true(f.kind == RECORD_SLOW && f.stamp == 2001 && replay_slow(f.bytes, f.n, &ns));
        assert_int_equal(ns, 5000000);
        assert_int_equal(next_frame(r, &f), 0);
        replay_close(r);
        unlink(path);
    }
}

/* Frames are dropped until the recorder remembers. */
static void test_remembers_later(void **state)
{
    struct recorder *w = recorder_idle();
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
        cmocka_unit_test_setup_teardown(test_remembers_later, setup, teardown),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
