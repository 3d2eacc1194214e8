/* The control thread: every request gets exactly one answer; a request to open the breaker does not
 * wait; an answer belongs to the connection of its request. */
#include "fake_peer.h"

#include <engine/configuration.h>
#include <engine/results.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/trace/session.h>
#include <kprof/trace/stream.h>

/* The real control thread, but its nodes are peers of the test, one for each connection. */
#define session_open peers_open
#include "../../src/engine/control.c"
#undef session_open

#include <kprof/erl/enc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define QUESTIONS 4000

static struct {
    atomic_bool hold;     /* requests are not answered for now */
    atomic_bool hold_rpc; /* nor calls of functions */
    atomic_bool tools;    /* needed, as the agent says */
    atomic_bool garbage;  /* the answer to a configuration */
    atomic_bool refuse;   /* its identity rule */
    atomic_bool crash;    /* requests to switch tracing fail */
    _Atomic unsigned trips, held, held_rpcs, configs, tracing;
    _Atomic uint64_t held_ref;
    _Atomic uint64_t wakes;
} net;

static bool hear(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    (void)arg;
    (void)p;
    if (heard_is(h, "trip", NULL))
        net.trips++;
    if (heard_is(h, "tracing", NULL))
        net.tracing++;
    if (h->rpc && net.hold_rpc) {
        net.held_rpcs++;
        return false;
    }
    bool question = !heard_is(h, "trip", NULL) && !heard_is(h, "limits", NULL) &&
                    !heard_is(h, "tracing", NULL) && !heard_is(h, "ping", NULL) &&
                    !heard_is(h, "detach", NULL) && !h->rpc;
    if (question && net.hold) {
        net.held_ref = h->ref;
        net.held++;
        return false;
    }
    if (heard_is(h, "config", NULL) && net.refuse) {
        net.configs++;
        peer_error(out, "identity", "line 1, column 1: unreadable");
    } else if (heard_is(h, "config", NULL) && !net.garbage) {
        net.configs++;
        enc_tuple(out, 2);
        enc_atom(out, "ok");
        enc_nil(out);
    } else if (heard_is(h, "config", NULL)) {
        net.configs++;
        enc_nil(out);
    } else if (question && net.tools)
        enc_atom(out, "tools");
    else if (heard_is(h, "alive", NULL) || heard_is(h, "who", NULL))
        enc_nil(out);
    else if (heard_is(h, "tracing", NULL) && net.crash) {
        peer_error(out, "crashed", "badarg");
    } else
        enc_atom(out, "ok");
    return true;
}

static void on_wake(void *arg)
{
    (void)arg;
    net.wakes++;
}

/* ---- answers ---- */

struct seen {
    struct control *c;
    struct engine *g;  /* takes the results, too; NULL: none */
    struct ring *ring; /* of the stream; nothing is fed */
    struct intern *names;
    struct stream *stream;
    unsigned answers[QUESTIONS], failed[QUESTIONS];
    unsigned connected, lost, troubles, switched;
    char last[600]; /* why a request failed */
    char trouble[600];
};

static void begin(struct seen *s)
{
    struct session_opts o = {.to.node = "n@h", .wake = on_wake};

    memset(&net, 0, sizeof net);
    memset(s, 0, sizeof *s);
    peers_begin(hear, PEERS_MAX);
    s->ring = ring_new(4, sizeof(struct event));
    s->names = intern_new(4, 64);
    o.stream = s->stream = stream_new(s->ring, s->names);
    s->c = control_start(&o);
}

static void end(struct seen *s)
{
    struct session_receipt r;

    net.hold = false;
    control_finish(s->c, &r);
    peers_end();
    stream_free(s->stream);
    ring_free(s->ring);
    intern_free(s->names);
}

static void take(struct seen *s)
{
    struct result *r;

    while ((r = control_take(s->c))) {
        if (r->kind == RESULT_CONNECTED)
            s->connected++;
        else if (r->kind == RESULT_LOST)
            s->lost++;
        else if (r->kind == RESULT_TRACING)
            s->switched++;
        else if (r->kind == RESULT_TROUBLE) {
            s->troubles++;
            snprintf(s->trouble, sizeof s->trouble, "%s", r->text);
        } else if (r->question_id) {
            assert_true(r->question_id < QUESTIONS);
            s->answers[r->question_id]++;
            s->failed[r->question_id] += r->failed;
            if (r->failed)
                snprintf(s->last, sizeof s->last, "%s", r->text);
        }
        if (s->g)
            results_take(s->g, r);
        result_release(r);
    }
    usleep(200);
}

#define UNTIL(s, cond)          PEERS_UNTIL(take(s), cond)
#define UNTIL_TAKING_NONE(cond) PEERS_UNTIL(usleep(500), cond)

static uint64_t dead_question(struct seen *s)
{
    uint64_t pid = 7;
    return control_ask(s->c, CONTROL_DEAD, 0, NULL, &pid, 1);
}

/* ---- the queue ---- */

static void a_trip_has_its_own_place(void **state)
{
    struct control_queue q = {0};
    uint64_t question_id;

    (void)state;
    for (unsigned i = 0; i < CONTROL_ASKS; i++) {
        struct control_job *a = control_job_new(CONTROL_WHY, (uint16_t)i);
        a->session = i % 2;
        assert_true(control_queue_put(&q, a, &question_id));
    }
    struct control_job *more = control_job_new(CONTROL_WHY, 0),
                       *trip = control_job_new(CONTROL_TRIP, 0);
    assert_false(control_queue_put(&q, more, &question_id));
    control_job_free(more);
    assert_true(control_queue_put(&q, trip, &question_id));
    assert_ptr_equal(control_queue_take(&q), trip);
    control_job_free(trip);
    /* the jobs of a session are removed, in order; the others stay, in order */
    for (uint16_t i = 1; i < CONTROL_ASKS; i = (uint16_t)(i + 2)) {
        struct control_job *a = control_queue_take_old(&q);
        assert_int_equal(a->ix, i);
        control_job_free(a);
    }
    assert_null(control_queue_take_old(&q));
    for (uint16_t i = 0; i < CONTROL_ASKS; i = (uint16_t)(i + 2)) {
        struct control_job *a = control_queue_take(&q);
        assert_int_equal(a->ix, i);
        control_job_free(a);
    }
    assert_false(control_queue_any(&q));
}

/* ---- the thread ---- */

/* One answer does not arrive, 64 requests wait, others are refused: the node still receives the
 * request to open the breaker. False: this machine was so slow that the first request timed out. */
static bool a_trip_overtakes(void)
{
    static struct seen s;
    uint64_t first, last = 0;

    begin(&s);
    UNTIL(&s, s.connected);
    net.hold = true;
    first = dead_question(&s);
    UNTIL(&s, net.held == 1);
    for (int i = 0; i < CONTROL_ASKS + 6; i++)
        last = dead_question(&s);
    control_ask(s.c, CONTROL_TRIP, 0, "behind", NULL, 0);
    UNTIL(&s, net.trips == 1);
    if (net.held > 1) {
        net.hold = false;
        end(&s);
        return false;
    }
    assert_int_equal(net.held, 1);
    assert_int_equal(s.answers[first], 0);
    UNTIL(&s, s.answers[last]); /* refused at once */
    assert_int_equal(s.failed[last], 1);
    assert_non_null(strstr(s.last, "too many requests to the node are waiting: try again"));
    net.hold = false;
    struct buf none;
    buf_init(&none, 0);
    enc_nil(&none);
    peer_answer(peers_at(0), false, net.held_ref, &none);
    buf_release(&none);
    for (uint64_t t = first; t <= last; t++) {
        UNTIL(&s, s.answers[t]);
        assert_int_equal(s.failed[t], t > last - 6);
    }
    end(&s);
    for (uint64_t t = first; t <= last; t++)
        assert_int_equal(s.answers[t], 1);
    return true;
}

static void a_trip_waits_for_nobody(void **state)
{
    (void)state;
    for (int tries = 0; tries < 5; tries++)
        if (a_trip_overtakes())
            return;
    fail_msg("a request timed out in each of 5 tries");
}

/* The tools of the agent are loaded for a request, which takes calls of functions on the node. */
static void a_trip_overtakes_the_tools(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    net.tools = net.hold_rpc = true;
    uint64_t first = dead_question(&s);
    UNTIL(&s, net.held_rpcs == 1);
    control_ask(s.c, CONTROL_TRIP, 0, "behind", NULL, 0);
    UNTIL(&s, net.trips == 1);
    take(&s);
    assert_int_equal(s.answers[first], 0); /* it still waits for the first call */
    assert_int_equal(net.held_rpcs, 1);
    net.tools = net.hold_rpc = false;
    UNTIL(&s, s.answers[first]);
    end(&s);
}

static void configured(struct seen *s, bool tracing)
{
    struct trace_config w = {.n = 1, .sample = 1, .tracing = tracing};

    control_configure(s->c, &w);
}

/* What the node has after a failure is not known: the configuration before it is sent again, too.
 */
static void a_failed_configuration_is_not_taken_for_applied(void **state)
{
    static struct seen s;
    struct trace_config more = {.n = 2, .sample = 1, .tracing = true};

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    configured(&s, true);
    UNTIL(&s, net.configs == 1 && net.tracing == 1);
    net.garbage = true;
    control_configure(s.c, &more);
    UNTIL(&s, net.configs == 2 && s.troubles == 1);
    net.garbage = false;
    configured(&s, true);
    UNTIL(&s, net.configs == 3);
    /* it succeeded: only what differs is sent */
    configured(&s, false);
    UNTIL(&s, net.tracing == 2);
    assert_int_equal(net.configs, 3);
    end(&s);
}

/* The node was too busy for the first configuration, and answers a ping: it gets it again. */
static void a_configuration_without_an_answer_is_sent_again(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    net.hold = true;
    configured(&s, true);
    UNTIL(&s, net.held == 1);
    UNTIL(&s, s.troubles == 1);
    net.hold = false;
    UNTIL(&s, net.configs == 1 && net.tracing == 1);
    end(&s);
}

/* An error is an answer, but tracing was not switched on: the next configuration tries again. */
static void a_switch_that_failed_is_not_reported_as_done(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    net.crash = true;
    configured(&s, true);
    UNTIL(&s, s.switched || s.troubles);
    assert_int_equal(s.switched, 0);
    assert_string_equal(s.trouble, "the agent could not do the request 'tracing': badarg");
    assert_int_equal(net.tracing, 1);
    net.crash = false;
    configured(&s, true);
    UNTIL(&s, s.switched == 1);
    assert_int_equal(net.tracing, 2);
    assert_int_equal(s.troubles, 1);
    end(&s);
}

/* ---- the engine, while an answer is late ---- */

static unsigned refusals;

static void on_refused(void *arg, const char *rule, const char *why)
{
    (void)arg;
    (void)rule;
    (void)why;
    refusals++;
}

static void begin_engine(struct seen *s)
{
    struct core_limits limits;

    begin(s);
    core_limits_default(&limits);
    s->g = calloc(1, sizeof *s->g);
    assert_non_null(s->g);
    s->g->control = s->c;
    s->g->stream = s->stream;
    s->g->core = core_new(&limits, s->names);
    s->g->hooks.rule_refused = on_refused;
    refusals = 0;
    s->g->configuration.wanted =
        (struct trace_config){.n = 1, .sample = 1, .tracing = true, .entry = TRACE_CONFIG_NO_ENTRY};
    UNTIL(s, s->connected);
}

static void end_engine(struct seen *s)
{
    struct core *core = s->g->core;

    free(s->g);
    s->g = NULL;
    core_free(core);
    end(s);
}

static void set_rule(struct engine *g, const char *rule)
{
    struct err e;

    if (engine_identity(g, rule, &e) < 0)
        fail_msg("%s", e.text);
}

/* The operator changes the sampling before the answer to the rule is taken. */
static void a_rule_that_was_accepted_late_is_the_one_to_return_to(void **state)
{
    static struct seen s;

    (void)state;
    begin_engine(&s);
    set_rule(s.g, "m:f/1 arg(1)");
    UNTIL_TAKING_NONE(net.tracing >= 1);
    engine_sample(s.g, false);
    UNTIL(&s, s.g->configuration.configured_gen >= 1);
    net.refuse = true;
    set_rule(s.g, "m:f/1 arg(");
    UNTIL(&s, refusals == 1);
    assert_string_equal(s.g->configuration.wanted.identity, "m:f/1 arg(1)");
    UNTIL(&s, engine_configured(s.g)); /* the node has that rule already */
    end_engine(&s);
}

/* The operator pauses before the answer to the first configuration is taken. What is traced is the
 * same, so the node is not asked for it again, but it has the last configuration. */
static void a_change_of_the_rest_is_confirmed(void **state)
{
    static struct seen s;

    (void)state;
    begin_engine(&s);
    configuration_push(s.g);
    UNTIL_TAKING_NONE(net.tracing >= 1);
    engine_toggle(s.g);
    UNTIL(&s, s.switched == 2);
    UNTIL(&s, engine_configured(s.g));
    engine_sample(s.g, false);
    assert_false(engine_configured(s.g));
    UNTIL(&s, engine_configured(s.g));
    assert_int_equal(net.configs, 1);
    end_engine(&s);
}

/* When a connection is lost, its waiting and running requests are refused before the loss is
 * reported; the next connection does not receive them. Requests without a connection wait for one.
 */
static void a_lost_connection_refuses_what_it_was_asked(void **state)
{
    static struct seen s;
    uint64_t first, last = 0;

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    net.hold = true;
    first = dead_question(&s);
    UNTIL(&s, net.held == 1);
    for (int i = 0; i < 20; i++)
        last = dead_question(&s);
    peer_hang_up(peers_at(0));
    UNTIL(&s, s.lost);
    for (uint64_t t = first; t <= last; t++) {
        assert_int_equal(s.answers[t], 1);
        assert_int_equal(s.failed[t], 1);
    }
    net.hold = false;
    uint64_t then = control_ask(s.c, CONTROL_COMPLETE, 0, "", NULL, 0);
    UNTIL(&s, s.answers[then]);
    assert_int_equal(s.connected, 2);
    assert_int_equal(net.held, 1);
    end(&s);
}

/* The core thread does not yet know of the new connection: its request is about processes of the
 * old one. */
static void the_next_connection_does_not_answer_for_the_last(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    peer_hang_up(peers_at(0));
    UNTIL_TAKING_NONE(peers_opened() >= 2);
    uint64_t t = dead_question(&s);
    UNTIL(&s, s.answers[t]);
    assert_int_equal(s.failed[t], 1);
    assert_non_null(strstr(s.last, "connection was lost"));
    end(&s);
}

/* While the offset of the node's clock is uncertain, it is asked for more often, but not for ever.
 */
static void an_uncertain_clock_is_asked_soon(void **state)
{
    struct intern *names = intern_new(4, 64);
    struct ring *ring = ring_new(4, sizeof(struct event));
    struct control c = {.o.stream = stream_new(ring, names)};

    (void)state;
    stream_clock(c.o.stream, 0, 1000000000);
    assert_int_equal(ping_every_ms(&c), PING_SOON_MS);
    c.soon = PING_SOON_MOST;
    assert_int_equal(ping_every_ms(&c), PING_MS);
    c.soon = 0;
    c.o.pause_ms = 600; /* a short lease needs frequent pings, too */
    assert_int_equal(ping_every_ms(&c), 200);
    stream_free(c.o.stream);
    ring_free(ring);
    intern_free(names);
}

/* The queue is full: the end of a full trace is not sent, so the trace goes on, and this is said.
 */
static void the_end_of_a_full_trace_is_not_dropped_silently(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    UNTIL(&s, s.connected);
    net.hold = true;
    dead_question(&s);
    UNTIL(&s, net.held == 1);
    for (int i = 0; i < CONTROL_ASKS; i++)
        dead_question(&s);
    control_full(s.c, NULL);
    UNTIL(&s, s.troubles == 1);
    assert_non_null(strstr(s.trouble, "too many requests to the node are waiting: try again"));
    end(&s);
}

/* Random requests, answered or not, and random lost connections: each request has one answer. */
static void every_question_has_one_answer(void **state)
{
    static const enum control_ask any[] = {CONTROL_WHY,   CONTROL_DEAD,       CONTROL_WHO,
                                           CONTROL_STACK, CONTROL_RATES_TAKE, CONTROL_CAPTURE,
                                           CONTROL_PAGE,  CONTROL_CAPTURED,   CONTROL_EXIST};
    static struct seen s;
    static bool asked[QUESTIONS];
    unsigned seed = 20261122u;
    uint64_t pid = 7, t = 0;

    (void)state;
    memset(asked, 0, sizeof asked);
    print_message("seed %u\n", seed);
    begin(&s);
    UNTIL(&s, s.connected);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 400; i++) {
            enum control_ask what = any[(size_t)rand_r(&seed) % (sizeof any / sizeof any[0])];
            if (what == CONTROL_PAGE || what == CONTROL_EXIST || what == CONTROL_RATES_TAKE)
                control_code_query(s.c, what, 1, ""), t++;
            else
                t = control_ask(s.c, what, 0, NULL, &pid, 1);
            asked[t] = true;
            net.hold = i > 300 && i < 320;
            if (rand_r(&seed) % 4 == 0)
                take(&s);
        }
        peer_hang_up(peers_at(peers_opened() - 1));
        UNTIL(&s, s.connected == (unsigned)round + 2);
    }
    for (uint64_t k = 1; k <= t; k++)
        UNTIL(&s, s.answers[k]);
    end(&s);
    for (uint64_t k = 1; k <= t; k++) {
        assert_true(asked[k]);
        assert_int_equal(s.answers[k], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trip_has_its_own_place),
        cmocka_unit_test(a_trip_waits_for_nobody),
        cmocka_unit_test(a_trip_overtakes_the_tools),
        cmocka_unit_test(a_failed_configuration_is_not_taken_for_applied),
        cmocka_unit_test(a_configuration_without_an_answer_is_sent_again),
        cmocka_unit_test(a_switch_that_failed_is_not_reported_as_done),
        cmocka_unit_test(a_rule_that_was_accepted_late_is_the_one_to_return_to),
        cmocka_unit_test(a_change_of_the_rest_is_confirmed),
        cmocka_unit_test(a_lost_connection_refuses_what_it_was_asked),
        cmocka_unit_test(the_next_connection_does_not_answer_for_the_last),
        cmocka_unit_test(an_uncertain_clock_is_asked_soon),
        cmocka_unit_test(the_end_of_a_full_trace_is_not_dropped_silently),
        cmocka_unit_test(every_question_has_one_answer),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
