/* The engine without a node, and the effects of canceled requests. */
#include <engine/full_trace.h>
#include <engine/identity_template.h>
#include <engine/liveness.h>
#include <engine/process_names.h>
#include <engine/results.h>
#include <engine/rule_check.h>

#include <core/snapshot_impl.h>
#include <core/state.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <kprof/erl/enc.h>

struct heard {
    char message[200], stack[200];
    uint64_t pid;
    bool completed;
    int capture;
};

static void on_message(void *arg, const char *text, bool is_error)
{
    struct heard *h = arg;
    assert_true(is_error);
    snprintf(h->message, sizeof h->message, "%s", text);
}

static void on_stack(void *arg, uint64_t pid, const char *lines, bool dead)
{
    struct heard *h = arg;
    assert_false(dead);
    h->pid = pid;
    snprintf(h->stack, sizeof h->stack, "%s", lines);
}

static struct engine *engine(struct heard *h)
{
    struct engine *g = calloc(1, sizeof *g);
    assert_non_null(g);
    memset(h, 0, sizeof *h);
    g->hooks = (struct engine_hooks){.arg = h, .message = on_message, .stack = on_stack};
    return g;
}

/* Without a node, each request gets an answer: nothing waits for ever. */
static void questions_without_a_node_are_answered(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    g->state = ENGINE_LOST;
    engine_stack(g, 77);
    assert_int_equal(h.pid, 77);
    assert_string_equal(h.stack, "not known: the node cannot be asked: it is not connected");
    engine_why(g, 0);
    assert_string_equal(h.message, "the node cannot be asked: it is not connected");
    g->replay.file = (struct replay *)(uintptr_t)g; /* content is never read */
    g->state = ENGINE_UP;
    engine_stack(g, 78);
    assert_int_equal(h.pid, 78);
    assert_string_equal(h.stack, "not known: the node cannot be asked: this is a recording");
    engine_why(g, 0);
    assert_string_equal(h.message, "the node cannot be asked: this is a recording");
    free(g);
}

/* Stopped while the catalog loads: a running count of calls is awaited; a canceled request is not,
 * because it would block all others. */
static void a_stopped_catalog_waits_for_no_answer(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    struct catalog_status loading = {.state = CATALOG_LOADING};
    g->catalog_load.catalog = catalog_new();
    catalog_set_status(g->catalog_load.catalog, &loading);
    g->catalog_load.counted_n = 3;
    g->catalog_load.take_at_ns = 1;
    engine_catalog_stop(g);
    assert_int_equal(g->catalog_load.counted_n, 3);
    catalog_set_status(g->catalog_load.catalog, &loading);
    g->catalog_load.take_at_ns = 0;
    engine_catalog_stop(g);
    assert_int_equal(g->catalog_load.counted_n, 0);
    catalog_free(g->catalog_load.catalog);
    free(g);
}

static struct result *failed(enum result_kind kind, uint64_t pid)
{
    struct result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->kind = kind;
    r->failed = true;
    r->text = strdup("too many requests to the node are waiting: try again");
    r->n = 1;
    r->pids = calloc(2, sizeof *r->pids);
    assert_non_null(r->pids);
    r->pids[0] = pid;
    return r;
}

static void answer(struct engine *g, struct result *r)
{
    results_take(g, r);
    result_release(r);
}

static void on_completions(void *arg, const char *typed, const char *lines)
{
    struct heard *h = arg;
    assert_string_equal(typed, "lists:");
    assert_string_equal(lines, "");
    h->completed = true;
}

static void on_exist(void *arg, uint16_t tag, const bool *there, const char *why)
{
    struct heard *h = arg;
    (void)tag;
    (void)there;
    err_copy(h->message, sizeof h->message, why);
}

static void on_captured(void *arg, struct capture *c)
{
    struct heard *h = arg;
    h->capture = c->state;
    err_copy(h->stack, sizeof h->stack, c->why);
}

/* For every request: if there is no answer, the waiting screen gets the reason. */
static void a_refusal_ends_every_wait(void **state)
{
    (void)state;
    static const char refusal[] = "too many requests to the node are waiting: try again";
    struct heard h;
    struct engine *g = engine(&h);
    struct core_limits limits;
    struct result *r;
    core_limits_default(&limits);
    g->names = intern_new(100, 10000);
    g->core = core_new(&limits, g->names);
    g->hooks.completions = on_completions;
    g->hooks.captured = on_captured;
    g->hooks.exist = on_exist;

    answer(g, failed(RESULT_STACK, 9));
    assert_int_equal(h.pid, 9);
    assert_string_equal(h.stack, "not known: too many requests to the node are waiting: try again");

    r = failed(RESULT_COMPLETIONS, 0);
    snprintf(r->typed, sizeof r->typed, "lists:");
    answer(g, r);
    assert_true(h.completed);
    assert_string_equal(h.message, refusal);

    h.message[0] = 0;
    answer(g, failed(RESULT_WHY, 0)); /* not requested, so not reported */
    assert_string_equal(h.message, "");
    g->questions.why_by_hand[0] = true;
    answer(g, failed(RESULT_WHY, 0));
    assert_string_equal(h.message, refusal);
    assert_false(g->questions.why_by_hand[0]);

    struct catalog_status loading = {.state = CATALOG_LOADING};
    g->catalog_load.catalog = catalog_new();
    catalog_set_status(g->catalog_load.catalog, &loading);
    r = failed(RESULT_CODE, 0);
    r->code.what = CONTROL_PAGE;
    answer(g, r);
    assert_int_equal(catalog_status(g->catalog_load.catalog)->state, CATALOG_PART);
    assert_string_equal(catalog_status(g->catalog_load.catalog)->note, refusal);
    g->catalog_load.counted_n = 2;
    r = failed(RESULT_CODE, 0);
    r->code.what = CONTROL_RATES;
    answer(g, r);
    assert_int_equal(g->catalog_load.counted_n, 0);
    g->catalog_load.counted_n = 2;
    r = failed(RESULT_CODE, 0);
    r->code.what = CONTROL_RATES_TAKE;
    answer(g, r);
    assert_int_equal(g->catalog_load.counted_n, 0); /* they can be counted, so are asked again */
    assert_string_equal(g->log.line[(g->log.n - 1) % ENGINE_LOG].text, refusal);

    h.message[0] = 0;
    r = failed(RESULT_CODE, 0);
    r->code.what = CONTROL_EXIST;
    answer(g, r);
    assert_string_equal(h.message, refusal);

    g->captures.active = g->captures.asked = true;
    g->captures.question_id = 5;
    r = failed(RESULT_CAPTURE, 0);
    r->question_id = 4; /* of a canceled request */
    answer(g, r);
    assert_true(g->captures.active);
    r = failed(RESULT_CAPTURE, 0);
    r->question_id = 5;
    r->capture.state = CAPTURE_FAILED;
    snprintf(r->capture.why, sizeof r->capture.why, "%s", refusal);
    answer(g, r);
    assert_false(g->captures.active);
    assert_int_equal(h.capture, CAPTURE_FAILED);
    assert_string_equal(h.stack, refusal);

    answer(g, failed(RESULT_DEAD, 3));
    assert_int_equal(g->dead.n, 0);
    catalog_free(g->catalog_load.catalog);
    core_free(g->core);
    intern_free(g->names);
    free(g);
}

/* ---- names of processes, and restarted nodes ---- */

static struct snapshot *shown(uint64_t old_wall_ns, uint64_t new_wall_ns)
{
    struct snapshot *s = calloc(1, sizeof *s);
    struct snap_slow *slow = snapshot_take(s, 2 * sizeof *slow);
    memset(slow, 0, 2 * sizeof *slow);
    slow[0].pid = slow[1].pid = 7;
    slow[0].wall_ns = new_wall_ns;
    slow[1].wall_ns = old_wall_ns;
    s->slow = slow;
    s->n_slow = 2;
    return s;
}

static void name(struct engine *g, const char *text)
{
    struct result *r = failed(RESULT_WHO, 7);
    r->failed = false;
    free(r->text);
    r->text = strdup(text);
    answer(g, r);
}

static void expect_names(struct engine *g, uint64_t old_wall_ns, uint64_t new_wall_ns,
                         const char *old, const char *new)
{
    struct snapshot *s = shown(old_wall_ns, new_wall_ns);
    process_names_apply(g, s);
    process_names_ask(g, s, 0);
    if (old)
        assert_string_equal(s->slow[1].who, old);
    else
        assert_null(s->slow[1].who);
    if (new)
        assert_string_equal(s->slow[0].who, new);
    else
        assert_null(s->slow[0].who);
    snapshot_free(s);
}

static void known(struct engine *g, uint64_t pid)
{
    g->process_names.of[g->process_names.n++] = (struct process_name){
        .pid = pid, .from_wall_ns = g->process_names.vm_wall_ns, .to_wall_ns = UINT64_MAX};
}

/* After a restart of the node, a pid belongs to another process. */
static void a_name_is_of_the_node_that_had_it(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);

    known(g, 7);
    name(g, "first\n");
    expect_names(g, 1000, 2000, "first", "first");
    g->process_names.lost_wall_ns = 1500; /* only the connection is new: it is the same node */
    expect_names(g, 1000, 2000, "first", "first");
    process_names_restarted(g);
    expect_names(g, 1000, 2000, "first", NULL);
    known(g, 7);
    expect_names(g, 1000, 2000, "first", NULL); /* requested, not yet answered */
    name(g, "second\n");
    expect_names(g, 1000, 2000, "first", "second");
    g->process_names.lost_wall_ns = 3000;
    process_names_restarted(g);
    expect_names(g, 1000, 2000, "first", "second");
    expect_names(g, 2000, 4000, "second", NULL);
    free(g);
}

/* A failed request for names is repeated. */
static void names_that_were_refused_are_forgotten(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);

    known(g, 7);
    answer(g, failed(RESULT_WHO, 7));
    assert_int_equal(g->process_names.of[0].pid, 0);

    free(g);
}

/* Each hazard that is avoided is logged once, and again if another node has others. */
static void what_is_held_back_is_said_once(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    struct result *r = calloc(1, sizeof *r);
    struct core_limits limits;
    const char *avoided;

    assert_non_null(r);
    core_limits_default(&limits);
    g->names = intern_new(100, 10000);
    g->core = core_new(&limits, g->names);
    g->hooks.message = NULL;
    r->kind = RESULT_CONNECTED;
    assert_int_equal(engine_avoided(g, &avoided), 0);
    r->info.n_avoided = 2;
    snprintf(r->info.avoided, sizeof r->info.avoided, "first (otp#1); second");
    results_take(g, r);
    assert_int_equal(g->log.n, 3); /* attached, and one line for each */
    assert_string_equal(g->log.line[1].text, "precaution on this node: first (otp#1)");
    assert_string_equal(g->log.line[2].text, "precaution on this node: second");
    assert_int_equal(engine_avoided(g, &avoided), 2);
    assert_string_equal(avoided, "first (otp#1); second");
    results_take(g, r);
    assert_int_equal(g->log.n, 4); /* attached again */
    snprintf(r->info.avoided, sizeof r->info.avoided, "third");
    r->info.n_avoided = 1;
    results_take(g, r);
    assert_string_equal(g->log.line[5].text, "precaution on this node: third");
    result_release(r);
    core_free(g->core);
    intern_free(g->names);
    free(g);
}

/* ---- does the rule match calls ---- */

#define MS UINT64_C(1000000)

struct ruled {
    struct heard h;
    struct engine *g;
    uint64_t now_ns, label;
};

static struct ruled ruled(const char *rule)
{
    struct ruled r = {.now_ns = 1000 * MS};
    struct core_limits limits;

    core_limits_default(&limits);
    r.g = calloc(1, sizeof *r.g);
    assert_non_null(r.g);
    r.g->hooks.message = on_message;
    r.g->names = intern_new(100, 10000);
    r.g->core = core_new(&limits, r.g->names);
    core_set_entry(r.g->core, core_tier_add(r.g->core, "web", "m:web/2"));
    snprintf(r.g->configuration.wanted.identity, sizeof r.g->configuration.wanted.identity, "%s",
             rule);
    core_set_identity(r.g->core, true);
    rule_check_begin(r.g);
    return r;
}

/* Runs n requests, ten per second, to which the rule gave this name (NULL: undefined). */
static void named(struct ruled *r, int n, const char *text)
{
    struct event ev = {.pid = 1, .kind = EVENT_ENTRY, .fn = 90, .caller = 91};

    r->g->hooks.arg = &r->h;
    ev.ident = text ? intern_add(r->g->names, text, strlen(text)) : 0;
    for (int i = 0; i < n; i++) {
        ev.ts_ns = r->now_ns;
        ev.label = ++r->label;
        core_feed(r->g->core, &ev, 1);
        core_feed(
            r->g->core,
            &(struct event){.ts_ns = ev.ts_ns + MS, .pid = 1, .kind = EVENT_RETURN_TO, .fn = 91},
            1);
        r->now_ns += 100 * MS;
        core_advance(r->g->core, r->now_ns);
        rule_check_poll(r->g, r->now_ns);
    }
}

static void release(struct ruled *r)
{
    core_free(r->g->core);
    intern_free(r->g->names);
    free(r->g);
}

static void a_rule_that_matches_no_call_says_so(void **state)
{
    (void)state;
    static const char said[] = "the identity rule has matched none of 11 calls so far; for a list, "
                               "use nth(1, arg(2)); press I to see the arguments";
    struct ruled r = ruled("m:web/2 element(1, arg(2))");
    named(&r, 10, NULL);
    assert_string_equal(r.h.message, ""); /* some may be earlier requests */
    named(&r, 7, NULL);
    assert_string_equal(r.h.message, said); /* within 2 s */
    assert_string_equal(r.g->log.line[0].text, said);
    r.h.message[0] = 0;
    named(&r, 20, NULL);
    assert_string_equal(r.h.message, ""); /* once */
    assert_int_equal(r.g->log.n, 1);
    assert_memory_equal(r.g->rule_check.note, "the identity rule has matched none of ", 38);
    named(&r, 1, "get /a");
    assert_string_equal(r.g->rule_check.note, "");
    release(&r);
}

static void a_rule_that_yields_a_list_says_so(void **state)
{
    (void)state;
    struct ruled r = ruled("m:web/2 arg(2)");
    named(&r, 17, CORE_COMPOUND);
    assert_string_equal(r.h.message,
                        "the identity rule gives a list or a map, which cannot be a name: for a "
                        "list, use nth(1, arg(2)); press I to see the arguments");
    release(&r);
    r = ruled("fun ({m,web,[_, X]}) -> X end");
    named(&r, 17, CORE_COMPOUND);
    assert_non_null(strstr(r.h.message, "for a list, use nth(1, List);"));
    release(&r);
}

static void a_rule_that_names_is_let_be(void **state)
{
    (void)state;
    struct ruled r = ruled("m:web/2 arg(1)");
    for (int i = 0; i < 30; i++) {
        named(&r, 2, NULL); /* only some kinds of requests have a name */
        named(&r, 2, "get /a");
    }
    named(&r, 50, NULL);
    assert_string_equal(r.h.message, "");
    release(&r);
    r = ruled("m:web/2 arg(1)");
    named(&r, 12, "of the former rule"); /* already running when the rule was set */
    named(&r, 60, NULL);
    assert_non_null(strstr(r.h.message, "has matched none of"));
    core_zero(r.g->core); /* starts again, with the same result */
    named(&r, 40, NULL);
    assert_non_null(strstr(r.g->rule_check.note, "has matched none of"));
    release(&r);
    r = ruled("");
    named(&r, 30, NULL);
    assert_string_equal(r.h.message, ""); /* there is no rule */
    release(&r);
}

/* ---- an entry that does not exist ---- */

static const char *note_of(const struct snapshot *s, uint16_t tier)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].tier == tier && !s->rows[i].ident)
            return s->rows[i].note ? s->rows[i].note : "";
    fail();
    return "";
}

static void expect_notes(struct engine *g, const char *entry, const char *other)
{
    struct view_query q = {.window = WINDOW_10S};
    struct snapshot *s = core_view(g->core, &q, 0);
    assert_string_equal(note_of(s, 0), entry);
    assert_string_equal(note_of(s, 1), other);
    snapshot_free(s);
}

static void set_there(struct engine *g, bool entry_exists)
{
    struct result *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->kind = RESULT_CONFIGURED;
    r->text = strdup("");
    r->config.n = 2;
    r->config.tier[0] = (struct agent_request_tier){.ix = 0, .matched = entry_exists};
    r->config.tier[1] = (struct agent_request_tier){.ix = 1, .matched = 1};
    if (!entry_exists)
        snprintf(r->config.tier[0].note, sizeof r->config.tier[0].note,
                 "no such function; near: web:handle/2");
    answer(g, r);
}

static void asked(struct engine *g, uint64_t in_request, uint64_t outside)
{
    struct result *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->kind = RESULT_WHY;
    r->ix = 1;
    r->called.called = in_request + outside;
    r->called.in_request = in_request;
    r->called.outside = outside;
    answer(g, r);
}

static void a_missing_entry_is_not_the_tiers_fault(void **state)
{
    (void)state;
    static const char no[] = "no request begins: entry web does not exist; E chooses another";
    static const char missing[] = "no such function; near: web:handle/2";
    struct ruled r = ruled("");
    struct engine *g = r.g;

    g->hooks.arg = &r.h;
    core_tier_add(g->core, "db", "m:db/2");
    g->configuration.wanted.entry = 0;
    set_there(g, false);
    expect_notes(g, missing, no);
    asked(g, 0, 4000);
    expect_notes(g, missing, no);
    asked(g, 0, 0); /* the tier has the same reason */
    expect_notes(g, missing, "not called: 0 calls in the last second");
    set_there(g, true);
    expect_notes(g, "", "");
    asked(g, 0, 4000);
    expect_notes(g, "",
                 "called 4000/s, but only outside of requests, or by messages older than tracing");
    asked(g, 0, 0); /* counted since: none of the calls was in a request */
    expect_notes(g, "", "not called: 0 calls in the last second");
    asked(g, 1000, 3000);
    expect_notes(g, "", "called 4000/s, 3000/s of them outside of requests");
    g->configuration.wanted.entry = TRACE_CONFIG_NO_ENTRY;
    set_there(g, false);
    asked(g, 0, 4000);
    expect_notes(g, missing, "called 4000/s, all in requests");
    release(&r);
}

/* One that calls itself as its last action has calls, but none of them ends. */
static void a_loop_has_calls_that_do_not_end(void **state)
{
    (void)state;
    struct ruled r = ruled("");
    struct engine *g = r.g;
    struct event ev = {.ts_ns = 1000 * MS, .label = 7, .pid = 11, .tier = 1, .kind = EVENT_CALL};

    core_tier_add(g->core, "db", "m:db/2");
    core_set_returns(g->core, RETURNS_FULL);
    asked(g, 80, 0);
    expect_notes(g, "", "called 80/s, all in requests");
    core_feed(g->core, &ev, 1);
    asked(g, 80, 0);
    expect_notes(g, "", "called 80/s, all in requests");
    core_feed(g->core, &ev, 1);
    asked(g, 70, 10);
    expect_notes(g, "",
                 "called 80/s, but no call ends: it calls itself last; remove it, or use "
                 "lean returns");
    g->configuration.wanted.lean = true;
    asked(g, 80, 0);
    expect_notes(g, "", "called 80/s, but no call ends: it calls itself last; remove it");
    release(&r);
}

/* The node is asked again and again: at each change of the configuration, and after a failure. */
static void a_missing_function_is_said_once(void **state)
{
    (void)state;
    static const char missing[] = "tier web (m:web/2): no such function; near: web:handle/2";
    struct ruled r = ruled("");
    struct engine *g = r.g;

    g->hooks = (struct engine_hooks){.arg = &r.h, .message = on_message};
    core_tier_add(g->core, "db", "m:db/2");
    set_there(g, false);
    size_t lines = g->log.n;
    assert_int_equal(lines, 1);
    assert_string_equal(g->log.line[0].text, missing);
    assert_string_equal(r.h.message, missing);
    r.h.message[0] = 0;
    set_there(g, false);
    assert_int_equal(g->log.n, lines);
    assert_string_equal(r.h.message, "");
    assert_string_equal(g->configuration.missing, missing);
    set_there(g, true);
    assert_string_equal(g->configuration.missing, "");
    set_there(g, false);
    assert_int_equal(g->log.n, lines + 1);
    assert_string_equal(r.h.message, missing);
    release(&r);
}

/* ---- too many names ---- */

static void on_any_message(void *arg, const char *text, bool is_error)
{
    struct heard *h = arg;
    assert_false(is_error);
    snprintf(h->message, sizeof h->message, "%s", text);
}

static void request_named(struct engine *g, uint64_t i, const char *name)
{
    uint64_t at = i * 1000000;
    uint32_t ident = intern_add(g->names, name, strlen(name));
    struct event ev[] = {{.ts_ns = at,
                          .pid = 7,
                          .label = i,
                          .tier = 0,
                          .fn = 100,
                          .caller = 200,
                          .ident = ident,
                          .weight = 1,
                          .kind = EVENT_ENTRY},
                         {.ts_ns = at + 1000, .pid = 7, .fn = 200, .kind = EVENT_RETURN_TO}};
    core_feed(g->core, ev, 2);
}

static void ask_items(struct engine *g, uint64_t from)
{
    char name[40];
    for (uint64_t i = from + 1; i <= from + 200; i++) {
        snprintf(name, sizeof name, "GET /%s/%u", i % 2 ? "item" : "user", (unsigned)(1000 + i));
        request_named(g, i, name);
    }
    core_advance(g->core, (from + 1000) * 1000000);
}

/* One key wraps the rule in path(...), reports the change of the names, and undoes it. */
static void too_many_names_are_named_by_their_shape(void **state)
{
    (void)state;
    static const char rule[] = "m:f/1 {arg(1), arg(2)}";
    struct heard h;
    struct engine *g = engine(&h);
    struct core_limits limits;
    struct err e = {{0}};
    core_limits_default(&limits);
    g->names = intern_new(1000, 100000);
    g->ring = ring_new(4, sizeof(struct event));
    g->stream = stream_new(g->ring, g->names);
    g->core = core_new(&limits, g->names);
    g->hooks.message = on_any_message;
    assert_int_equal(core_tier_add(g->core, "web", "m:f/1"), 0);
    core_set_entry(g->core, 0);
    assert_int_equal(engine_identity_template(g, &e), -1);
    assert_non_null(strstr(e.text, "there is no identity rule"));
    assert_int_equal(engine_identity(g, rule, &e), 0);
    assert_int_equal(engine_identity_template(g, &e), -1);
    assert_non_null(strstr(e.text, "no request has a name yet"));
    ask_items(g, 0);
    assert_int_equal(engine_identity_template(g, &e), 0);
    assert_string_equal(engine_rule(g), "m:f/1 {arg(1), path(arg(2))}");
    assert_string_equal(h.message,
                        "names by path(...) (press n to undo): 64 names become 2: GET /item/* "
                        "32, GET /user/* 32");
    assert_int_equal(g->log.n, 2); /* the messages have both */
    assert_non_null(strstr(g->log.line[0].text, "m:f/1 {arg(1), path(arg(2))}"));
    assert_int_equal(engine_identity_template(g, &e), 0);
    assert_string_equal(engine_rule(g), rule);
    assert_non_null(strstr(h.message, rule));
    assert_int_equal(engine_identity_template(g, &e), -1); /* not before new names arrive */
    ask_items(g, 10000);
    assert_int_equal(engine_identity_template(g, &e), 0);
    assert_string_equal(engine_rule(g), "m:f/1 {arg(1), path(arg(2))}");
    assert_int_equal(engine_identity(g, "m:f/1 arg(1)", &e), 0); /* typed in the meantime */
    ask_items(g, 20000);
    assert_int_equal(engine_identity_template(g, &e), 0);
    assert_string_equal(engine_rule(g), "m:f/1 path(arg(1))");
    identity_template_release(g);
    stream_free(g->stream);
    ring_free(g->ring);
    core_free(g->core);
    intern_free(g->names);
    free(g);
}

/* A request that never ends. */
static void open_request(struct engine *g)
{
    struct event ev = {.ts_ns = g->core->now_ns,
                       .pid = 7,
                       .label = UINT64_C(1) << 40,
                       .fn = 100,
                       .caller = 200,
                       .weight = 1,
                       .kind = EVENT_ENTRY};
    core_feed(g->core, &ev, 1);
}

#define SEC            (1000 * MS)
#define REPLAY_STEP_NS UINT64_C(20000000)

/* In a recording, calls are open for long and processes may have died: there is no node to ask. */
static void a_recording_is_not_asked(void **state)
{
    struct settings settings = {.replay_speed = 1e-6}; /* this test moves the time, not the clock */
    struct engine_hooks hooks = {.arg = NULL};
    struct core_hanging of[AGENT_REQUEST_HANG];
    uint64_t pids[AGENT_REQUEST_PIDS];
    uint32_t from = 0;
    size_t hanging = 0, opened = 0;
    bool has_open = false;
    struct err e;

    (void)state;
    struct engine *g = engine_new(&settings, &hooks, &e);
    assert_non_null(g);
    assert_int_equal(engine_replay(g, "tests/golden/demo.rec", &e), 0);
    do {
        g->hangs.next_ns = g->dead.next_ns = 0;
        if (g->state == ENGINE_UP && !has_open && g->core->now_ns) {
            open_request(g);
            has_open = true;
        }
        g->replay.at_ns += REPLAY_STEP_NS;
        engine_poll(g);
        hanging += core_hanging(g->core, of, AGENT_REQUEST_HANG);
        opened += core_open_pids(g->core, 0, &from, pids, AGENT_REQUEST_PIDS);
    } while (g->state != ENGINE_REPLAYED);
    assert_true(hanging > 0 && opened > 0); /* else this test shows nothing */
    assert_in_range(g->log.line[(g->log.n - 1) % ENGINE_LOG].wall_ns, g->replay.meta.wall_ns,
                    g->replay.meta.wall_ns + 3600 * SEC); /* messages have the recording's time */
    assert_false(g->hangs.asked);
    engine_free(g);
}

/* ---- a full trace of which the node no longer reports ---- */

/* Polls ten times a second. */
static void poll_full_until(struct engine *g, uint64_t *now_ns, uint64_t until_ns)
{
    for (; *now_ns <= until_ns; *now_ns += 100 * MS)
        full_trace_poll(g, *now_ns);
}

/* After ^Z or a suspended machine, the messages that arrived meanwhile have not been read yet. */
static void a_full_trace_is_not_silent_while_kprof_top_is_stopped(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    uint64_t begun = 100 * SEC, now = begun;

    g->full.now.state = FULL_TRACES;
    g->full.heard_ns = begun;
    poll_full_until(g, &now, begun + 10 * SEC);
    now += 60 * SEC;
    uint64_t resumed = now;
    full_trace_poll(g, now);
    assert_int_equal(g->full.now.state, FULL_TRACES);
    poll_full_until(g, &now, resumed + 20 * SEC);
    assert_int_equal(g->full.now.state, FULL_TRACES);
    poll_full_until(g, &now, resumed + 21 * SEC); /* the node is silent */
    assert_int_equal(g->full.now.state, FULL_NOT_CAUGHT);
    assert_string_equal(g->full.now.says, "the node no longer reports on the full trace");
    free(g);
}

/* Slow polls, once a second, do not count as a pause of kprof-top. */
static void a_full_trace_of_a_silent_node_ends(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    uint64_t begun = 100 * SEC, now = begun;

    g->full.now.state = FULL_ARMED;
    g->full.heard_ns = begun;
    for (; now <= begun + 20 * SEC; now += SEC)
        full_trace_poll(g, now);
    assert_int_equal(g->full.now.state, FULL_ARMED);
    full_trace_poll(g, now);
    assert_int_equal(g->full.now.state, FULL_NOT_CAUGHT);
    free(g);
}

static void figure(struct buf *b, const char *name, uint64_t v)
{
    enc_atom(b, name);
    enc_u64(b, v);
}

/* A message of the full trace with this id arrives. */
static void full_trace_says(struct engine *g, uint64_t id, enum full_phase phase,
                            enum full_reason reason)
{
    struct buf b;

    buf_init(&b, 0);
    enc_version(&b);
    enc_tuple(&b, 7);
    enc_atom(&b, "kf");
    enc_u64(&b, 7);
    enc_u64(&b, 0);
    enc_map(&b, 4);
    figure(&b, "events", 12 * id);
    figure(&b, "phase", phase);
    figure(&b, "reason", reason);
    figure(&b, "id", id);
    for (int i = 0; i < 3; i++)
        enc_nil(&b);
    struct stack_message *m = calloc(1, sizeof *m + b.len);
    assert_non_null(m);
    m->n = b.len;
    memcpy(m->bytes, b.data, b.len);
    full_trace_feed(g, m);
    free(m);
    buf_release(&b);
}

/* The node was silent, and its full trace was given up. Its messages arrive late, when another one
 * has been requested. */
static void late_events_of_a_full_trace_are_not_those_of_the_next(void **state)
{
    (void)state;
    struct heard h;
    struct engine *g = engine(&h);
    struct full_trace *f = &g->full;

    f->profile = stack_profile_new(NULL);
    f->tree = call_tree_new(f->profile);
    f->decoder = full_decoder_new(f->tree, f->profile);
    f->now.state = FULL_ASKED;
    f->id = 2;
    full_trace_says(g, 1, FULL_RUNNING, FULL_NOT_ENDED);
    full_trace_says(g, 1, FULL_SENDING, FULL_CANCELED);
    assert_int_equal(f->now.state, FULL_ASKED);
    assert_int_equal(f->now.events, 0);
    full_trace_says(g, 2, FULL_WAITING, FULL_NOT_ENDED);
    assert_int_equal(f->now.state, FULL_ARMED);
    assert_int_equal(f->now.events, 24);
    full_trace_says(g, 2, FULL_SENDING, FULL_CANCELED);
    assert_int_equal(f->now.state, FULL_NOT_CAUGHT);
    free(g);
}

/* ---- a silent node ---- */

static struct engine *attached(uint64_t now_ns)
{
    struct settings settings = {.history = false};
    struct engine_hooks hooks = {.arg = NULL};
    struct err e;
    struct engine *g = engine_new(&settings, &hooks, &e);

    assert_non_null(g);
    snprintf(g->connection.node, sizeof g->connection.node, "a@b");
    stream_clock(g->stream, 0, 1000000000);
    liveness_listen(g, now_ns);
    g->state = ENGINE_UP;
    return g;
}

static void feed_stream(struct engine *g, struct buf *b, uint64_t now_ns)
{
    struct etf rest;
    uint64_t ref;

    assert_int_not_equal(stream_feed(g->stream, b->data, b->len, now_ns, &rest, &ref), STREAM_BAD);
    buf_release(b);
}

static void feed_beat(struct engine *g, uint64_t now_ns)
{
    struct buf b;

    buf_init(&b, 0);
    enc_version(&b);
    enc_tuple(&b, 3);
    enc_atom(&b, "kh");
    enc_u64(&b, now_ns);
    enc_map(&b, 0);
    feed_stream(g, &b, now_ns);
}

static void feed_empty_batch(struct engine *g, uint64_t now_ns)
{
    struct buf b;

    buf_init(&b, 0);
    enc_version(&b);
    enc_tuple(&b, 5);
    enc_atom(&b, "kb");
    enc_u64(&b, 1);
    enc_u64(&b, 0);
    enc_u64(&b, 1);
    enc_nil(&b);
    feed_stream(g, &b, now_ns);
}

static void listen_until(struct engine *g, uint64_t *now_ns, uint64_t until_ns)
{
    for (; *now_ns <= until_ns; *now_ns += 100 * MS)
        liveness_listen(g, *now_ns);
}

static void expect_log(const struct engine *g, size_t n, const char *last)
{
    assert_int_equal(g->log.n, n);
    assert_string_equal(g->log.line[n - 1].text, last);
}

static void lose(struct engine *g)
{
    struct result *r = failed(RESULT_LOST, 0);

    snprintf(r->text, strlen(r->text) + 1, "lost a@b");
    answer(g, r);
}

/* A lost connection ends the silence, but it is not data. */
static void a_lost_node_does_not_send_again(void **state)
{
    (void)state;
    uint64_t now = 100 * SEC;
    struct engine *g = attached(now);

    feed_beat(g, now);
    listen_until(g, &now, 130 * SEC);
    expect_log(g, 1, "no data from a@b for 3 s");
    assert_true(g->liveness.silent);
    lose(g);
    listen_until(g, &now, 140 * SEC);
    expect_log(g, 2, "lost a@b");
    assert_false(g->liveness.silent);
    g->state = ENGINE_UP;
    feed_beat(g, now);
    listen_until(g, &now, 142 * SEC);
    expect_log(g, 2, "lost a@b"); /* the log has "attached" for this */
    listen_until(g, &now, 145 * SEC);
    expect_log(g, 3, "no data from a@b for 3 s");
    engine_free(g);
}

/* More events wait than one poll takes: the calls that begin in them have no end, either. */
static void a_lost_connection_ends_waiting_calls(void **state)
{
    (void)state;
    struct event ev = {.kind = EVENT_ENTRY, .fn = 90, .caller = 91};
    struct engine *g = attached(100 * SEC);
    uint64_t pid[4];
    uint32_t from = 0;

    core_set_entry(g->core, core_tier_add(g->core, "web", "m:web/2"));
    for (unsigned i = 1; i <= 40000; i++) {
        ev.ts_ns = 100 * SEC + i;
        ev.pid = ev.label = i;
        assert_int_equal(ring_push_n(g->ring, &ev, 1), 1);
    }
    engine_poll(g);
    assert_true(ring_fill(g->ring) > 0);
    lose(g);
    assert_int_equal(core_open_pids(g->core, 0, &from, pid, 4), 0);
    engine_poll(g);
    from = 0;
    assert_int_equal(core_open_pids(g->core, 0, &from, pid, 4), 0);
    engine_free(g);
}

static void a_silent_node_sends_again(void **state)
{
    (void)state;
    uint64_t now = 100 * SEC;
    struct engine *g = attached(now);

    listen_until(g, &now, 110 * SEC);
    expect_log(g, 1, "no data from a@b for 3 s");
    feed_empty_batch(g, now);
    listen_until(g, &now, 120 * SEC);
    assert_string_equal(g->log.line[1].text, "a@b sends data again, after 10 s");
    expect_log(g, 3, "no data from a@b for 3 s");
    feed_beat(g, now);
    listen_until(g, &now, 121 * SEC);
    expect_log(g, 4, "a@b sends data again, after 10 s");
    assert_false(g->liveness.silent);
    engine_free(g);
}

/* A pause of kprof-top is not the silence of the node, and does not end it. */
static void a_pause_of_kprof_top_is_not_data(void **state)
{
    (void)state;
    uint64_t now = 100 * SEC;
    struct engine *g = attached(now);

    feed_beat(g, now);
    listen_until(g, &now, 101 * SEC);
    now += 60 * SEC;
    listen_until(g, &now, 163 * SEC);
    assert_int_equal(g->log.n, 0);
    listen_until(g, &now, 165 * SEC);
    expect_log(g, 1, "no data from a@b for 3 s");
    now += 60 * SEC;
    listen_until(g, &now, 226 * SEC);
    expect_log(g, 1, "no data from a@b for 3 s");
    assert_true(g->liveness.silent);
    feed_beat(g, now);
    listen_until(g, &now, 227 * SEC);
    assert_int_equal(g->log.n, 2);
    assert_false(g->liveness.silent);
    engine_free(g);
}

/* The connection is up at the first poll: nothing is known of the time before. */
static void silence_counts_from_the_first_look(void **state)
{
    (void)state;
    uint64_t now = 100 * SEC;
    struct engine *g = attached(now);

    g->liveness = (struct liveness){0};
    listen_until(g, &now, 102 * SEC);
    assert_int_equal(g->log.n, 0);
    assert_false(g->liveness.silent);
    listen_until(g, &now, 104 * SEC);
    expect_log(g, 1, "no data from a@b for 3 s");
    engine_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_without_a_node_are_answered),
        cmocka_unit_test(a_stopped_catalog_waits_for_no_answer),
        cmocka_unit_test(a_refusal_ends_every_wait),
        cmocka_unit_test(a_name_is_of_the_node_that_had_it),
        cmocka_unit_test(names_that_were_refused_are_forgotten),
        cmocka_unit_test(what_is_held_back_is_said_once),
        cmocka_unit_test(a_rule_that_matches_no_call_says_so),
        cmocka_unit_test(a_rule_that_yields_a_list_says_so),
        cmocka_unit_test(a_rule_that_names_is_let_be),
        cmocka_unit_test(a_missing_entry_is_not_the_tiers_fault),
        cmocka_unit_test(a_loop_has_calls_that_do_not_end),
        cmocka_unit_test(a_missing_function_is_said_once),
        cmocka_unit_test(too_many_names_are_named_by_their_shape),
        cmocka_unit_test(a_recording_is_not_asked),
        cmocka_unit_test(a_full_trace_is_not_silent_while_kprof_top_is_stopped),
        cmocka_unit_test(a_full_trace_of_a_silent_node_ends),
        cmocka_unit_test(late_events_of_a_full_trace_are_not_those_of_the_next),
        cmocka_unit_test(a_lost_node_does_not_send_again),
        cmocka_unit_test(a_lost_connection_ends_waiting_calls),
        cmocka_unit_test(a_silent_node_sends_again),
        cmocka_unit_test(a_pause_of_kprof_top_is_not_data),
        cmocka_unit_test(silence_counts_from_the_first_look),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
