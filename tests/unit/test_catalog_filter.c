/* Fuzzy matching, the catalog, and searches in it, compared with a naive matcher and a naive sort.
 */
#include "rng.h"

#include <kprof/base/fuzzy.h>
#include <kprof/core/catalog_filter.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* --- naive implementations --- */

static bool naive_term(const char *t, size_t m, const char *s)
{
    bool as_is = false;
    size_t k = 0;
    for (size_t i = 0; i < m; i++)
        as_is = as_is || isupper((unsigned char)t[i]);
    for (size_t i = 0; s[i] && k < m; i++)
        k += t[k] == (as_is ? s[i] : (char)tolower((unsigned char)s[i]));
    return k == m;
}

static bool naive_match(const char *query, const char *s)
{
    for (const char *at = query; *at;) {
        size_t m = strcspn(at, " ");
        if (m && !naive_term(at, m, s))
            return false;
        at += m + (at[m] == ' ');
    }
    return true;
}

static void random_text(char *out, size_t max, const char *letters)
{
    size_t n = rng() % max;
    for (size_t i = 0; i < n; i++)
        out[i] = letters[rng() % strlen(letters)];
    out[n] = 0;
}

static const char alphabet[] = "aabcdeABC_:./\xc3\xa4 ";

static int score(const char *query, const char *s)
{
    struct fuzzy q;
    fuzzy_set(&q, query);
    return fuzzy_score(&q, s, strlen(s));
}

/* --- fuzzy --- */

static void matches_what_a_naive_matcher_matches(void **state)
{
    (void)state;
    char query[12], s[40];
    rng_seed();
    for (int i = 0; i < 200000; i++) {
        struct fuzzy q;
        bool hit[40] = {false};
        random_text(query, sizeof query, alphabet);
        random_text(s, sizeof s, alphabet);
        bool want = naive_match(query, s);
        fuzzy_set(&q, query);
        assert_int_equal(fuzzy_score(&q, s, strlen(s)) >= 0, want);
        assert_int_equal(fuzzy_marks(&q, s, strlen(s), hit), want);
        if (want)
            assert_int_equal(q.need & ~fuzzy_mask(s, strlen(s)), 0);
        size_t hits = 0, longest = 0;
        for (size_t k = 0; k < sizeof hit; k++)
            hits += hit[k];
        for (size_t k = 0; k < q.n; k++)
            longest = q.term[k].len > longest ? q.term[k].len : longest;
        assert_true(want ? hits >= longest : hits == 0);
    }
}

static void better_matches_score_higher(void **state)
{
    (void)state;
    static const struct {
        const char *query, *better, *worse;
    } cases[] = {
        {"get", "my_gate:get/1", "my_gate:greet/1"},        /* consecutive letters */
        {"db", "my_db:query/2", "xmydbx:query/2"},          /* at the start of a word */
        {"rg", "MyApp.Repo.get/2", "MyApp.Large.x/2"},      /* initials */
        {"call", "scan_all:call/2", "scan_all:calls_x/2x"}, /* the best match, not the first */
        {"mr", "MyRepo.x/1", "Myarepo.x/1"},                /* capitals inside of a word */
        {"map2", "lists:map/2", "lists:mapfoldl/2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int better = score(cases[i].query, cases[i].better);
        int worse = score(cases[i].query, cases[i].worse);
        if (i == 3)
            assert_true(better >= worse);
        else if (better <= worse)
            fail_msg("%s: %s %d, %s %d", cases[i].query, cases[i].better, better, cases[i].worse,
                     worse);
    }
    assert_true(score("Get", "my:get/1") < 0);
    assert_true(score("get", "my:GET/1") >= 0);
    assert_true(score("query my", "my_db:query/2") >= 0);
    assert_true(score("query nothere", "my_db:query/2") < 0);
    assert_int_equal(score("  ", "anything"), 0);
}

static void marks_are_the_best_piece(void **state)
{
    (void)state;
    const char *s = "scan_all:call/2";
    struct fuzzy q;
    bool hit[16] = {false};
    fuzzy_set(&q, "call");
    assert_true(fuzzy_marks(&q, s, strlen(s), hit));
    for (size_t i = 0; i < strlen(s); i++)
        assert_int_equal(hit[i], i >= 9 && i < 13);
}

/* --- catalog --- */

static void a_catalog_keeps_what_it_is_given(void **state)
{
    (void)state;
    struct catalog *c = catalog_new();
    char text[CATALOG_TEXT_BYTES], huge[2000];
    memset(huge, 'x', sizeof huge);
    huge[sizeof huge - 1] = 0;
    catalog_function(c, "no_module_yet", 0, true);
    catalog_module(c, "lists:", "stdlib", true);
    catalog_function(c, "map", 2, true);
    catalog_function(c, "zip_", 255, false);
    catalog_function(c, "too_much", 256, true);
    catalog_function(c, huge, 1, true);
    catalog_module(c, huge, "app", false);
    catalog_function(c, "of_huge", 1, true);
    catalog_module(c, "MyApp.Repo.", "", false);
    catalog_function(c, "get!", 0, true);
    assert_int_equal(catalog_count(c), 3);
    assert_int_equal(catalog_left_out(c), 4);
    assert_int_equal(catalog_text(c, 0, text), 11);
    assert_string_equal(text, "lists:map/2");
    catalog_text(c, 1, text);
    assert_string_equal(text, "lists:zip_/255");
    catalog_text(c, 2, text);
    assert_string_equal(text, "MyApp.Repo.get!/0");
    assert_string_equal(catalog_app(c, 1), "stdlib");
    assert_string_equal(catalog_app(c, 2), "");
    assert_true(catalog_is_platform(c, 0) && !catalog_is_platform(c, 2));
    assert_true(catalog_is_local(c, 1) && !catalog_is_local(c, 0));
    assert_true(catalog_rate(c, 0) < 0);
    catalog_set_rate(c, 0, 12.5f);
    assert_true(catalog_rate(c, 0) > 12.4f);
    catalog_free(c);
}

static void a_catalog_is_bounded(void **state)
{
    (void)state;
    struct catalog *c = catalog_new();
    struct catalog_filter s;
    char name[16];
    catalog_filter_init(&s);
    catalog_module(c, "m:", "", false);
    for (unsigned i = 0; i < CATALOG_FUNCTIONS_MAX + 10; i++) {
        snprintf(name, sizeof name, "f%u", i);
        catalog_function(c, name, 1, true);
    }
    assert_int_equal(catalog_count(c), CATALOG_FUNCTIONS_MAX);
    assert_int_equal(catalog_left_out(c), 10);
    catalog_filter_update(&s, c, "f199999");
    assert_int_equal(catalog_filter_count(&s), 1);
    assert_int_equal(catalog_filter_at(&s, 0), 199999);
    catalog_filter_release(&s);
    catalog_free(c);
}

/* --- filter --- */

static void grow(struct catalog *c, unsigned functions)
{
    char name[24];
    for (unsigned i = 0; i < functions; i++) {
        if (!catalog_count(c) || rng() % 20 == 0) {
            random_text(name, 12, alphabet);
            strcat(name, ":");
            catalog_module(c, name, "app", (enum catalog_origin)(rng() % 3));
        }
        random_text(name, 16, alphabet);
        catalog_function(c, name, (unsigned)(rng() % 4), rng() % 2);
        if (rng() % 4 == 0)
            catalog_set_rate(c, catalog_count(c) - 1, (float)(rng() % 3));
    }
}

static void set_is_the_naive_one(const struct catalog_filter *s, const struct catalog *c,
                                 const char *query)
{
    char text[CATALOG_TEXT_BYTES];
    size_t want = 0;
    bool *there = calloc(catalog_count(c) + 1, sizeof *there);
    for (size_t i = 0; i < catalog_filter_count(s); i++) {
        assert_false(there[catalog_filter_at(s, i)]);
        there[catalog_filter_at(s, i)] = true;
    }
    for (uint32_t id = 0; id < catalog_count(c); id++) {
        catalog_text(c, id, text);
        bool match = naive_match(query, text);
        want += match;
        if (match != there[id])
            fail_msg("\"%s\" and %s: %d", query, text, there[id]);
    }
    assert_int_equal(catalog_filter_count(s), want);
    free(there);
}

/* a before b, by the order in the header file */
static bool in_order(const struct catalog *c, const char *query, uint32_t a, uint32_t b)
{
    char ta[CATALOG_TEXT_BYTES], tb[CATALOG_TEXT_BYTES];
    struct fuzzy q;
    fuzzy_set(&q, query);
    int typed = 0;
    for (const char *at = query; *at; at++)
        typed += *at != ' ';
    const int start[] = {
        [CATALOG_OWN] = 20 + 4 * typed, [CATALOG_LIBRARY] = 8 + 2 * typed, [CATALOG_PLATFORM] = 0};
    bool blank = q.n == 0, ca = catalog_rate(c, a) > 0, cb = catalog_rate(c, b) > 0;
    int pa = start[catalog_origin(c, a)], pb = start[catalog_origin(c, b)];
    size_t na = catalog_text(c, a, ta), nb = catalog_text(c, b, tb);
    int sa = fuzzy_score(&q, ta, na) + (blank ? 0 : pa + 8 * ca);
    int sb = fuzzy_score(&q, tb, nb) + (blank ? 0 : pb + 8 * cb);
    if (sa != sb)
        return sa > sb;
    if (pa != pb)
        return pa > pb;
    if (ca != cb)
        return ca;
    if (na != nb && !blank)
        return na < nb;
    return a < b;
}

static void found_as_by_a_naive_search(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < 30; round++) {
        struct catalog *c = catalog_new();
        struct catalog_filter typed, fresh;
        char query[16] = "";
        catalog_filter_init(&typed);
        for (int key = 0; key < 20; key++) { /* typing and deleting while the catalog grows */
            size_t n = strlen(query);
            if (rng() % 4 == 0)
                query[n ? n - 1 : 0] = 0;
            else if (n + 1 < sizeof query)
                snprintf(query + n, 2, "%c", alphabet[rng() % strlen(alphabet)]);
            if (rng() % 3 == 0)
                grow(c, (unsigned)(rng() % 200));
            catalog_filter_update(&typed, c, query);
            set_is_the_naive_one(&typed, c, query);
            for (size_t i = 1; i < catalog_filter_count(&typed); i++)
                assert_true(in_order(c, query, catalog_filter_at(&typed, i - 1),
                                     catalog_filter_at(&typed, i)));
            catalog_filter_init(&fresh);
            catalog_filter_update(&fresh, c, query);
            assert_int_equal(catalog_filter_count(&fresh), catalog_filter_count(&typed));
            for (size_t i = 0; i < catalog_filter_count(&fresh); i++)
                assert_int_equal(catalog_filter_at(&fresh, i), catalog_filter_at(&typed, i));
            catalog_filter_release(&fresh);
        }
        catalog_filter_release(&typed);
        catalog_free(c);
    }
}

static void own_code_comes_first(void **state)
{
    (void)state;
    struct catalog *c = catalog_new();
    struct catalog_filter s;
    catalog_filter_init(&s);
    catalog_module(c, "a_otp:", "stdlib", true);
    catalog_function(c, "query", 2, true);
    catalog_module(c, "b_own:", "shop", false);
    catalog_function(c, "query", 2, true);
    catalog_filter_update(&s, c, "");
    assert_int_equal(catalog_filter_at(&s, 0), 1);
    catalog_filter_update(&s, c, "query");
    assert_int_equal(catalog_filter_at(&s, 0), 1);
    catalog_filter_update(&s, c, "a_otp:query"); /* but the intended function is found */
    assert_int_equal(catalog_filter_at(&s, 0), 0);
    catalog_filter_forget(&s);
    catalog_filter_update(&s, NULL, "q");
    assert_int_equal(catalog_filter_count(&s), 0);
    catalog_filter_release(&s);
    catalog_free(c);
}

static void first_is(struct catalog_filter *s, const struct catalog *c, const char *query,
                     const char *want)
{
    char text[CATALOG_TEXT_BYTES];
    catalog_filter_update(s, c, query);
    assert_true(catalog_filter_count(s) > 0);
    catalog_text(c, catalog_filter_at(s, 0), text);
    assert_string_equal(text, want);
}

/* First the node's applications, then libraries, then OTP; within each, called functions first. */
static void the_nodes_own_application_comes_first(void **state)
{
    (void)state;
    struct catalog *c = catalog_new();
    struct catalog_filter s;
    catalog_filter_init(&s);
    catalog_module(c, "ranch_tcp:", "ranch", CATALOG_LIBRARY);
    catalog_function(c, "controlling_process", 2, true);
    catalog_module(c, "inet:", "kernel", CATALOG_PLATFORM);
    catalog_function(c, "controlling_process", 2, true);
    catalog_module(c, "ShopexWeb.PageController.", "shopex", CATALOG_OWN);
    catalog_function(c, "action", 2, true);
    catalog_function(c, "show", 2, true);
    first_is(&s, c, "contr", "ShopexWeb.PageController.show/2");
    assert_int_equal(catalog_filter_at(&s, 2), 0); /* a library before OTP */
    assert_int_equal(catalog_filter_at(&s, 3), 1);
    catalog_set_rate(c, 2, 100); /* the longer name */
    catalog_set_rate(c, 3, 0);
    first_is(&s, c, "contr", "ShopexWeb.PageController.show/2"); /* not while the user types */
    first_is(&s, c, "contro", "ShopexWeb.PageController.action/2");
    catalog_filter_forget(&s);
    first_is(&s, c, "", "ShopexWeb.PageController.action/2");
    first_is(&s, c, "ranch_tcp",
             "ranch_tcp:controlling_process/2"); /* the intended function is found */
    catalog_filter_release(&s);
    catalog_free(c);
}

static void calls_come_first(void **state)
{
    (void)state;
    struct catalog_filter s, plain;
    catalog_filter_init(&s);
    catalog_filter_init(&plain);
    for (int round = 0; round < rng_rounds(60); round++) {
        struct catalog *c = catalog_new();
        char name[16];
        catalog_module(c, "m:", "", CATALOG_OWN);
        uint32_t n = (uint32_t)rng_below(80);
        for (uint32_t i = 0; i < n; i++) {
            snprintf(name, sizeof name, "f%u", (unsigned)rng_below(1000));
            catalog_function(c, name, i, true);
        }
        static const float rates[] = {-1.0f, CATALOG_UNCOUNTED, 0, 1, 2, 1000};
        for (uint32_t i = 0; i < n; i++)
            catalog_set_rate(c, i, rates[rng_below(sizeof rates / sizeof *rates)]);
        catalog_filter_forget(&s);
        catalog_filter_forget(&plain);
        catalog_filter_update(&s, c, "f1");
        catalog_filter_update(&plain, c, "f1");
        for (int again = 0; again < 2; again++) {
            catalog_filter_by_calls(&s, c);
            size_t all = catalog_filter_count(&s), i = 0, k = 0;
            assert_int_equal(all, catalog_filter_count(&plain));
            for (; i < all && catalog_rate(c, catalog_filter_at(&s, i)) > 0; i++)
                assert_true(i == 0 || catalog_rate(c, catalog_filter_at(&s, i - 1)) >=
                                          catalog_rate(c, catalog_filter_at(&s, i)));
            for (; i < all; i++, k++) { /* the others, as they were */
                while (catalog_rate(c, catalog_filter_at(&plain, k)) > 0)
                    k++;
                assert_int_equal(catalog_filter_at(&s, i), catalog_filter_at(&plain, k));
            }
        }
        catalog_free(c);
    }
    catalog_filter_release(&s);
    catalog_filter_release(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_what_a_naive_matcher_matches),
        cmocka_unit_test(better_matches_score_higher),
        cmocka_unit_test(marks_are_the_best_piece),
        cmocka_unit_test(a_catalog_keeps_what_it_is_given),
        cmocka_unit_test(a_catalog_is_bounded),
        cmocka_unit_test(found_as_by_a_naive_search),
        cmocka_unit_test(own_code_comes_first),
        cmocka_unit_test(the_nodes_own_application_comes_first),
        cmocka_unit_test(calls_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
