/* --assert: valid conditions, invalid conditions, results. */
#include <fake_snapshot.h>
#include <kprof/cli/assertion.h>
#include <kprof/export/field.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void reads(void **state)
{
    (void)state;
    struct assertion a;
    struct err e;
    assert_int_equal(assertion_parse("assert", "db.p99<20ms", &a, &e), 0);
    assert_string_equal(a.row, "db");
    assert_string_equal(fields[a.field].key, "p99_us");
    assert_true(a.less && !a.or_equal && !a.relative);
    assert_true(a.value == 20000);
    assert_int_equal(assertion_parse("assert", "MyApp.Repo.get/GET /users.rate >= 1.5", &a, &e), 0);
    assert_string_equal(a.row, "MyApp.Repo.get/GET /users");
    assert_string_equal(fields[a.field].key, "rate");
    assert_true(!a.less && a.or_equal && a.value == 1.5);
    assert_int_equal(assertion_parse("assert", "db.p50_us<+10%", &a, &e), 0);
    assert_true(a.relative && a.value > 1.0999 && a.value < 1.1001);
    assert_int_equal(assertion_parse("assert", "db.count>-50%", &a, &e), 0);
    assert_true(a.relative && a.value == 0.5);
    assert_int_equal(assertion_parse("assert", "db.share<25%", &a, &e), 0);
    assert_true(!a.relative && a.value == 0.25);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",           "db",          "db.p99",     "db.p99=3ms",
                                        "p99<20ms",   ".p99<20ms",   "db.p98<2ms", "db.p99<20",
                                        "db.p99<",    "db.count<2x", "db.rate<ms", "db.p99<+x%",
                                        "db.p99<+10", "db.count<5%", "<20ms",      "db.<2ms"};
    struct assertion a;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {{0}};
        if (assertion_parse("assert", wrong[i], &a, &e) == 0)
            fail_msg("\"%s\" was accepted", wrong[i]);
        assert_non_null(strstr(e.text, "--assert"));
    }
}

static bool holds(const char *text, const struct snapshot *s, const struct snapshot *base,
                  char why[400])
{
    struct assertion a;
    struct err e = {{0}};
    if (assertion_parse("assert", text, &a, &e) < 0)
        fail_msg("%s", e.text);
    why[0] = 0;
    return assertion_holds(&a, s, base, why, 400);
}

static void judges(void **state)
{
    (void)state;
    char why[400];
    struct fake *f = fake_new();
    fake_row(f, 0, "db", NULL, 1000, 100)->p99_us = 20000;
    fake_row(f, 0, "db", "create", 10, 100)->p99_us = 30000;
    fake_row(f, 1, "idle", NULL, 0, 0);
    const struct snapshot *s = fake_snap(f);
    assert_true(holds("db.p99<21ms", s, NULL, why));
    assert_true(holds("db.p99<=20ms", s, NULL, why));
    assert_false(holds("db.p99<20ms", s, NULL, why));
    assert_non_null(strstr(why, "20.0ms"));
    assert_false(holds("db.p99>20ms", s, NULL, why));
    assert_true(holds("db/create.p99>=30ms", s, NULL, why));
    assert_true(holds("db.count>999", s, NULL, why));
    assert_false(holds("db/delete.p99<1s", s, NULL, why));
    assert_non_null(strstr(why, "no row"));
    /* Without calls, a condition on a duration fails. */
    assert_false(holds("idle.p99<1s", s, NULL, why));
    assert_non_null(strstr(why, "no call"));
    assert_true(holds("idle.count<1", s, NULL, why));
    /* A value that is not known (here: times in mailboxes are not measured) is no value. */
    assert_false(holds("db.mbox_p99<1s", s, NULL, why));
    assert_string_equal(why, "the run has no mbox_p99_us of db");
    assert_false(holds("db.mbox_p99>1s", s, NULL, why));
    assert_false(holds("db.p99<+10%", s, NULL, why));
    assert_non_null(strstr(why, "--baseline"));
    fake_free(f);
}

static void against_a_baseline(void **state)
{
    (void)state;
    char why[400];
    struct fake *f = fake_new(), *g = fake_new();
    fake_row(f, 0, "db", NULL, 1000, 100)->p99_us = 10000;
    fake_row(g, 0, "db", NULL, 1000, 100)->p99_us = 10900;
    assert_true(holds("db.p99<+10%", fake_snap(g), fake_snap(f), why));
    assert_false(holds("db.p99<+5%", fake_snap(g), fake_snap(f), why));
    assert_true(holds("db.p99>-10%", fake_snap(g), fake_snap(f), why));
    assert_false(holds("db.p99<-1%", fake_snap(g), fake_snap(f), why));
    fake_free(f);
    fake_free(g);
}

/* Values of the node; the words are those of a trigger, too. */
static void of_the_node(void **state)
{
    (void)state;
    char why[400];
    struct assertion a;
    struct err e;
    struct fake *f = fake_new();
    fake_row(f, 0, "node", NULL, 1000, 100)->p99_us = 20000;
    struct snapshot *s = fake_snap(f);
    s->node.processes = 120;
    s->node.run_queue = 7;
    s->node.memory_bytes = (uint64_t)3 << 29;
    assert_true(holds("node.run_queue<8", s, NULL, why));
    assert_false(holds("node.run_queue<7", s, NULL, why));
    assert_non_null(strstr(why, "the value is 7, expected < 7"));
    assert_true(holds("node.memory>1.4G", s, NULL, why));
    assert_false(holds("node.memory>1536MB", s, NULL, why));
    assert_non_null(strstr(why, "1536.0 MB"));
    assert_true(holds("node.memory>=1610612736", s, NULL, why));
    assert_true(holds("node.processes>=120", s, NULL, why));
    assert_true(holds("node.p99<21ms", s, NULL, why)); /* a tier of this name */
    s->node.processes = 0;
    assert_false(holds("node.run_queue<8", s, NULL, why)); /* there was no heartbeat yet */
    static const char *const wrong[] = {"node.run_queue<+10%", "node.run_queue>2k", "node.memory>",
                                        "node.memory>2X", "node.queue>2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (assertion_parse("trigger", wrong[i], &a, &e) == 0)
            fail_msg("\"%s\" was read", wrong[i]);
        assert_non_null(strstr(e.text, "--trigger"));
        assert_non_null(strstr(e.text, "'db.p99>20ms'"));
    }
    fake_free(f);
}

static void belongs_to_a_tier(void **state)
{
    (void)state;
    struct assertion a;
    struct err e;
    assert_int_equal(assertion_parse("trigger", "web/GET /a.p99>1ms", &a, &e), 0);
    assert_true(assertion_of_tier(&a, "web"));
    assert_true(assertion_of_tier(&a, "web/GET /a"));
    assert_false(assertion_of_tier(&a, "we"));
    assert_false(assertion_of_tier(&a, "website"));
    assert_int_equal(assertion_parse("trigger", "node.memory>1G", &a, &e), 0);
    assert_false(assertion_of_tier(&a, "node"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),       cmocka_unit_test(refuses),
        cmocka_unit_test(judges),      cmocka_unit_test(against_a_baseline),
        cmocka_unit_test(of_the_node), cmocka_unit_test(belongs_to_a_tier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
