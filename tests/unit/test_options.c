/* The command line: the effect of each option, valid combinations, and the message for each error.
 */
#include <cli/help.h>
#include <kprof/base/buf.h>
#include <kprof/base/text.h>
#include <kprof/cli/full_what.h>
#include <kprof/cli/options.h>
#include <kprof/cli/optval.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGS_MAX 160

struct run {
    struct options o;
    struct err e;
    enum options_result result;
    char *argv[ARGS_MAX];
    int argc;
};

/* Arguments end with NULL. They are copied, because getopt reorders them and a cookie is blanked.
 */
static void parse(struct run *r, const char *const *args)
{
    memset(r, 0, sizeof *r);
    r->argv[r->argc++] = strdup("kprof-top");
    for (; *args; args++) {
        assert_true(r->argc < ARGS_MAX - 1);
        r->argv[r->argc++] = strdup(*args);
    }
    r->result = options_parse(r->argc, r->argv, &r->o, &r->e);
}

static void done(struct run *r)
{
    options_release(&r->o);
    for (int i = 0; i < r->argc; i++)
        free(r->argv[i]);
}

#define RUN(r, ...)                                                                                \
    do {                                                                                           \
        parse(r, (const char *const[]){__VA_ARGS__, NULL});                                        \
        if ((r)->result != OPTIONS_RUN)                                                            \
            fail_msg("%s", (r)->e.text);                                                           \
    } while (0)

static void defaults(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "app@host");
    assert_int_equal(r.o.mode, OPTIONS_NODE);
    assert_int_equal(r.o.n_nodes, 1);
    assert_string_equal(r.o.node[0], "app@host");
    assert_int_equal(r.o.sample, 1);
    assert_int_equal(r.o.returns, RETURNS_LEAN);
    assert_int_equal(r.o.format, EXPORT_TEXT);
    assert_int_equal(r.o.max_age_ns, 1000000000);
    assert_int_equal(r.o.cooldown_ns, 5000000000);
    assert_int_equal(r.o.delay_ns, 1000000000);
    assert_int_equal(r.o.demo_rate, 200);
    assert_int_equal(r.o.duration_ns + r.o.slow_ns + r.o.iterations + r.o.max_rate, 0);
    assert_int_equal(r.o.max_overhead_ppm, 50000);
    assert_false(r.o.slow_details || r.o.batch || r.o.no_color || r.o.ascii || r.o.force ||
                 r.o.slow_args);
    assert_null(r.o.entry);
    done(&r);
}

/* Without any source, the operator is to choose a node. */
static void no_node(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, NULL);
    assert_int_equal(r.o.mode, OPTIONS_NODE);
    assert_int_equal(r.o.n_nodes, 0);
    done(&r);
    RUN(&r, "-t", "m:f/1", "-e", "f", "-b");
    assert_int_equal(r.o.n_nodes, 0);
    done(&r);
}

static void assertions(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "-b", "-t", "m:f/1", "--assert", "f.p99<20ms", "--assert", "f.p50<+10%", "--baseline",
        "b", "a@b");
    assert_int_equal(r.o.n_assertions, 2);
    assert_string_equal(r.o.baseline, "b");
    done(&r);
    static const char *const wrong[][8] = {
        {"-t", "m:f/1", "--assert", "f.p99<20ms", "a@b", NULL},
        {"-b", "-t", "m:f/1", "--assert", "f.p98<20ms", "a@b", NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&r, wrong[i]);
        assert_int_equal(r.result, OPTIONS_USAGE);
        assert_non_null(strstr(r.e.text, "--assert"));
        done(&r);
    }
}

static void speed(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--replay", "f", "--speed", "10x");
    assert_true(r.o.speed == 10);
    done(&r);
    RUN(&r, "--replay", "f", "--speed", "max");
    assert_true(r.o.speed == 0);
    done(&r);
    RUN(&r, "--replay", "f");
    assert_true(r.o.speed == 1);
    done(&r);
    static const char *const wrong[][5] = {{"--replay", "f", "--speed", "0", NULL},
                                           {"--replay", "f", "--speed", "fast", NULL},
                                           {"--replay", "f", "--speed", "", NULL},
                                           {"a@b", "--speed", "2", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&r, wrong[i]);
        assert_int_equal(r.result, OPTIONS_USAGE);
        assert_non_null(strstr(r.e.text, "--speed"));
        done(&r);
    }
}

static void everything(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "app@10.0.0.1:4370", "-t", "web=my_web:handle/1", "--tier", "MyApp.Repo.get/2", "-e",
        "get", "-i", "my_web:handle/1 arg(1)", "--sample", "1/10", "--returns", "full",
        "--transport", "auto", "--slow", "20ms", "--duration", "1m", "-b", "-d", "250ms", "-n", "3",
        "--format", "csv", "-o", "out.csv", "--record", "r.kp", "--cookie-file", "c", "--setcookie",
        "secret", "--name", "me_1", "--no-color", "--ascii", "--force");
    const struct options *o = &r.o;
    assert_string_equal(o->node[0], "app@10.0.0.1:4370");
    assert_int_equal(o->n_tiers, 2);
    assert_string_equal(o->tier[0].name, "web");
    assert_string_equal(o->tier[0].mfa, "my_web:handle/1");
    assert_string_equal(o->tier[1].name, "get");
    assert_string_equal(o->tier[1].mfa, "MyApp.Repo.get/2");
    assert_string_equal(o->entry, "get");
    assert_string_equal(o->identity, "my_web:handle/1 arg(1)");
    assert_int_equal(o->sample, 10);
    assert_int_equal(o->returns, RETURNS_FULL);
    assert_int_equal(o->slow_ns, 20000000);
    assert_int_equal(o->duration_ns, 60000000000);
    assert_int_equal(o->delay_ns, 250000000);
    assert_int_equal(o->iterations, 3);
    assert_int_equal(o->format, EXPORT_CSV);
    assert_string_equal(o->output, "out.csv");
    assert_string_equal(o->record, "r.kp");
    assert_string_equal(o->cookie_file, "c");
    assert_string_equal(o->setcookie, "secret");
    assert_string_equal(o->name, "me_1");
    assert_true(o->batch && o->no_color && o->ascii && o->force);
    done(&r);
}

static void hazards(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--hazards", "a@b", "--setcookie", "c", "--force");
    assert_true(r.o.hazards && r.o.force);
    assert_int_equal(r.o.mode, OPTIONS_NODE);
    done(&r);
    RUN(&r, "a@b");
    assert_false(r.o.hazards);
    done(&r);
    static const char *const wrong[][4] = {{"--hazards", "--replay", "f", NULL},
                                           {"--hazards", "a@b", "--batch", NULL},
                                           {"--hazards", "a@b", "--record=r", NULL},
                                           {"--hazards", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&r, wrong[i]);
        assert_int_equal(r.result, OPTIONS_USAGE);
        done(&r);
    }
}

static void suggest(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--suggest", "a@b", "--setcookie", "c");
    assert_true(r.o.suggest);
    done(&r);
    RUN(&r, "--suggest", "--demo");
    assert_int_equal(r.result, OPTIONS_RUN);
    done(&r);
    static const char *const wrong[][5] = {{"--suggest", "--replay", "f", NULL},
                                           {"--suggest", "a@b", "--batch", "--tier=m:f/1", NULL},
                                           {"--suggest", "a@b", "--record=r", NULL},
                                           {"--suggest", "a@b", "--tier=m:f/1", NULL},
                                           {"--suggest", "a@b", "--preset=cowboy", NULL},
                                           {"--suggest", "a@b", "--hazards", NULL},
                                           {"--suggest", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&r, wrong[i]);
        assert_int_equal(r.result, OPTIONS_USAGE);
        done(&r);
    }
}

static void modes(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--demo", "--demo-rate", "500");
    assert_int_equal(r.o.mode, OPTIONS_DEMO);
    assert_int_equal(r.o.demo_rate, 500);
    done(&r);
    RUN(&r, "--demo", "--demo-trouble", "runq", "-b", "--why", "--format", "json");
    assert_string_equal(r.o.demo_trouble, "runq");
    assert_int_equal(r.o.detail, 10);
    assert_true(r.o.why);
    done(&r);
    RUN(&r, "--demo", "--batch", "-e", "db"); /* the demo has its own tiers */
    done(&r);
    RUN(&r, "--replay", "x.kp", "-b");
    assert_int_equal(r.o.mode, OPTIONS_REPLAY);
    assert_string_equal(r.o.replay, "x.kp");
    done(&r);
    RUN(&r, "-e", "none", "-t", "m:f/1", "--", "a@b");
    assert_true(r.o.entry_none);
    assert_null(r.o.entry);
    done(&r);
}

/* ps shows argv to every user of the machine. */
static void cookie_is_blanked(void **state)
{
    (void)state;
    static const char *const ways[][3] = {{"--setcookie", "s3cret", "a@b"},
                                          {"--setcookie=s3cret", "a@b", NULL},
                                          {"--setc=s3cret", "a@b", NULL},
                                          {"a@b", "--setcookie", "s3cret"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct run r;
        parse(&r, (const char *const[]){ways[i][0], ways[i][1], ways[i][2], NULL});
        assert_int_equal(r.result, OPTIONS_RUN);
        assert_string_equal(r.o.setcookie, "s3cret");
        for (int k = 0; k < r.argc; k++)
            assert_null(strstr(r.argv[k], "s3cret"));
        done(&r);
    }
}

static void tier_names(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "a@b", "-t", "a:get/1", "-t", "b:get/2", "-t", "c:get/2", "-t", "get/2=d:x/1", "-t",
        "none:none/0", "-t", "eq=m:'=:='/2", "-t", "'a=b':f/1");
    static const char *const want[] = {"get", "b.get", "c.get", "get/2", "none.none", "eq", "f"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(r.o.tier[i].name, want[i]);
    done(&r);
}

/* The same on the command line and on the screen, where other tiers exist. */
static void names_that_clash(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } tiers[] = {
        {"ShopWeb.OrderController.index/2", "index"},
        {"ShopWeb.UserController.index/2", "UserController.index"},
        {"my_db:index/2", "my_db.index"},
        {"AdminWeb.UserController.index/2", "UserController.index/2"},
        {"AdminWeb.UserController.index/1", "UserController.index/1"},
        {"ApiWeb.UserController.index/2", "UserController.index#2"},
        {"'\x1b[2J':index/2", "index/2"},
        {"query=my_db:query/2", "query"},
        {"query=my_db:query/3", "query#2"},
        {"query=my_db:query/4", "query#3"},
        {"my_db:query/5", "my_db.query"},
    };
    struct tier_spec t[sizeof tiers / sizeof *tiers];
    struct err e = {{0}};
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        assert_int_equal(options_tier_parse(tiers[i].text, &t[i], &e), 0);
        options_tier_name(&t[i], t, i);
        assert_string_equal(t[i].name, tiers[i].want);
    }
}

struct mistake {
    const char *args[10];
    const char *says[3];
};

static void mistakes(void **state)
{
    (void)state;
    static const struct mistake all[] = {
        {{"app"}, {"app", "name@host"}},
        {{"@host"}, {"name@host"}},
        {{"app@"}, {"name@host"}},
        {{"a@b@c"}, {"name@host"}},
        {{"a@b:0"}, {"port"}},
        {{"a@b:65536"}, {"port"}},
        {{"a@b", "c@d"}, {"c@d", "one node"}},
        {{"a@b", "--demo"}, {"a@b", "--demo", "cannot be used together"}},
        {{"--demo", "--replay", "f"}, {"--demo", "--replay", "cannot be used together"}},
        {{"a@b", "--replay", "f"}, {"--replay", "cannot be used together"}},
        {{"a@b", "--flame", "f"}, {"a@b", "--flame", "cannot be used together"}},
        {{"--flame", "f", "--replay", "g"}, {"--flame", "--replay", "cannot be used together"}},
        {{"--flame", "f", "-b"}, {"--batch with --flame", "--output"}},
        {{"--flame", "f", "-b", "-o", "x.json"}, {"x.json", ".speedscope.json"}},
        {{"--flame", "f", "--record", "g"}, {"--record", "--flame"}},
        {{"a@b", "-b", "--format", "hlog", "-d", "10801s"}, {"--format hlog", "3h", "--delay"}},
        {{"--bogus", "a@b"}, {"--bogus", "not an option"}},
        {{"--bogus=s3cret", "a@b"}, {"--bogus ", "not an option"}},
        {{"-x", "a@b"}, {"-x", "not an option"}},
        {{"-t"}, {"-t", "needs a value"}},
        {{"--tier"}, {"--tier", "needs a value"}},
        {{"--demo=1"}, {"--demo", "no value"}},
        {{"--s", "1", "a@b"}, {"--s", "ambiguous"}},
        {{"--tls-key", "k", "a@b"}, {"--tls-key", "--tls-cert"}},
        {{"--demo", "--tls"}, {"--tls", "only with a node"}},
        {{"--replay", "f", "--tls-ca", "g"}, {"--tls-ca", "only with a node"}},
        {{"--tls-c", "k", "a@b"}, {"--tls-c", "ambiguous"}},
        {{"--tls-optfile", "", "a@b"}, {"--tls-optfile", "empty"}},
        {{"-t", "x", "a@b"}, {"tier x", "my_db:query/2"}},
        {{"-t", "m:f", "a@b"}, {"tier m:f"}},
        {{"-t", "=m:f/1", "a@b"}, {"tier", "name"}},
        {{"-t", "_total=m:f/1", "a@b"}, {"_total"}},
        {{"-t", "none=m:f/1", "a@b"}, {"none"}},
        {{"-t", "a=m:f/1", "-t", "a=m:g/1", "a@b"}, {"tier a", "twice"}},
        {{"-t", "a=m:f/1", "-t", "b=m:f/1", "a@b"}, {"m:f/1", "twice"}},
        {{"-t", "m:f/1", "-e", "g", "a@b"}, {"--entry g", "no tier"}},
        {{"-e", "g", "a@b"}, {"--entry g", "no tier"}},
        {{"-i", " ", "a@b"}, {"--identity", "empty"}},
        {{"--sample", "10", "a@b"}, {"--sample 10", "1/N"}},
        {{"--sample", "1/0", "a@b"}, {"--sample 1/0", "1/N"}},
        {{"--sample", "1/99999999999999999999", "a@b"}, {"--sample", "1/N"}},
        {{"--returns", "fat", "a@b"}, {"--returns fat", "lean"}},
        {{"--transport", "native", "a@b"}, {"native", "dist"}},
        {{"--transport", "smoke", "a@b"}, {"smoke", "dist"}},
        {{"--slow", "fast", "a@b"}, {"--slow fast", "20ms"}},
        {{"--max-rate", "many", "a@b"}, {"--max-rate many"}},
        {{"--max-age", "0", "a@b"}, {"--max-age 0"}},
        {{"--cooldown", "1ms", "a@b"}, {"--cooldown 1ms", "too short"}},
        {{"--max-overhead", "101", "a@b"}, {"--max-overhead 101", "none"}},
        {{"--max-overhead", "0", "a@b"}, {"--max-overhead 0:", "0.01", "none for no limit"}},
        {{"--max-overhead", "0%", "a@b"}, {"--max-overhead 0%:", "0.01"}},
        {{"--max-overhead", "0.0", "a@b"}, {"--max-overhead 0.0:", "0.01"}},
        {{"--max-overhead", "0.001", "a@b"}, {"--max-overhead 0.001", "0.01"}},
        {{"--max-overhead", "-1", "a@b"}, {"--max-overhead -1"}},
        {{"--max-overhead", "5 ms", "a@b"}, {"--max-overhead 5 ms"}},
        {{"--max-overhead", "1e1", "a@b"}, {"--max-overhead 1e1"}},
        {{"--max-overhead", "nan", "a@b"}, {"--max-overhead nan"}},
        {{"--slow-args", "a@b"}, {"--slow-args", "--slow 20ms"}},
        {{"--slow-details", "a@b"}, {"--slow-details", "--slow 20ms"}},
        {{"--slow-log", "f", "a@b"}, {"--slow-log", "--slow 20ms"}},
        {{"--slow-log", "", "--slow", "1s", "a@b"}, {"--slow-log", "empty"}},
        {{"-d", "1ms", "a@b"}, {"--delay 1ms", "too short"}},
        {{"-b", "-n", "0", "--demo"}, {"--iterations 0"}},
        {{"-b", "-n", "-3", "--demo"}, {"--iterations -3"}},
        {{"--format", "xml", "a@b"}, {"--format xml", "json"}},
        {{"--format", "json", "a@b"}, {"--format", "--batch"}},
        {{"-o", "f", "a@b"}, {"--output", "--batch"}},
        {{"-n", "3", "a@b"}, {"--iterations", "--batch"}},
        {{"-b", "a@b"}, {"--batch", "--tier"}},
        {{"--setcookie", "", "a@b"}, {"--setcookie"}},
        {{"--name", "a@b", "a@b"}, {"--name a@b"}},
        {{"-t", "Shopex.View.one", "a@b"}, {"arity is missing: Shopex.View.one/N"}},
        {{"-t", "x=my_db:query/", "a@b"}, {"tier x=my_db:query/: arity is missing: my_db:query/N"}},
        {{"-t", "my_db:query/x", "a@b"}, {"not a function"}},
        {{"-t", "query", "a@b"}, {"not a function"}},
        {{"-t", "/", "a@b"}, {"not a function"}},
        {{"--record", "f", "--replay", "g"}, {"--record", "--replay"}},
        {{"--demo-rate", "5", "a@b"}, {"--demo-rate", "--demo"}},
        {{"--demo-trouble", "lock", "a@b"}, {"--demo-trouble", "--demo"}},
        {{"--demo-trouble", "fire", "--demo"}, {"--demo-trouble fire", "queue", "lock"}},
        {{"--why", "--demo"}, {"--why", "--batch"}},
        {{"--why", "-b", "--format", "csv", "--demo"}, {"--why", "text or json"}},
        {{"--why", "--profile", "cpu", "-o", "x.svg", "a@b"}, {"--why", "--profile"}},
        {{"--why", "--full-trace", "m:f/1", "a@b"}, {"--why", "--full-trace"}},
        {{"--why", "--flame", "f", "-b", "-o", "x.svg"}, {"--why", "--flame"}},
        {{"--slow-details", "--demo"}, {"--slow-details", "--batch"}},
        {{"--slow-details", "-b", "--format", "json", "--demo"}, {"--slow-details", "text"}},
        {{"--slow-details", "--slow", "1s", "--profile", "cpu", "-o", "x.svg", "a@b"},
         {"--slow-details", "--profile"}},
        {{"--slow-details", "--slow", "1s", "--full-trace", "m:f/1", "a@b"},
         {"--slow-details", "--full-trace"}},
        {{"--slow-details", "--demo", "-t", "m:f/1", "--record", "%t", "--trigger", "f.p99>1ms"},
         {"--slow-details", "--trigger"}},
        {{"-f", "/nonexistent/x", "a@b"}, {"/nonexistent/x", "No such file"}},
        {{"--slow", "\x1b[2J\n", "a@b"}, {"--slow", "20ms"}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct run r;
        parse(&r, all[i].args);
        assert_int_equal(r.result, OPTIONS_USAGE);
        for (size_t k = 0; k < 3 && all[i].says[k]; k++)
            if (!strstr(r.e.text, all[i].says[k]))
                fail_msg("case %zu: \"%s\" lacks \"%s\"", i, r.e.text, all[i].says[k]);
        for (const char *c = r.e.text; *c; c++) /* one line, safe for a terminal */
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        assert_null(strstr(r.e.text, "s3cret"));
        done(&r);
    }
}

/* A prefix of several option names is not an abbreviation. */
static void nothing_is_guessed(void **state)
{
    (void)state;
    static const char *const wrong[][4] = {{"--cookie", "s3cret", "a@b"},
                                           {"a@b", "--cookie", "s3cret"},
                                           {"--cookie=s3cret", "a@b", NULL}};
    struct run r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&r, wrong[i]);
        assert_int_equal(r.result, OPTIONS_USAGE);
        assert_string_equal(r.e.text,
                            "--cookie is not an option; write --cookie-file or --setcookie");
        assert_null(r.o.cookie_file);
        done(&r);
    }
    RUN(&r, "--setcook", "s3cret", "--dura=2s", "a@b"); /* a prefix of only one name */
    assert_string_equal(r.o.setcookie, "s3cret");
    assert_int_equal(r.o.duration_ns, 2000000000);
    done(&r);
}

static void too_many_tiers(void **state)
{
    (void)state;
    static char text[TIER_MAX + 1][24];
    const char *args[2 * TIER_MAX + 4];
    size_t n = 0;
    struct run r;
    for (int i = 0; i <= TIER_MAX; i++) {
        snprintf(text[i], sizeof text[i], "m:f%d/1", i);
        args[n++] = "-t";
        args[n++] = text[i];
    }
    args[n++] = "a@b";
    args[n] = NULL;
    parse(&r, args);
    assert_int_equal(r.result, OPTIONS_USAGE);
    assert_non_null(strstr(r.e.text, "more than 64 tiers"));
    done(&r);
}

/* Values of options that come later. */
static void rates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want;
    } good[] = {{"20000/s", 20000}, {"20k", 20000}, {"1.5k/s", 1500}, {"2M", 2000000}, {"7", 7}};
    static const char *const bad[] = {"",    "0",  "1.2.3", "5/m",    "k",
                                      ".5k", "-1", "1e9",   "99999M", "1kk"};
    struct err e;
    uint64_t v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(optval_rate("max-rate", good[i].text, &v, &e), 0);
        assert_int_equal(v, good[i].want);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(optval_rate("max-rate", bad[i], &v, &e), -1);
}

/* ---- config file ---- */

static char path[] = "/tmp/kprof_test_options_XXXXXX";

static void with_file(struct run *r, const char *text, const char *const *args)
{
    char name[sizeof path];
    const char *all[ARGS_MAX] = {"-f", name};
    memcpy(name, path, sizeof path);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    for (size_t i = 0; args[i]; i++)
        all[i + 2] = args[i];
    parse(r, all);
    unlink(name);
}

#define FILE_RUN(r, text, ...) with_file(r, text, (const char *const[]){__VA_ARGS__, NULL})

static const char config[] =
    "{tier_config, [{web, {my_web, handle, 1}}, {db, \"MyApp.Repo.get/2\"}]}.\n"
    "{identity_f, fun ({my_web,handle,[R]}) -> R; (_) -> undefined end}.\n"
    "{entry, db}. {slow, \"20ms\"}. {sample, \"1/10\"}.\n"
    "{node, 'app@host'}. {ascii, true}. {force, false}.\n";

static void from_file(void **state)
{
    (void)state;
    struct run r;
    with_file(&r, config, (const char *const[]){NULL});
    if (r.result != OPTIONS_RUN)
        fail_msg("%s", r.e.text);
    assert_string_equal(r.o.node[0], "app@host");
    assert_int_equal(r.o.n_tiers, 2);
    assert_string_equal(r.o.tier[0].name, "web");
    assert_string_equal(r.o.tier[0].mfa, "my_web:handle/1");
    assert_string_equal(r.o.tier[1].mfa, "MyApp.Repo.get/2");
    assert_string_equal(r.o.entry, "db");
    assert_string_equal(r.o.identity, "fun ({my_web,handle,[R]}) -> R; (_) -> undefined end");
    assert_int_equal(r.o.slow_ns, 20000000);
    assert_int_equal(r.o.sample, 10);
    assert_true(r.o.ascii && !r.o.force);
    done(&r);
}

static void command_line_wins(void **state)
{
    (void)state;
    struct run r;
    FILE_RUN(&r, config, "other@host", "-t", "x=m:f/1", "-e", "x", "--slow", "5ms", "-i",
             "m:f/1 arg(1)");
    if (r.result != OPTIONS_RUN)
        fail_msg("%s", r.e.text);
    assert_string_equal(r.o.node[0], "other@host");
    assert_int_equal(r.o.n_tiers, 1);
    assert_string_equal(r.o.tier[0].name, "x");
    assert_string_equal(r.o.entry, "x");
    assert_string_equal(r.o.identity, "m:f/1 arg(1)");
    assert_int_equal(r.o.slow_ns, 5000000);
    assert_int_equal(r.o.sample, 10);
    done(&r);
    FILE_RUN(&r, config, "--demo"); /* then the node of the file is not used */
    assert_int_equal(r.result, OPTIONS_RUN);
    assert_int_equal(r.o.mode, OPTIONS_DEMO);
    done(&r);
}

static void file_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *at, *about;
    } all[] = {
        {"{entry, a}.\n{bogus, 1}.", ":2:9: ", "bogus"},
        {"{slow, \"fast\"}.", ":1:8: ", "20ms"},
        {"{tier_config, [{a, \"nofun\"}]}.", ":1:17: ", "nofun"},
        {"{tier_config, [{'_total', {m,f,1}}]}.", ":1:17: ", "_total"},
        {"{ascii, maybe_so}.", ":1:9: ", "true or false"},
        {"{slow, fun (_) -> x end}.", ":1:8: ", "not accept a fun"},
        {"{demo, true}.", ":1:8: ", "demo"},
        {"{slow_args, maybe}.", ":1:13: ", "true or false"},
        {"{config, \"other\"}.", ":1:10: ", "config"},
        {"{slow-args, true}.", ":1:6: ", "comma"},
        {"{tier_config, [{a, {m, f, 1}}", ":1:30: ", "]"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct run r;
        FILE_RUN(&r, all[i].text, "a@b");
        assert_int_equal(r.result, OPTIONS_USAGE);
        if (!strstr(r.e.text, all[i].at) || !strstr(r.e.text, all[i].about))
            fail_msg("\"%s\" lacks \"%s\" or \"%s\"", r.e.text, all[i].at, all[i].about);
        done(&r);
    }
}

static void budget(void **state)
{
    (void)state;
    static const struct {
        const char *val;
        uint32_t ppm;
    } want[] = {{"5", 50000},   {"0.8", 8000}, {"2.5%", 25000},
                {"0.01%", 100}, {"none", 0},   {"100", 1000000}};
    struct run r;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        RUN(&r, "--max-overhead", want[i].val, "--max-rate", "9/s", "app@host");
        assert_int_equal(r.o.max_overhead_ppm, want[i].ppm);
        done(&r);
    }
    RUN(&r, "--max-rate", "20000", "app@host"); /* another limit was chosen */
    assert_int_equal(r.o.max_overhead_ppm, 0);
    done(&r);
}

/* ---- the rest ---- */

static void a_preset_gives_what_is_left_open(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--preset", "gen_server:shop_db", "app@host");
    assert_int_equal(r.o.n_tiers, 3);
    assert_string_equal(r.o.tier[0].mfa, "shop_db:handle_call/3");
    assert_true(r.o.entry_none && r.o.identity);
    done(&r);
    RUN(&r, "-t", "m:f/1", "--preset", "ejabberd", "-e", "router", "-i", "m:f/1 arg(1)",
        "app@host");
    assert_int_equal(r.o.n_tiers, 6);
    assert_string_equal(r.o.preset, "ejabberd");
    assert_true(!r.o.of_preset[0] && r.o.of_preset[1] && r.o.of_preset[5]);
    assert_string_equal(r.o.tier[0].mfa, "m:f/1");
    assert_string_equal(r.o.entry, "router");
    assert_string_equal(r.o.identity, "m:f/1 arg(1)");
    assert_false(r.o.entry_none);
    done(&r);
    FILE_RUN(&r, "{preset, \"ejabberd\"}.", "app@host", "-t", "m:f/1"); /* tiers: one key */
    assert_int_equal(r.o.n_tiers, 1);
    assert_null(r.o.preset);
    done(&r);
    FILE_RUN(&r, "{preset, cowboy}. {tier_config, [{db, {m,f,1}}]}.", "app@host");
    assert_int_equal(r.o.n_tiers, 5);
    done(&r);
    static const char *const together[][4] = {{"--preset", "plug,gen_server:a"},
                                              {"--preset", "plug", "--preset", "gen_server:a"}};
    for (size_t i = 0; i < 2; i++) {
        RUN(&r, together[i][0], together[i][1], i ? together[i][2] : "-e",
            i ? together[i][3] : "request", "app@host");
        assert_int_equal(r.o.n_tiers, 5);
        assert_string_equal(r.o.preset, "plug,gen_server:a");
        assert_string_equal(r.o.tier[4].mfa, "a:handle_info/2");
        assert_false(r.o.entry_none);
        done(&r);
    }
    parse(&r, (const char *const[]){"--preset", "apache", "app@host", NULL});
    assert_int_equal(r.result, OPTIONS_USAGE);
    assert_non_null(strstr(r.e.text, "cowboy"));
    done(&r);
}

static void full_trace(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--full-trace", "my_web:handle/2 arg(1) =:= get", "-t", "my_db:query/2",
        "--full-events", "500", "--full-hide", "gc,sleep", "app@host");
    assert_true(r.o.batch && r.o.full_hide_sleep && r.o.full_hide_gc);
    assert_int_equal(r.o.full_events, 500);
    done(&r);
    RUN(&r, "--full-trace", "<0.12.3>", "-o", "x.trace.json", "app@host");
    assert_int_equal(r.o.full_events, 100000);
    done(&r);
    struct full_what w;
    struct err e;
    assert_int_equal(full_what_parse(" 'odd mod':f/1 arg(1)", &w, &e), 0);
    assert_true(w.condition && !w.process);
    assert_string_equal(w.call.module, "odd mod");
    assert_int_equal(full_what_parse("MyApp.Repo.get/2  ", &w, &e), 0);
    assert_false(w.condition);
    assert_int_equal(full_what_parse("<0.12.3>", &w, &e), 0);
    assert_true(w.process && w.pid == ((uint64_t)3 << 32 | 12));
    static const char *const bad[] = {"", "m", "m:f", "<0.1>", "<0.1.2", "<0.1.2>x", "m:f/999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(full_what_parse(bad[i], &w, &e), -1);
}

/* Each option of TLS switches TLS on. */
static void tls(void **state)
{
    static const char *const ways[][3] = {{"--tls", NULL, NULL},
                                          {"--tls-optfile", "f", NULL},
                                          {"--tls-ca", "f", NULL},
                                          {"--tls-cert", "f", NULL},
                                          {"--tls-insecure", NULL, NULL}};
    struct run r;
    (void)state;
    RUN(&r, "a@b");
    assert_false(r.o.tls);
    done(&r);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        RUN(&r, "a@b", ways[i][0], ways[i][1]);
        assert_int_equal(r.result, OPTIONS_RUN);
        assert_true(r.o.tls);
        assert_int_equal(r.o.tls_insecure, i == 4);
        done(&r);
    }
    RUN(&r, "a@b", "--tls-cert", "c", "--tls-key", "k", "--tls-ca", "a", "--tls-optfile", "o");
    assert_string_equal(r.o.tls_cert, "c");
    assert_string_equal(r.o.tls_key, "k");
    assert_string_equal(r.o.tls_ca, "a");
    assert_string_equal(r.o.tls_optfile, "o");
    done(&r);
}

static void help_fits(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 0);
    help_add(&text);
    const char *line = text.data;
    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        if (text_width(line, (size_t)(end - line)) > 80)
            fail_msg("wider than 80 columns: %.*s", (int)(end - line), line);
    assert_int_equal(*line, '\0');
    static const char *const must[] = {
        "--tier",        "--entry",        "--identity",     "--sample",
        "--returns",     "--transport",    "--slow-log",     "--slow",
        "--slow-args",   "--max-age",      "--max-rate",     "--cooldown",
        "--duration",    "--batch",        "--delay",        "--iterations",
        "--format",      "--output",       "--record",       "--replay",
        "--cookie-file", "--setcookie",    "--name",         "--no-color",
        "--ascii",       "--force",        "--demo",         "--demo-rate",
        "--version",     "--help",         "--config",       "--max-overhead",
        "--hazards",     "--profile",      "--top",          "--sample-interval",
        "--processes",   "--statuses",     "--flush",        "--files",
        "--trigger",     "--before",       "--rearm",        "--perf-pid",
        "--why",         "--demo-trouble", "--full-trace",   "--full-calls",
        "--full-events", "--full-hide",    "--all-the-time", "Examples:"};
    for (size_t i = 0; i < sizeof must / sizeof *must; i++)
        if (!strstr(text.data, must[i]))
            fail_msg("--help lacks %s", must[i]);
    buf_release(&text);
}

static void no_color_of_the_environment(void **state)
{
    (void)state;
    struct run r;
    setenv("NO_COLOR", "1", 1);
    RUN(&r, "a@b");
    assert_true(r.o.no_color);
    done(&r);
    setenv("NO_COLOR", "", 1);
    RUN(&r, "a@b");
    assert_false(r.o.no_color);
    done(&r);
    unsetenv("NO_COLOR");
}

static void profiles(void **state)
{
    (void)state;
    struct run r;
    RUN(&r, "--profile", "cpu", "-o", "x-%t.perf", "--processes", "app:shop", "--statuses",
        "running,waiting", "--flush", "15s", "--files", "4", "--perf-pid", "integer", "a@b");
    assert_true(r.o.batch && r.o.has_processes && r.o.perf_pid_integer);
    assert_int_equal(r.o.processes.kind, PROCESSES_APPLICATION);
    assert_int_equal(r.o.statuses, 1u << 1 | 1u << 3);
    assert_int_equal(r.o.flush_ns, 15000000000u);
    assert_int_equal(r.o.files, 4);
    done(&r);
    RUN(&r, "--profile", "wall", "-o", "%t.svg", "-t", "web=m:f/1", "--trigger", "web.p99>50ms",
        "--trigger", "node.run_queue>20", "--before", "10s", "--rearm", "5s", "-n", "2", "a@b");
    assert_int_equal(r.o.n_triggers, 2);
    assert_int_equal(r.o.before_ns, 10000000000u);
    assert_int_equal(r.o.rearm_ns, 5000000000u);
    done(&r);
    RUN(&r, "--profile", "cpu", "-o", "x.svg", "--processes", "inside", "-t", "m:f/1", "a@b");
    assert_int_equal(r.o.processes.kind, PROCESSES_INSIDE);
    assert_int_equal(r.o.rearm_ns, 60000000000u);
    done(&r);
    RUN(&r, "--record", "x-%t.rec", "--trigger", "f.p99>5ms", "-t", "m:f/1", "--before", "2m",
        "a@b");
    assert_true(r.o.batch && r.o.n_triggers == 1);
    done(&r);
    static const struct {
        const char *args[10], *word;
    } wrong[] = {
        {{"--record", "x.rec", "--trigger", "f.p99>5ms", "-t", "m:f/1", "a@b"}, "%t"},
        {{"--record", "%t.rec", "--trigger", "f.p99>5ms", "-t", "m:f/1", "-o", "x", "a@b"},
         "reports"},
        {{"--record", "%t.rec", "--trigger", "f.p99>5ms", "-t", "m:f/1", "--why", "a@b"},
         "no reports"},
        {{"--record", "%t.rec", "--before", "5s", "-t", "m:f/1", "a@b"}, "--trigger"},
        {{"--processes", "all", "a@b"}, "--profile"},
        {{"--trigger", "node.memory>1G", "a@b"}, "--profile"},
        {{"--profile", "cpu", "-o", "x.svg", "--processes", "what is it", "a@b"}, "--processes"},
        {{"--profile", "cpu", "-o", "x.svg", "--processes", "all", "--top", "5", "a@b"}, "--top"},
        {{"--profile", "cpu", "-o", "x.svg", "--processes", "inside", "a@b"}, "--tier"},
        {{"--profile", "cpu", "-o", "x.svg", "--statuses", "busy", "a@b"}, "--statuses"},
        {{"--profile", "cpu", "-o", "x.svg", "--flush", "15s", "a@b"}, "%t"},
        {{"--profile", "cpu", "-o", "x.svg", "--flush", "15ms", "a@b"}, "minimum"},
        {{"--profile", "cpu", "-o", "x.svg", "--files", "5", "a@b"}, "--flush"},
        {{"--profile", "cpu", "-o", "%t.svg", "--trigger", "web.p99>5ms", "a@b"}, "no tier"},
        {{"--profile", "cpu", "-o", "%t.svg", "--trigger", "node.memory", "a@b"}, "--trigger"},
        {{"--profile", "cpu", "-o", "x.svg", "--before", "5s", "a@b"}, "--trigger"},
        {{"--profile", "cpu", "-o", "x.svg", "-n", "5", "a@b"}, "--trigger"},
        {{"--profile", "cpu", "-o", "x.svg", "-d", "5s", "a@b"}, "--duration"},
        {{"--profile", "cpu", "-o", "x.perf", "--perf-pid", "80", "a@b"}, "integer"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&r, wrong[i].args);
        assert_int_equal(r.result, OPTIONS_USAGE);
        if (!strstr(r.e.text, wrong[i].word))
            fail_msg("%s", r.e.text);
        done(&r);
    }
}

struct same_file {
    const char *args[12], *one, *other;
};

/* Two files of the command line that are one: the second would destroy the first. */
static void one_file_for_two(void **state)
{
    (void)state;
    static char dir[] = "/tmp/kprof_test_options_XXXXXX";
    char here[64], link_[64], slashes[64], rec[64];
    assert_non_null(mkdtemp(dir));
    snprintf(here, sizeof here, "%s/here", dir);
    snprintf(link_, sizeof link_, "%s/link", dir);
    snprintf(slashes, sizeof slashes, "%s/.//new", dir);
    snprintf(rec, sizeof rec, "%s/new", dir);
    FILE *f = fopen(here, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(link(here, link_), 0);
    const struct same_file same[] = {
        {{"-b", "--demo", "--record", "x", "-o", "x"}, "--record", "--output"},
        {{"-b", "--demo", "--record", "./x", "-o", "x"}, "--record", "--output"},
        {{"-b", "--demo", "--record", rec, "-o", slashes}, "--record", "--output"},
        {{"-b", "--demo", "--slow-log", here, "-o", link_}, "--slow-log", "--output"},
        {{"--demo", "--record", "x", "--slow-log", "x"}, "--record", "--slow-log"},
        {{"-b", "--replay", here, "-o", link_}, "--replay", "--output"},
        {{"-b", "--replay", "none", "--baseline", here, "-o", here}, "--baseline", "--output"},
        {{"--replay", here, "--slow", "1s", "--slow-log", here}, "--replay", "--slow-log"},
    };
    struct run r;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        parse(&r, same[i].args);
        assert_int_equal(r.result, OPTIONS_USAGE);
        if (!strstr(r.e.text, same[i].one) || !strstr(r.e.text, same[i].other))
            fail_msg("case %zu: %s", i, r.e.text);
        done(&r);
    }
    RUN(&r, "-b", "--demo", "--record", "x", "-o", "y", "--slow-log", "z"); /* three names */
    done(&r);
    RUN(&r, "-b", "--demo", "--slow-log", rec, "-o", here);
    done(&r);
    RUN(&r, "-b", "--replay", "/dev/null", "-o", "/dev/null"); /* not a file with content */
    done(&r);
    unlink(here);
    unlink(link_);
    rmdir(dir);
}

/* tiers typed on the screen */
static void tier_text(void **state)
{
    (void)state;
    struct tier_spec t;
    struct err e = {{0}};
    assert_int_equal(options_tier_parse("db=my_db:query/2", &t, &e), 0);
    assert_string_equal(t.name, "db");
    assert_string_equal(t.mfa, "my_db:query/2");
    assert_int_equal(options_tier_parse("my_db:query/2", &t, &e), 0);
    assert_string_equal(t.name, "");
    options_tier_name(&t, &t, 1);
    assert_string_equal(t.name, "query");
    char longest[400];
    memset(longest, 'f', sizeof longest);
    memcpy(longest, "m:", 2);
    memcpy(longest + 240, "/1", 3);
    assert_int_equal(options_tier_parse(longest, &t, &e), 0);
    options_tier_name(&t, NULL, 0);
    assert_int_equal(strlen(t.name), TIER_NAME_BYTES - 1);
    struct tier_spec same = t;
    options_tier_name(&t, &same, 1);
    assert_int_equal(strlen(t.name), TIER_NAME_BYTES - 1);
    assert_string_not_equal(t.name, same.name);
    memset(longest, 'n', 100);
    memcpy(longest + 100, "=m:f/1", 7);
    assert_int_equal(options_tier_parse(longest, &t, &e), -1);
    assert_int_equal(options_tier_parse("\x1b[2J=m:f/1", &t, &e), -1);
    assert_null(strchr(e.text, 0x1b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preset_gives_what_is_left_open),
        cmocka_unit_test(defaults),
        cmocka_unit_test(everything),
        cmocka_unit_test(tls),
        cmocka_unit_test(speed),
        cmocka_unit_test(no_node),
        cmocka_unit_test(assertions),
        cmocka_unit_test(modes),
        cmocka_unit_test(hazards),
        cmocka_unit_test(suggest),
        cmocka_unit_test(cookie_is_blanked),
        cmocka_unit_test(tier_names),
        cmocka_unit_test(names_that_clash),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(nothing_is_guessed),
        cmocka_unit_test(too_many_tiers),
        cmocka_unit_test(rates),
        cmocka_unit_test(from_file),
        cmocka_unit_test(command_line_wins),
        cmocka_unit_test(file_mistakes),
        cmocka_unit_test(budget),
        cmocka_unit_test(full_trace),
        cmocka_unit_test(profiles),
        cmocka_unit_test(one_file_for_two),
        cmocka_unit_test(help_fits),
        cmocka_unit_test(no_color_of_the_environment),
        cmocka_unit_test(tier_text),
    };
    unsetenv("NO_COLOR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
