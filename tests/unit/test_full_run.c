/* --full-trace with an agent that never says that the full trace has ended: the run ends. */
#include "fake_peer.h"
#include "stderr_text.h"

#include <kprof/base/clock.h>
#include <kprof/trace/session.h>

/* The real run, but its node is a peer of the test, and each look at the clock takes a second. */
static uint64_t fast_clock(void);
#define session_open  peers_open
#define clock_mono_ns fast_clock
#include "../../src/app/full_run.c"
#undef clock_mono_ns
#undef session_open

#include <kprof/erl/enc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TURNS_MAX 1000 /* more than any limit has seconds */

static uint64_t now_s;

static uint64_t fast_clock(void)
{
    if (now_s == TURNS_MAX) { /* fail_msg would leave the session open */
        fputs("the full trace has no limit\n", stderr);
        _exit(1);
    }
    return now_s++ * 1000000000u;
}

static bool hear(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    (void)arg;
    (void)p;
    (void)h;
    enc_atom(out, "ok");
    return true;
}

static void an_agent_without_an_end_is_told(void **state)
{
    static struct options o;
    struct conn_target t = {.node = "n@h", .cookie = "cookie"};
    char what[] = "m:f/1", said[2000];
    struct stderr_text text;

    (void)state;
    options_defaults(&o);
    o.mode = OPTIONS_NODE;
    o.node[0] = "n@h";
    o.full_trace = what;
    o.duration_ns = 5000000000u;
    peers_begin(hear, 1);
    stderr_text_begin(&text);
    int status = full_run(&o, &t);
    stderr_text_end(&text, said, sizeof said);
    peers_end();
    assert_int_equal(status, 1);
    assert_non_null(
        strstr(said, "kprof-top: the agent did not report the end of the full trace of m:f/1"));
    assert_true(now_s > 5 + 10 + 20); /* the wait, the run, and some time more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_without_an_end_is_told),
    };
    return cmocka_run_group_tests_name("full_run", tests, NULL, NULL);
}
