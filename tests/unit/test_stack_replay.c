/* A recording that has stack samples, in the engine. */
#include "agent_stacks.h"
#include "fake_engine.h"

#include <engine/recording_meta.h>
#include <kprof/trace/record.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define WALL_NS  INT64_C(5000000000)
#define MESSAGES 20000u /* more than the inbox holds */

static void record(const char *path)
{
    struct recording_meta meta = {.start_native = AGENT_STACKS_START,
                                  .units_per_s = 1000000000,
                                  .wall_ns = WALL_NS,
                                  .tiers.entry = TIER_NONE};
    struct err e;
    struct buf b;
    struct recorder *r = recorder_open(path, &e);

    assert_non_null(r);
    buf_init(&b, 0);
    recording_meta_write(&meta, &b);
    recorder_write(r, RECORD_META, 1000, b.data, b.len);
    for (unsigned i = 1; i <= MESSAGES; i++) {
        agent_stacks_message(&b, i);
        recorder_write(r, RECORD_STACKS, 1000 + i, b.data, b.len);
    }
    buf_release(&b);
    assert_int_equal(recorder_close(r, &e), 0);
}

/* Has replayed the whole recording. */
static struct engine *replay(const char *path, bool history)
{
    const struct settings settings = {.history = history};
    struct engine *g = fake_engine_new(&settings, &(struct engine_hooks){0}, NULL, 0);
    struct err e;

    assert_non_null(g);
    assert_int_equal(engine_replay(g, path, &e), 0);
    FAKE_ENGINE_UNTIL(g, engine_state(g) == ENGINE_REPLAYED);
    return g;
}

static void has_all_samples(struct engine *g)
{
    struct stack_view *v = engine_stacks_view(g);

    assert_non_null(v);
    assert_int_equal(stack_view_count(v), 3 * MESSAGES);
    /* the first one is at the time of the recording */
    assert_int_equal(stack_profile_meta(stack_view_profile(v))->wall_ns +
                         (int64_t)stack_view_at(v, 0)->time_ns,
                     WALL_NS);
    stack_view_release(v);
}

/* The second time without a screen. */
static void a_replay_has_its_samples(void **state)
{
    char path[] = "/tmp/kprof_stacks_XXXXXX";
    struct stack_request r = {.period_ms = 5000};
    struct snap_sampling s;
    struct err e;

    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    record(path);
    struct engine *g = replay(path, true);
    has_all_samples(g);
    engine_sampling(g, &s);
    assert_int_equal(s.state, SAMPLING_ON);
    process_choice_default(&r.processes);
    assert_int_equal(engine_stacks_begin(g, &r, true, &e), -1);
    has_all_samples(g);
    fake_engine_free(g);

    g = replay(path, false);
    assert_null(engine_stacks_view(g));
    fake_engine_free(g);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_has_its_samples),
    };
    return cmocka_run_group_tests_name("stack_replay", tests, NULL, NULL);
}
