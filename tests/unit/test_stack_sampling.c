/* Stack samples in the engine: what the node is asked, what arrives, what a snapshot says of them.
 */
#include "agent_stacks.h"
#include "fake_engine.h"

#include <kprof/trace/session.h>

/* The real control, but its nodes are peers of the test, one for each connection. */
#define session_open peers_open
#include "../../src/engine/control.c"
#undef session_open

#include <engine/state.h>
#include <kprof/erl/enc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CONNECTIONS 4

static struct {
    _Atomic unsigned limits, begins, ends;
    atomic_bool refuse, hold;
    atomic_bool keep;      /* a request to end it fails */
    _Atomic uint64_t held; /* the request that is not answered yet */
    _Atomic uint64_t interval_us;
} net;

/* {stacks, off} | {stacks, #{..., interval_us => Us, ...}} */
static bool hear_stacks(struct etf *c, struct buf *out)
{
    uint32_t pairs;

    if (etf_is_atom(c, "off")) {
        net.ends++;
        if (net.keep) {
            peer_error(out, "crashed", "badarg");
        } else {
            enc_atom(out, "ok");
        }
        return true;
    }
    assert_true(etf_map(c, &pairs));
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t us;
        bool interval = etf_is_atom(c, "interval_us");
        if (!interval)
            etf_skip(c);
        if (interval && etf_u64(c, &us))
            net.interval_us = us;
        else
            etf_skip(c);
    }
    net.begins++;
    if (net.refuse) {
        peer_error(out, "who", "invalid choice of processes");
    } else {
        enc_atom(out, "ok");
    }
    return true;
}

static bool hear(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    struct etf c;

    (void)arg;
    (void)p;
    if (heard_is(h, "limits", NULL))
        net.limits++;
    if (heard_is(h, "stacks", &c)) {
        if (net.hold) {
            net.held = h->ref;
            return false;
        }
        return hear_stacks(&c, out);
    }
    enc_atom(out, "ok");
    return true;
}

/* ---- an engine on such a node ---- */

struct fixture {
    struct engine *g;
    struct buf m;
    struct snap_sampling sampling; /* as `why` has found it */
    char message[400];             /* the last one */
    unsigned messages;
};

static void on_message(void *arg, const char *text, bool is_error)
{
    struct fixture *f = arg;

    if (!is_error || strncmp(text, "stack sampling", 14) != 0)
        return;
    err_copy(f->message, sizeof f->message, text);
    f->messages++;
}

static void begin(struct fixture *f)
{
    const struct engine_hooks hooks = {.arg = f, .message = on_message};
    const struct settings settings = {.history = true};

    memset(&net, 0, sizeof net);
    memset(f, 0, sizeof *f);
    buf_init(&f->m, 0);
    f->g = fake_engine_new(&settings, &hooks, hear, CONNECTIONS);
    assert_non_null(f->g);
    stream_clock(f->g->stream, AGENT_STACKS_START, 1000000000);
    assert_int_equal(fake_engine_attach(f->g), 0);
}

static void end(struct fixture *f)
{
    fake_engine_free(f->g);
    buf_release(&f->m);
}

#define UNTIL(f, cond) FAKE_ENGINE_UNTIL((f)->g, cond)

static enum sampling_state state_of(const struct fixture *f)
{
    struct snap_sampling s;
    engine_sampling(f->g, &s);
    return s.state;
}

/* Why there are no samples; "": no reason. */
static const char *why(struct fixture *f)
{
    engine_sampling(f->g, &f->sampling);
    return f->sampling.why;
}

static void arrives(struct fixture *f, uint64_t seq)
{
    struct etf rest;
    uint64_t ref;

    agent_stacks_message(&f->m, seq);
    assert_int_equal(stream_feed(f->g->stream, f->m.data, f->m.len, clock_mono_ns(), &rest, &ref),
                     STREAM_STACKS);
}

static size_t samples(struct fixture *f)
{
    struct stack_view *v = engine_stacks_view(f->g);
    size_t n = v ? stack_view_count(v) : 0;
    stack_view_release(v);
    return n;
}

/* Message `seq`; with it, there are `total` samples. */
#define ARRIVES(f, seq, total)                                                                     \
    do {                                                                                           \
        arrives(f, seq);                                                                           \
        UNTIL(f, samples(f) == (total));                                                           \
    } while (0)

static void sample(struct fixture *f, const char *who, uint64_t interval_us, bool fresh)
{
    struct stack_request r = {.interval_us = interval_us, .period_ms = 5000, .statuses = 127};
    struct err e;

    assert_int_equal(process_choice_parse(who, &r.processes, &e), 0);
    assert_int_equal(engine_stacks_begin(f->g, &r, fresh, &e), 0);
}

static void begin_refused(struct fixture *f)
{
    begin(f);
    net.refuse = true;
    sample(f, "all", 9000, true);
    UNTIL(f, state_of(f) == SAMPLING_FAILED);
}

/* All processes are sampled. */
static void begin_sampling(struct fixture *f, bool fresh)
{
    begin(f);
    UNTIL(f, engine_state(f->g) == ENGINE_UP);
    sample(f, "all", 9000, fresh);
    UNTIL(f, state_of(f) == SAMPLING_ON);
}

/* ---- tests ---- */

static void samples_arrive_and_their_cost_is_told(void **state)
{
    struct fixture f;
    struct snap_sampling s;

    (void)state;
    begin(&f);
    assert_int_equal(state_of(&f), SAMPLING_NONE);
    assert_null(engine_stacks_view(f.g));
    UNTIL(&f, engine_state(f.g) == ENGINE_UP);
    sample(&f, "top:50:memory", 9000, true);
    assert_int_equal(state_of(&f), SAMPLING_ASKED);
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    assert_int_equal(net.begins, 1);
    assert_int_equal(net.limits, 1); /* there is no tier: they were not needed before */
    assert_int_equal(net.interval_us, 9000);
    ARRIVES(&f, 1, 3);
    struct snapshot *snap = engine_snapshot(f.g, WINDOW_10S, false);
    s = snap->sampling;
    snapshot_free(snap);
    assert_int_equal(s.pause, SAMPLING_RUN_QUEUE);
    assert_string_equal(s.who, "top:50:memory");
    assert_float_equal(s.percent, 0.1234, 1e-9);
    assert_float_equal(s.each_ms, 198, 1e-9);
    assert_float_equal(s.each_ms_asked, 99, 1e-9);
    assert_true(s.less_often);
    assert_int_equal(s.processes, 2);
    assert_int_equal(s.matched, 5);
    assert_int_equal(s.lost, 0);
    ARRIVES(&f, 4, 6); /* two messages are missing */
    engine_sampling(f.g, &s);
    assert_int_equal(s.lost, 2);
    engine_stacks_end(f.g);
    assert_int_equal(state_of(&f), SAMPLING_OFF);
    UNTIL(&f, net.ends == 2); /* one before it began */
    assert_int_equal(samples(&f), 6);
    end(&f);
}

/* What the former choice has sampled may still be under way. */
static void another_choice_forgets_the_samples(void **state)
{
    struct fixture f;

    (void)state;
    begin_sampling(&f, true);
    ARRIVES(&f, 1, 3);
    sample(&f, "all", 18000, false); /* only the interval: they stay, the sampler goes on */
    UNTIL(&f, net.interval_us == 18000);
    assert_int_equal(samples(&f), 3);
    assert_int_equal(net.ends, 1);
    net.hold = true;
    sample(&f, "<0.91.0>", 9000, true);
    assert_int_equal(samples(&f), 0);
    UNTIL(&f, net.held);
    ARRIVES(&f, 2, 3);
    struct buf ok;
    buf_init(&ok, 0);
    enc_atom(&ok, "ok");
    net.hold = false;
    peer_answer(peers_at(0), false, net.held, &ok);
    buf_release(&ok);
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    assert_int_equal(samples(&f), 0);
    end(&f);
}

static void each_connection_is_asked(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    sample(&f, "all", 9000, true); /* before there is one */
    assert_int_equal(state_of(&f), SAMPLING_NO_NODE);
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    ARRIVES(&f, 1, 3);
    peer_hang_up(peers_at(0));
    UNTIL(&f, state_of(&f) == SAMPLING_NO_NODE);
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    assert_int_equal(peers_opened(), 2);
    assert_int_equal(net.begins, 2);
    assert_int_equal(samples(&f), 3);
    ARRIVES(&f, 1, 6); /* of another sampler */
    engine_stacks_end(f.g);
    peer_hang_up(peers_at(1));
    UNTIL(&f, peers_opened() == 3 && engine_state(f.g) == ENGINE_UP);
    assert_int_equal(state_of(&f), SAMPLING_OFF);
    assert_int_equal(net.begins, 2);
    end(&f);
}

static void a_refusal_is_told(void **state)
{
    struct fixture f;

    (void)state;
    begin_refused(&f);
    assert_string_equal(why(&f), "the node cannot sample stacks: invalid choice of processes");
    net.refuse = false;
    sample(&f, "all", 9000, true);
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    assert_string_equal(why(&f), "");
    end(&f);
}

/* Polls as if all pauses between two tries were over. */
static void skip_pauses(struct fixture *f)
{
    f->g->stacks.end_next_ns = f->g->stacks.end_next_ns ? 1 : 0;
    f->g->stacks.begin_next_ns = f->g->stacks.begin_next_ns ? 1 : 0;
}

#define UNTIL_TRIED(f, cond) UNTIL(f, (skip_pauses(f), cond))

/* The node was sampled, and refuses that after a reconnect. */
static void reconnect_refused(struct fixture *f)
{
    begin_sampling(f, false);
    ARRIVES(f, 1, 3);
    net.refuse = true;
    peer_hang_up(peers_at(0));
    UNTIL(f, net.begins == 2);
}

static void a_busy_node_is_asked_again_after_a_reconnect(void **state)
{
    struct fixture f;

    (void)state;
    reconnect_refused(&f);
    UNTIL_TRIED(&f, net.begins == 4);
    assert_int_equal(state_of(&f), SAMPLING_ASKED);
    net.refuse = false;
    UNTIL_TRIED(&f, state_of(&f) == SAMPLING_ON);
    end(&f);
}

static void a_node_that_refuses_each_time_is_given_up(void **state)
{
    struct fixture f;

    (void)state;
    reconnect_refused(&f);
    UNTIL_TRIED(&f, state_of(&f) == SAMPLING_FAILED);
    assert_int_equal(net.begins, 7);
    assert_int_equal(f.g->stacks.begin_next_ns, 0);
    assert_string_equal(why(&f), "the node cannot sample stacks: invalid choice of processes");
    engine_stacks_end(f.g);
    assert_int_equal(state_of(&f), SAMPLING_OFF);
    end(&f);
}

/* The answer to the request did not arrive, but it was carried out. */
static void samples_show_that_the_node_samples(void **state)
{
    struct fixture f;

    (void)state;
    begin_refused(&f);
    assert_int_equal(net.begins, 1); /* at the first request, the operator decides */
    arrives(&f, 1);
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    assert_string_equal(why(&f), "");
    sample(&f, "all", 18000, false); /* refused: the samples are those of the choice before */
    UNTIL(&f, state_of(&f) == SAMPLING_FAILED);
    ARRIVES(&f, 2, 6);
    assert_int_equal(state_of(&f), SAMPLING_FAILED);
    end(&f);
}

/* Sampling goes on and costs: the node is asked again, and the operator is told, once. */
static void an_end_that_fails_is_told_and_asked_for_again(void **state)
{
    static const char text[] = "stack sampling did not end: badarg";
    struct fixture f;

    (void)state;
    begin_sampling(&f, false);
    net.keep = true;
    engine_stacks_end(f.g);
    UNTIL_TRIED(&f, net.ends == 3);
    assert_true(engine_stacks_ending(f.g));
    assert_string_equal(f.message, text);
    assert_int_equal(f.messages, 1);
    net.keep = false;
    UNTIL_TRIED(&f, !engine_stacks_ending(f.g));
    assert_int_equal(net.ends, 4);
    assert_string_equal(f.g->log.line[(f.g->log.n - 1) % ENGINE_LOG].text,
                        "the node has ended stack sampling");
    end(&f);
}

static void an_end_that_fails_each_time_is_given_up(void **state)
{
    struct fixture f;

    (void)state;
    begin_sampling(&f, false);
    net.keep = true;
    engine_stacks_end(f.g);
    UNTIL_TRIED(&f, !engine_stacks_ending(f.g));
    assert_int_equal(net.ends, 6);
    assert_string_equal(f.message, "stack sampling may go on until kprof-top detaches: badarg");
    sample(&f, "all", 9000, false); /* the operator begins it again */
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    engine_stacks_end(f.g);
    UNTIL(&f, net.ends == 7);
    sample(&f, "all", 9000, false); /* it is no longer to end */
    UNTIL(&f, state_of(&f) == SAMPLING_ON);
    assert_false(engine_stacks_ending(f.g));
    assert_int_equal(net.ends, 7);
    end(&f);
}

/* The sampler ends with its connection. */
static void an_end_is_not_asked_of_another_connection(void **state)
{
    struct fixture f;

    (void)state;
    begin_sampling(&f, false);
    net.hold = true;
    engine_stacks_end(f.g);
    UNTIL(&f, net.held);
    peer_hang_up(peers_at(0));
    UNTIL(&f, peers_opened() == 2 && engine_state(f.g) == ENGINE_UP);
    assert_false(engine_stacks_ending(f.g));
    assert_int_equal(f.messages, 0);
    net.hold = false;
    end(&f);
}

static void a_sampler_that_ended_by_itself_is_told(void **state)
{
    static const char text[] = "stack sampling ended: its process was killed";
    struct fixture f;
    struct etf rest;
    uint64_t ref;

    (void)state;
    begin_sampling(&f, true);
    buf_clear(&f.m);
    enc_version(&f.m);
    enc_tuple(&f.m, 3);
    enc_atom(&f.m, "ke");
    enc_atom(&f.m, "stacks");
    enc_str(&f.m, text);
    stream_feed(f.g->stream, f.m.data, f.m.len, clock_mono_ns(), &rest, &ref);
    UNTIL(&f, state_of(&f) == SAMPLING_OFF);
    assert_string_equal(why(&f), text);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_arrive_and_their_cost_is_told),
        cmocka_unit_test(another_choice_forgets_the_samples),
        cmocka_unit_test(each_connection_is_asked),
        cmocka_unit_test(a_refusal_is_told),
        cmocka_unit_test(a_busy_node_is_asked_again_after_a_reconnect),
        cmocka_unit_test(a_node_that_refuses_each_time_is_given_up),
        cmocka_unit_test(samples_show_that_the_node_samples),
        cmocka_unit_test(an_end_that_fails_is_told_and_asked_for_again),
        cmocka_unit_test(an_end_that_fails_each_time_is_given_up),
        cmocka_unit_test(an_end_is_not_asked_of_another_connection),
        cmocka_unit_test(a_sampler_that_ended_by_itself_is_told),
    };
    return cmocka_run_group_tests_name("stack_sampling", tests, NULL, NULL);
}
