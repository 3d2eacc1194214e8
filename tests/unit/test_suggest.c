/* Suggestions: for typical servers, and for random catalogs with random counts. */
#include "rng.h"
#include <kprof/base/buf.h>
#include <kprof/cli/preset_rate.h>
#include <kprof/cli/suggest.h>
#include <kprof/erl/term.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* ---- a made-up node ---- */

struct node {
    struct catalog *c;
    uint32_t ids[SUGGEST_COUNTED];
    size_t n;
    struct suggestion found;
    struct err why;
    int rc;
};

static void module(struct node *n, const char *shown, const char *app, enum catalog_origin origin,
                   const char *behaviours)
{
    catalog_module(n->c, shown, app, origin);
    catalog_behaviours(n->c, behaviours);
}

/* "f/2 g/3-": exported, or local with a '-'. */
static void functions(struct node *n, const char *list)
{
    char name[64];
    unsigned arity;

    for (int len; sscanf(list, " %63[^/]/%u%n", name, &arity, &len) == 2; list += len) {
        bool local = list[len] == '-';
        catalog_function(n->c, name, arity, !local);
        len += local;
    }
}

static void set_rate(struct node *n, const char *mfa, float per_s)
{
    char text[CATALOG_TEXT_BYTES];

    for (size_t i = 0; i < n->n; i++) {
        catalog_text(n->c, n->ids[i], text);
        if (strcmp(text, mfa) == 0) {
            catalog_set_rate(n->c, n->ids[i], per_s);
            return;
        }
    }
    fail_msg("%s is not counted", mfa);
}

static void begin(struct node *n)
{
    *n = (struct node){.c = catalog_new()};
}

/* functions that are not set later were counted, but not called */
static void count(struct node *n)
{
    n->n = suggest_count(n->c, n->ids);
    for (size_t i = 0; i < n->n; i++)
        catalog_set_rate(n->c, n->ids[i], 0);
}

static void make(struct node *n)
{
    n->rc = suggest_make(n->c, n->ids, n->n, NULL, &n->found, &n->why);
}

/* Answers as the node does: "m:f/1 m:g/2" are the calls of "m:h/0". */
struct answer {
    const char *from, *calls;
};

static void make_with(struct node *n, const struct answer *a, size_t answers)
{
    static struct suggest_calls k;
    char text[CATALOG_TEXT_BYTES], to[80];
    uint32_t id;

    suggest_calls_begin(&k, n->c, n->ids, n->n);
    while (suggest_calls_next(&k, &id)) {
        catalog_text(n->c, id, text);
        for (size_t i = 0; i < answers; i++) {
            const char *rest = a[i].calls;
            for (int len; strcmp(a[i].from, text) == 0 && sscanf(rest, " %79s%n", to, &len) == 1;
                 rest += len)
                suggest_calls_add(&k, n->c, id, to);
        }
    }
    n->rc = suggest_make(n->c, n->ids, n->n, &k, &n->found, &n->why);
}

static bool has(const struct node *n, const char *mfa)
{
    for (size_t i = 0; i < n->found.n; i++)
        if (strcmp(n->found.tier[i].mfa, mfa) == 0)
            return true;
    return false;
}

static void end(struct node *n)
{
    catalog_free(n->c);
}

/* ---- typical servers ---- */

static void cowboy_begins_where_it_calls_the_application(void **state)
{
    (void)state;
    struct node n;
    begin(&n);
    module(&n, "cowboy_stream_h:", "cowboy", CATALOG_OWN, "cowboy_stream");
    functions(&n, "init/3 request_process/3 execute/3");
    module(&n, "cowboy_handler:", "cowboy", CATALOG_OWN, "cowboy_middleware");
    functions(&n, "execute/2 terminate/5");
    module(&n, "cowboy_router:", "cowboy", CATALOG_OWN, "cowboy_middleware");
    functions(&n, "execute/2");
    module(&n, "cowboy_req:", "cowboy", CATALOG_OWN, "");
    functions(&n, "reply/4 method/1");
    module(&n, "Shop.Items.", "", CATALOG_OWN, "cowboy_handler");
    functions(&n, "init/2");
    module(&n, "Shop.Repo.", "", CATALOG_OWN, "");
    functions(&n, "get/2 all/1 __info__/1 hot/1");
    module(&n, "Shop.Stock.", "", CATALOG_OWN, "Elixir.GenServer");
    functions(&n, "init/1 handle_call/3 start_link/1");
    count(&n);
    set_rate(&n, "cowboy_stream_h:request_process/3", 200);
    set_rate(&n, "cowboy_handler:execute/2", 200);
    set_rate(&n, "cowboy_router:execute/2", 200);
    set_rate(&n, "cowboy_req:reply/4", 201);
    set_rate(&n, "Shop.Items.init/2", 140);
    set_rate(&n, "Shop.Repo.get/2", 400);
    set_rate(&n, "Shop.Repo.hot/1", 90000);
    set_rate(&n, "Shop.Stock.handle_call/3", 200);
    make(&n);
    assert_int_equal(n.rc, 0);
    assert_string_equal(n.found.tier[0].mfa, "cowboy_stream_h:request_process/3");
    assert_string_equal(n.found.tier[0].name, "request");
    assert_string_equal(n.found.identity, "cowboy_stream_h:request_process/3 "
                                          "{map_get(method, arg(1)), path(map_get(path, arg(1)))}");
    assert_true(has(&n, "cowboy_handler:execute/2") && has(&n, "Shop.Stock.handle_call/3") &&
                has(&n, "Shop.Repo.get/2"));
    assert_false(has(&n, "Shop.Repo.hot/1")); /* an inner loop */
    end(&n);
}

static void a_server_process_is_named_by_its_messages(void **state)
{
    (void)state;
    struct node n;
    begin(&n);
    module(&n, "gen_server:", "stdlib", CATALOG_PLATFORM, "");
    functions(&n, "call/2 handle_call/3");
    module(&n, "Shop.Orders.", "shop", CATALOG_OWN, "Elixir.GenServer");
    functions(&n, "init/1 handle_call/3 handle_cast/2");
    module(&n, "shop_db:", "shop", CATALOG_OWN, "");
    functions(&n, "query/2 start_link/0");
    count(&n);
    assert_int_equal(n.n, 3); /* no functions of OTP, no boilerplate */
    set_rate(&n, "Shop.Orders.handle_call/3", 300);
    set_rate(&n, "shop_db:query/2", 600);
    make(&n);
    assert_int_equal(n.rc, 0);
    assert_string_equal(n.found.tier[0].mfa, "Shop.Orders.handle_call/3");
    assert_string_equal(n.found.tier[0].name, "Orders");
    assert_string_equal(n.found.identity,
                        "fun ({'Elixir.Shop.Orders', handle_call, [R, _, _]}) when is_tuple(R) -> "
                        "element(1, R); ({'Elixir.Shop.Orders', handle_call, [R, _, _]}) -> R; "
                        "(_) -> undefined end");
    assert_true(has(&n, "shop_db:query/2"));
    end(&n);
}

static void without_a_behaviour_counts_tell_the_entry(void **state)
{
    (void)state;
    struct node n;
    begin(&n);
    module(&n, "kprof_sample:", "", CATALOG_OWN, "");
    functions(&n, "start/1 handle/1 parsing/1 formatter/1 db/2 db_exec/2 accounting/2 handle_big/2 "
                  "shared/0- book/2- spin/1-");
    count(&n);
    set_rate(&n, "kprof_sample:handle/1", 200);
    set_rate(&n, "kprof_sample:parsing/1", 200);
    set_rate(&n, "kprof_sample:db/2", 200);
    set_rate(&n, "kprof_sample:db_exec/2", 200);
    set_rate(&n, "kprof_sample:accounting/2", 199);
    set_rate(&n, "kprof_sample:formatter/1", 199);
    set_rate(&n, "kprof_sample:spin/1", 700000);
    make(&n);
    assert_int_equal(n.rc, 0);
    assert_string_equal(n.found.tier[0].mfa, "kprof_sample:handle/1");
    assert_int_equal(n.found.n, SUGGEST_TIERS);
    assert_true(has(&n, "kprof_sample:db/2") && has(&n, "kprof_sample:parsing/1"));
    assert_string_equal(n.found.identity, "");
    end(&n);
}

/* A server process called by requests is part of them, although counters are not all set at the
 * same time. */
static void a_server_process_inside_of_requests_is_no_entry(void **state)
{
    (void)state;
    struct node n;
    begin(&n);
    module(&n, "workload:", "", CATALOG_OWN, "");
    functions(&n, "request/1 parse/1 format/1 init/1 handle_call/3");
    count(&n);
    set_rate(&n, "workload:request/1", 200);
    set_rate(&n, "workload:parse/1", 209);
    set_rate(&n, "workload:format/1", 196);
    set_rate(&n, "workload:handle_call/3", 420);
    make(&n);
    assert_string_equal(n.found.tier[0].mfa, "workload:request/1");
    assert_true(has(&n, "workload:handle_call/3"));
    end(&n);
}

static void an_interface_that_nobody_uses_is_not_the_edge(void **state)
{
    (void)state;
    struct node n;
    begin(&n);
    module(&n, "cowboy_stream_h:", "cowboy", CATALOG_LIBRARY, "");
    functions(&n, "request_process/3");
    module(&n, "worker:", "shop", CATALOG_OWN, "gen_server");
    functions(&n, "init/1 handle_call/3");
    count(&n);
    set_rate(&n, "cowboy_stream_h:request_process/3", 0.05f);
    set_rate(&n, "worker:handle_call/3", 9000);
    make(&n);
    assert_string_equal(n.found.tier[0].mfa, "worker:handle_call/3");
    end(&n);
}

/* ---- nothing to suggest ---- */

static void assert_counted(const struct node *n)
{
    char text[CATALOG_TEXT_BYTES];
    struct mfa mfa;
    size_t at;

    assert_true(n->n <= SUGGEST_COUNTED);
    for (size_t i = 0; i < n->n; i++) {
        assert_true(n->ids[i] < catalog_count(n->c));
        assert_true(catalog_text(n->c, n->ids[i], text) < TIER_MFA_BYTES);
        assert_true(term_parse_mfa(text, &mfa, &at));
        assert_int_equal((unsigned)mfa.arity, catalog_arity(n->c, n->ids[i]));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(n->ids[i], n->ids[k]);
    }
}

static float rate_of_preset(const float *per_s, const char *name)
{
    for (size_t i = 0; i < preset_count(); i++)
        if (strcmp(preset_name(i), name) == 0)
            return per_s[i];
    fail_msg("no preset %s", name);
    return 0;
}

/* The first tier of each preset is counted, whatever its kind, and only once, even if it is also
 * chosen for another reason. */
static void presets_are_told_by_their_calls(void **state)
{
    (void)state;
    struct node n;
    uint32_t ids[PRESET_RATE_IDS];
    float per_s[PRESETS_MAX];

    begin(&n);
    module(&n, "rabbit_channel:", "rabbit", CATALOG_OWN, "gen_server2");
    functions(&n, "init/1 handle_call/3 handle_cast/2");
    module(&n, "cowboy_stream_h:", "cowboy", CATALOG_LIBRARY, "cowboy_stream");
    functions(&n, "init/3 request_process/3");
    module(&n, "Ecto.Adapters.SQL.", "ecto_sql", CATALOG_LIBRARY, "");
    functions(&n, "execute/5 query/4");
    module(&n, "Ecto.Adapters.SQLite.", "ecto_sql", CATALOG_LIBRARY, "");
    functions(&n, "execute/5");
    module(&n, "yaws_server:", "yaws", CATALOG_LIBRARY, "");
    functions(&n, "handle_ut/3");
    assert_int_equal(preset_rate_ids(n.c, ids), 3);
    n.n = suggest_count(n.c, n.ids);
    assert_counted(&n);
    set_rate(&n, "rabbit_channel:handle_cast/2", 900);
    set_rate(&n, "cowboy_stream_h:request_process/3", 0);
    preset_rates(n.c, per_s);
    assert_true(rate_of_preset(per_s, "rabbitmq") == 900.0f);
    assert_true(rate_of_preset(per_s, "cowboy") == 0.0f);
    assert_true(rate_of_preset(per_s, "ecto") < 0); /* not counted yet */
    assert_true(rate_of_preset(per_s, "yaws") < 0); /* not this function */
    assert_true(rate_of_preset(per_s, "gen_server") < 0);
    set_rate(&n, "Ecto.Adapters.SQL.execute/5", 30); /* a library's, which suggests nothing */
    preset_rates(n.c, per_s);
    assert_true(rate_of_preset(per_s, "ecto") == 30.0f);
    end(&n);
}

static void assert_none(struct node *n, const char *why)
{
    make(n);
    assert_int_equal(n->rc, -1);
    assert_non_null(strstr(n->why.text, why));
    assert_int_equal(n->found.n, 0);
    end(n);
}

static void without_calls_there_is_none_and_it_says_why(void **state)
{
    (void)state;
    struct node n;
    begin(&n);
    count(&n);
    assert_none(&n, "no code of its own");

    begin(&n);
    module(&n, "lists:", "stdlib", CATALOG_PLATFORM, "");
    functions(&n, "map/2");
    count(&n);
    assert_none(&n, "no code of its own");

    begin(&n);
    module(&n, "shop:", "shop", CATALOG_OWN, "");
    functions(&n, "handle/1");
    count(&n);
    assert_none(&n, "none of 1 functions was called in a second");

    begin(&n); /* a single function is neither a request nor a layer */
    module(&n, "shop:", "shop", CATALOG_OWN, "");
    functions(&n, "handle/1 tick/1");
    count(&n);
    set_rate(&n, "shop:handle/1", 4000);
    set_rate(&n, "shop:tick/1", 1);
    assert_none(&n, "nothing that was called looks like the start of a request");

    begin(&n);
    module(&n, "shop:", "shop", CATALOG_OWN, "");
    functions(&n, "handle/1");
    n.n = suggest_count(n.c, n.ids);
    catalog_set_rate(n.c, n.ids[0], CATALOG_UNCOUNTED);
    assert_none(&n, "counted no calls");
}

/* ---- random catalogs, random counts ---- */

static const char *const names[] = {"handle",   "init",        "call",          "out",
                                    "query",    "handle_call", "handle_cast",   "start_link",
                                    "odd name", "get!",        "callback_mode", "handle_event",
                                    "execute",  "loop",        "none",          "request_process"};

/* no function twice */
static void random_functions(struct node *n)
{
    uint64_t one_in = 1 + rng_below(12);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (unsigned arity = 0; arity < 5; arity++)
            if (rng_below(one_in) == 0)
                catalog_function(n->c, names[i], arity, rng_below(4) != 0);
}

static void random_catalog(struct node *n)
{
    static const char *const modules[] = {
        "cowboy_handler:", "yaws_server:", "rabbit_channel:", "Plug.Conn.", "cowboy_stream_h:"};
    static const char *const behaviours[] = {"", "gen_server", "Elixir.Plug", "cowboy_handler x"};
    char shown[400], app[20];
    size_t count = rng_below(120);

    for (size_t i = 0; i < count; i++) {
        int digits = rng_below(30) == 0 ? 330 : 1; /* too long for a tier */
        snprintf(shown, sizeof shown, "m%0*zu:", digits, i);
        snprintf(app, sizeof app, "app%u", (unsigned)rng_below(4));
        bool known = i < sizeof modules / sizeof *modules && rng_below(4) == 0;
        module(n, known ? modules[i] : shown, app, (enum catalog_origin)rng_below(3),
               behaviours[rng_below(4)]);
        random_functions(n);
    }
}

static float rate_of(const struct node *n, const char *mfa)
{
    char text[CATALOG_TEXT_BYTES];

    for (size_t i = 0; i < n->n; i++) {
        catalog_text(n->c, n->ids[i], text);
        if (strcmp(text, mfa) == 0 && catalog_rate(n->c, n->ids[i]) > 0)
            return catalog_rate(n->c, n->ids[i]);
    }
    fail_msg("%s was not called, or not counted", mfa);
    return 0;
}

static void assert_suggested(const struct node *n)
{
    const struct suggestion *s = &n->found;
    struct options o;

    assert_true(s->n >= 1 && s->n <= SUGGEST_TIERS);
    double entry = (double)rate_of(n, s->tier[0].mfa);
    for (size_t i = 0; i < s->n; i++) {
        double ratio = (double)rate_of(n, s->tier[i].mfa) / entry;
        assert_true(ratio >= 0.299 && ratio <= 20.001);
        assert_true(s->tier[i].name[0] && strcmp(s->tier[i].name, "none") != 0);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(s->tier[i].name, s->tier[k].name);
            assert_string_not_equal(s->tier[i].mfa, s->tier[k].mfa);
        }
    }
    assert_true(!s->identity[0] || strncmp(s->identity, "fun ", 4) == 0 ||
                strncmp(s->identity, s->tier[0].mfa, strlen(s->tier[0].mfa)) == 0);
    options_defaults(&o);
    suggest_fill(s, NULL, true, &o);
    assert_int_equal(o.n_tiers, s->n);
    assert_true((o.identity != NULL) == (s->identity[0] != 0));
    options_release(&o);
}

/* A process for each request calls run/2, which leads to a server that only some requests use, and
 * that other code uses, too. A client's loop is on the node. */
static struct node api(void)
{
    struct node n;
    begin(&n);
    module(&n, "api_req:", "api", CATALOG_OWN, "");
    functions(&n, "run/2 handle/2 fill/2-");
    module(&n, "api_lock:", "api", CATALOG_OWN, "gen_server");
    functions(&n, "init/1 start_link/0 with/1 handle_call/3 handle_cast/2");
    module(&n, "api_db:", "api", CATALOG_OWN, "");
    functions(&n, "select/1");
    module(&n, "api_load:", "api", CATALOG_OWN, "");
    functions(&n, "client/2 tick/1");
    count(&n);
    set_rate(&n, "api_req:run/2", 46);
    set_rate(&n, "api_req:handle/2", 46);
    set_rate(&n, "api_lock:handle_call/3", 20);
    set_rate(&n, "api_lock:with/1", 20);
    set_rate(&n, "api_db:select/1", 35);
    set_rate(&n, "api_load:client/2", 46);
    set_rate(&n, "api_load:tick/1", 1);
    return n;
}

static void the_outermost_caller_is_the_entry(void **state)
{
    (void)state;
    static const struct answer calls[] = {
        {"api_load:client/2", "api_load:client/2 timer:sleep/1 api_req:run/2"},
        {"api_load:tick/1", "api_lock:with/1"},
        {"api_req:run/2", "api_req:fill/2"},
        {"api_req:fill/2", "lists:map/2 api_req:handle/2 none:such/1"},
        {"api_req:handle/2", "api_lock:with/1 api_db:select/1"},
        {"api_lock:with/1", "gen_server:call/2"},
        {"api_lock:handle_call/3", "gen_server:call/2 api_db:select/1"}};
    struct node n = api();

    make(&n);
    assert_string_equal(n.found.tier[0].mfa, "api_lock:handle_call/3"); /* by its kind alone */
    make_with(&n, calls, sizeof calls / sizeof *calls);
    assert_int_equal(n.rc, 0);
    assert_string_equal(n.found.tier[0].mfa, "api_req:run/2");
    assert_true(has(&n, "api_lock:handle_call/3") && has(&n, "api_db:select/1"));
    assert_false(has(&n, "api_load:client/2")); /* it calls itself */
    make_with(&n, calls, 2);                    /* the code of the rest is not known */
    assert_string_equal(n.found.tier[0].mfa, "api_lock:handle_call/3");
    end(&n);
}

/* More functions and calls than there is room for. */
static void limits_of_the_calls(void **state)
{
    (void)state;
    static struct suggest_calls k;
    struct node n;
    uint32_t id;
    size_t asked = 0;

    begin(&n);
    module(&n, "big:", "big", CATALOG_OWN, "");
    for (unsigned i = 0; i < 200; i++)
        catalog_function(n.c, "f", i, true);
    count(&n);
    for (size_t i = 0; i < n.n; i++)
        catalog_set_rate(n.c, n.ids[i], 100);
    suggest_calls_begin(&k, n.c, n.ids, n.n);
    for (; suggest_calls_next(&k, &id); asked++) {
        for (unsigned i = 0; i < 200; i++) {
            char to[20];
            snprintf(to, sizeof to, "big:f/%u", i);
            suggest_calls_add(&k, n.c, id, to);
        }
    }
    assert_int_equal(asked, SUGGEST_ASKED);
    assert_int_equal(k.n, SUGGEST_CALLS);
    n.rc = suggest_make(n.c, n.ids, n.n, &k, &n.found, &n.why);
    end(&n);
}

static void random_nodes(void **state)
{
    (void)state;
    size_t suggested = 0;
    int rounds = rng_rounds(400);

    for (int round = 0; round < rounds; round++) {
        struct node n;
        begin(&n);
        random_catalog(&n);
        n.n = suggest_count(n.c, n.ids);
        assert_counted(&n);
        for (size_t i = 0; i < n.n; i++) {
            static const float rates[] = {0, CATALOG_UNCOUNTED, 0.5f, 1, 100, 200, 1e6f};
            catalog_set_rate(n.c, n.ids[i], rates[rng_below(sizeof rates / sizeof *rates)]);
        }
        make(&n);
        suggested += n.rc == 0;
        if (n.rc == 0)
            assert_suggested(&n);
        else
            assert_true(n.why.text[0] && n.found.n == 0);
        end(&n);
    }
    assert_true(suggested > (size_t)rounds / 4);
}

static void what_is_left_out_is_not_set(void **state)
{
    (void)state;
    struct suggestion s = {.n = 3, .identity = "a:f/1 arg(1)"};
    struct options o;
    bool keep[SUGGEST_TIERS] = {true, false, true};

    for (size_t i = 0; i < s.n; i++) {
        snprintf(s.tier[i].name, sizeof s.tier[i].name, "t%zu", i);
        snprintf(s.tier[i].mfa, sizeof s.tier[i].mfa, "a:f/%zu", i + 1);
    }
    options_defaults(&o);
    suggest_fill(&s, keep, true, &o);
    assert_int_equal(o.n_tiers, 2);
    assert_string_equal(o.tier[1].name, "t2");
    assert_string_equal(o.identity, s.identity);
    options_release(&o);
    options_defaults(&o);
    suggest_fill(&s, keep, false, &o);
    assert_null(o.identity);
    options_release(&o);
    keep[0] = false; /* the rule names the entry's requests */
    options_defaults(&o);
    suggest_fill(&s, keep, true, &o);
    assert_int_equal(o.n_tiers, 1);
    assert_null(o.identity);
    options_release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cowboy_begins_where_it_calls_the_application),
        cmocka_unit_test(a_server_process_is_named_by_its_messages),
        cmocka_unit_test(without_a_behaviour_counts_tell_the_entry),
        cmocka_unit_test(a_server_process_inside_of_requests_is_no_entry),
        cmocka_unit_test(an_interface_that_nobody_uses_is_not_the_edge),
        cmocka_unit_test(presets_are_told_by_their_calls),
        cmocka_unit_test(without_calls_there_is_none_and_it_says_why),
        cmocka_unit_test(the_outermost_caller_is_the_entry),
        cmocka_unit_test(limits_of_the_calls),
        cmocka_unit_test(random_nodes),
        cmocka_unit_test(what_is_left_out_is_not_set),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
