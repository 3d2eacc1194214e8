/* The process table in the engine: the node is asked while it is wanted, and no longer; what is
 * asked for; a lost node, a recording. */
#include "agent_processes.h"
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
    _Atomic unsigned asked, ends;
    _Atomic uint64_t seq; /* of the next round; 0: there is none */
    atomic_bool refuse;
    char by[32], within[64]; /* of the last request; read when it was counted */
} net;

static void hear_order(struct etf *c)
{
    uint32_t pairs, arity;

    assert_true(etf_map(c, &pairs));
    for (uint32_t i = 0; i < pairs; i++) {
        const char *s;
        size_t n;
        if (etf_is_atom(c, "by") && etf_atom(c, &s, &n)) {
            snprintf(net.by, sizeof net.by, "%.*s", (int)n, s);
        } else if (etf_is_atom(c, "within")) {
            struct etf at = *c;
            etf_skip(c);
            if (etf_tuple(&at, &arity) && etf_is_atom(&at, "application"))
                etf_text(&at, net.within, sizeof net.within);
            else
                snprintf(net.within, sizeof net.within, "not an application");
        } else {
            etf_skip(c);
            etf_skip(c);
        }
    }
}

static bool hear(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    struct etf c;

    (void)arg;
    (void)p;
    if (!heard_is(h, "processes", &c)) {
        enc_atom(out, "ok");
        return true;
    }
    if (etf_is_atom(&c, "off")) {
        enc_atom(out, "ok");
        net.ends++;
        return true;
    }
    hear_order(&c);
    if (net.refuse) {
        peer_error(out, "processes", "a test");
    } else if (net.seq) {
        agent_processes_round(out, net.seq);
    } else {
        agent_processes_wait(out, 0);
    }
    net.asked++;
    return true;
}

/* ---- an engine on such a node ---- */

struct fixture {
    struct engine *g;
    struct process_table *table; /* the last one */
    unsigned tables;
    char why[300];
};

static void on_processes(void *arg, struct process_table *t, const char *why)
{
    struct fixture *f = arg;
    snprintf(f->why, sizeof f->why, "%s", t ? "" : why);
    if (t) {
        process_table_free(f->table);
        f->table = t;
        f->tables++;
    }
}

static void begin(struct fixture *f, bool attached)
{
    struct engine_hooks hooks = {.arg = f, .processes = on_processes};
    const struct settings settings = {0};

    memset(&net, 0, sizeof net);
    memset(f, 0, sizeof *f);
    f->g = fake_engine_new(&settings, &hooks, hear, CONNECTIONS);
    assert_non_null(f->g);
    if (attached)
        assert_int_equal(fake_engine_attach(f->g), 0);
}

static void end(struct fixture *f)
{
    fake_engine_free(f->g);
    process_table_free(f->table);
}

#define UNTIL(f, cond) FAKE_ENGINE_UNTIL((f)->g, cond)

/* ---- tests ---- */

static void it_is_asked_while_it_is_wanted(void **state)
{
    struct fixture f;
    struct process_request r = {.order = {.by = PROCESS_QUEUE}, .period_ms = 500};

    (void)state;
    begin(&f, true);
    UNTIL(&f, engine_state(f.g) == ENGINE_UP);
    for (int i = 0; i < 100; i++)
        fake_engine_turn(f.g);
    assert_int_equal(net.asked, 0); /* nobody has asked for it */
    engine_processes(f.g, &r);
    UNTIL(&f, f.tables);
    assert_int_equal(f.table->head.seq, 0); /* none so far: asked again */
    assert_string_equal(net.by, "queue");
    assert_string_equal(net.within, "not an application");
    net.seq = 1;
    UNTIL(&f, f.table->head.seq == 1);
    assert_int_equal(f.table->n[PROCESS_UNGROUPED], 2);
    net.seq = 2;
    UNTIL(&f, f.table->head.seq == 2);
    engine_processes(f.g, NULL);
    UNTIL(&f, net.ends == 1);
    unsigned asked = net.asked, tables = f.tables;
    for (int i = 0; i < 100; i++)
        fake_engine_turn(f.g);
    assert_int_equal(net.asked, asked);
    assert_int_equal(f.tables, tables);
    end(&f);
}

static void another_order_is_asked_at_once(void **state)
{
    struct fixture f;
    struct process_request r = {.order = {.by = PROCESS_MEMORY}, .period_ms = 2000};

    (void)state;
    begin(&f, true);
    net.seq = 1;
    UNTIL(&f, engine_state(f.g) == ENGINE_UP);
    engine_processes(f.g, &r);
    UNTIL(&f, f.tables == 1);
    for (int i = 0; i < 10; i++)
        engine_processes(f.g, &r); /* the same: not asked again */
    assert_int_equal(net.asked, 1);
    r.order = (struct process_order){
        .by = PROCESS_GCS, .within = PROCESS_BY_APPLICATION, .name = "my app"};
    engine_processes(f.g, &r);
    UNTIL(&f, net.asked == 2);
    assert_string_equal(net.by, "gcs");
    assert_string_equal(net.within, "my app");
    end(&f);
}

static void a_refusal_is_told(void **state)
{
    struct fixture f;
    struct process_request r = {.period_ms = 500};

    (void)state;
    begin(&f, true);
    net.refuse = true;
    UNTIL(&f, engine_state(f.g) == ENGINE_UP);
    engine_processes(f.g, &r);
    UNTIL(&f, f.why[0]);
    assert_string_equal(f.why, "the node cannot show its processes: a test");
    end(&f);
}

static void a_lost_node_is_told_and_asked_again(void **state)
{
    struct fixture f;
    struct process_request r = {.period_ms = 500};

    (void)state;
    begin(&f, true);
    net.seq = 1;
    engine_processes(f.g, &r);
    UNTIL(&f, f.tables);
    peer_hang_up(peers_at(0));
    UNTIL(&f, f.why[0]);
    assert_non_null(strstr(f.why, "connection")); /* is lost, or was lost before the answer */
    assert_non_null(strstr(f.why, "lost"));
    unsigned tables = f.tables;
    UNTIL(&f, f.tables > tables); /* the next connection */
    assert_string_equal(f.why, "");
    end(&f);
}

static void a_recording_has_none(void **state)
{
    struct fixture f;
    struct process_request r = {.period_ms = 500};
    struct err e;

    (void)state;
    begin(&f, false);
    assert_int_equal(engine_replay(f.g, "tests/golden/demo.rec", &e), 0);
    engine_processes(f.g, &r);
    UNTIL(&f, f.why[0]);
    assert_string_equal(f.why,
                        "a recording has no process table: attach to a node to see its processes");
    assert_int_equal(f.tables, 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_asked_while_it_is_wanted),
        cmocka_unit_test(another_order_is_asked_at_once),
        cmocka_unit_test(a_refusal_is_told),
        cmocka_unit_test(a_lost_node_is_told_and_asked_again),
        cmocka_unit_test(a_recording_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
