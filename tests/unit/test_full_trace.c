/* A full trace in the engine: what the node is asked when a request for one has failed. */
#include "fake_engine.h"

#include <kprof/trace/session.h>

/* The real control, but its node is a peer of the test. */
#define session_open peers_open
#include "../../src/engine/control.c"
#undef session_open

#include <engine/full_trace.h>
#include <engine/state.h>
#include <kprof/erl/enc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PID UINT64_C(91)

static struct {
    _Atomic unsigned begins, ends;
    atomic_bool hold;      /* a request to begin is not answered */
    _Atomic uint64_t held; /* that request */
} net;

static bool hear(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    struct etf c;

    (void)arg;
    (void)p;
    if (heard_is(h, "full", &c)) {
        if (etf_is_atom(&c, "off")) {
            net.ends++;
        } else {
            net.begins++;
            net.held = h->ref;
            if (net.hold)
                return false;
        }
    }
    enc_atom(out, "ok");
    return true;
}

/* ---- an engine on such a node ---- */

struct fixture {
    struct engine *g;
    unsigned stacks; /* answers */
};

static void on_stack(void *arg, uint64_t pid, const char *lines, bool dead)
{
    struct fixture *f = arg;

    (void)pid;
    (void)lines;
    (void)dead;
    f->stacks++;
}

static void begin(struct fixture *f)
{
    const struct engine_hooks hooks = {.arg = f, .stack = on_stack};
    const struct settings settings = {0};

    memset(&net, 0, sizeof net);
    memset(f, 0, sizeof *f);
    f->g = fake_engine_new(&settings, &hooks, hear, 1);
    assert_non_null(f->g);
    stream_clock(f->g->stream, 0, 1000000000);
    assert_int_equal(fake_engine_attach(f->g), 0);
}

static void end(struct fixture *f)
{
    fake_engine_free(f->g);
}

#define UNTIL(f, cond) FAKE_ENGINE_UNTIL((f)->g, cond)

static enum full_stage stage(const struct fixture *f)
{
    struct full_now now;

    engine_full(f->g, &now);
    return now.state;
}

/* The node has the request, and has not answered. */
static void ask(struct fixture *f)
{
    const struct full_ask a = {.pid = PID, .calls = FULL_CALLS_ALL, .time_ns = 1000000000};
    unsigned before = net.begins;
    struct err e;

    net.hold = true;
    UNTIL(f, engine_state(f->g) == ENGINE_UP);
    assert_int_equal(engine_full_begin(f->g, &a, &e), 0);
    assert_int_equal(stage(f), FULL_ASKED);
    UNTIL(f, net.begins == before + 1);
    net.hold = false;
}

/* With an answer that kprof-top cannot read, it does not know whether the trace has begun, as
 * without any answer. */
static void answer_badly(void)
{
    struct buf b;

    buf_init(&b, 0);
    enc_nil(&b);
    peer_answer(peers_at(0), false, net.held, &b);
    buf_release(&b);
}

/* {kf, ...}: the trace with this id runs. */
static void runs(struct fixture *f, uint64_t id)
{
    struct buf b;

    buf_init(&b, 0);
    enc_version(&b);
    enc_tuple(&b, 7);
    enc_atom(&b, "kf");
    enc_u64(&b, 1);
    enc_u64(&b, 0);
    enc_map(&b, 2);
    enc_atom(&b, "phase");
    enc_u64(&b, FULL_RUNNING);
    enc_atom(&b, "id");
    enc_u64(&b, id);
    for (int i = 0; i < 3; i++)
        enc_nil(&b);
    struct stack_message *m = calloc(1, sizeof *m + b.len);
    assert_non_null(m);
    m->n = b.len;
    memcpy(m->bytes, b.data, b.len);
    full_trace_feed(f->g, m);
    free(m);
    buf_release(&b);
}

/* ---- tests ---- */

/* Else it would begin there, with the tiers paused, and nobody could cancel it. */
static void a_request_without_a_usable_answer_is_ended_on_the_node(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    ask(&f);
    answer_badly();
    UNTIL(&f, stage(&f) == FULL_NOT_CAUGHT);
    UNTIL(&f, net.ends == 1);
    ask(&f); /* another one can begin */
    end(&f);
    assert_int_equal(net.ends, 1);
}

static void a_trace_that_reports_goes_on_whatever_the_answer(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    ask(&f);
    runs(&f, 1);
    assert_int_equal(stage(&f), FULL_TRACES);
    answer_badly();
    engine_stack(f.g, PID); /* answers come in order */
    UNTIL(&f, f.stacks == 1);
    assert_int_equal(stage(&f), FULL_TRACES);
    end(&f);
    assert_int_equal(net.ends, 0);
}

static void a_lost_connection_ends_it_and_asks_nothing(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    ask(&f);
    peer_hang_up(peers_at(0));
    UNTIL(&f, stage(&f) == FULL_NOT_CAUGHT);
    UNTIL(&f, engine_state(f.g) == ENGINE_LOST);
    end(&f);
    assert_int_equal(net.ends, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_a_usable_answer_is_ended_on_the_node),
        cmocka_unit_test(a_trace_that_reports_goes_on_whatever_the_answer),
        cmocka_unit_test(a_lost_connection_ends_it_and_asks_nothing),
    };
    return cmocka_run_group_tests_name("full_trace", tests, NULL, NULL);
}
