#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "real_terms.h"

#include <kprof/erl/etf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct real_term *terms;
static size_t count;

static int set_up(void **state)
{
    (void)state;
    terms = real_terms(&count);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    real_terms_free(terms, count);
    return 0;
}

/* A copy at the end of its block: the sanitizer detects a read past the end. */
static uint8_t *exact(const void *bytes, size_t n)
{
    uint8_t *p = malloc(n > 0 ? n : 1);

    assert_non_null(p);
    memcpy(p, bytes, n);
    return p;
}

static void real_terms_are_skipped_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct etf c;

        etf_init(&c, terms[i].bytes, terms[i].n);
        assert_true(etf_version(&c));
        if (!etf_skip(&c) || c.p != c.end || c.bad)
            fail_msg("term %zu: %s", i, terms[i].text);
    }
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        size_t step = terms[i].n > 2000 ? terms[i].n / 300 : 1;

        for (size_t n = 0; n < terms[i].n; n += step) {
            uint8_t *p = exact(terms[i].bytes, n);
            struct etf c;

            etf_init(&c, p, n);
            if (etf_version(&c) && etf_skip(&c))
                fail_msg("term %zu (%s) passes with %zu of %zu bytes", i, terms[i].text, n,
                         terms[i].n);
            assert_true(c.bad);
            free(p);
        }
    }
}

/* Calls the readers in a random order; the cursor stays inside, and `bad` is never reset. */
static void read_anyhow(struct etf *c, unsigned r)
{
    const uint8_t *start = c->p;
    const uint8_t *b;
    const char *s;
    uint32_t n32;
    uint64_t u;
    int64_t v;
    double d;
    size_t n;

    for (int k = 0; k < 40 && c->p < c->end; k++, r = r * 1103515245u + 12345u) {
        bool was_bad = c->bad, ok = false;

        switch (r >> 16 & 15) {
        case 0:
            ok = etf_tuple(c, &n32);
            break;
        case 1:
            ok = etf_list(c, &n32);
            break;
        case 2:
            ok = etf_nil(c);
            break;
        case 3:
            ok = etf_map(c, &n32);
            break;
        case 4:
            ok = etf_atom(c, &s, &n);
            break;
        case 5:
            ok = etf_is_atom(c, "a");
            break;
        case 6:
            ok = etf_u64(c, &u);
            break;
        case 7:
            ok = etf_i64(c, &v);
            break;
        case 8:
            ok = etf_double(c, &d);
            break;
        case 9:
            ok = etf_binary(c, &b, &n);
            break;
        case 10:
            ok = etf_string(c, &b, &n);
            break;
        case 11:
            ok = etf_pid(c, &u);
            break;
        default:
            ok = etf_skip(c);
            break;
        }
        assert_true(c->p >= start && c->p <= c->end);
        assert_false(was_bad && (ok || !c->bad));
    }
}

static void mutations_stay_inside(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 60000; round++) {
        const struct real_term *t = &terms[(size_t)rand() % count];
        size_t n = t->n < 400 ? t->n : 400;
        uint8_t *p = exact(t->bytes, n);
        struct etf c;

        for (int k = 1 + rand() % 6; k > 0; k--)
            p[(size_t)rand() % n] = (uint8_t)(rand() % 3 ? rand() : 97 + rand() % 25);
        etf_init(&c, p + 1, n - 1);
        read_anyhow(&c, (unsigned)rand());
        etf_init(&c, p + 1, n - 1);
        if (etf_skip(&c))
            assert_true(c.p <= c.end && !c.bad);
        else
            assert_true(c.bad);
        free(p);
    }
}

#define CURSOR(c, ...)                                                                             \
    static const uint8_t c##_bytes[] = {__VA_ARGS__};                                              \
    struct etf c;                                                                                  \
    etf_init(&c, c##_bytes, sizeof c##_bytes)

static void integers(void **state)
{
    static const struct {
        const char *text;
        bool i64, u64;
    } want[] = {{"0", true, true},
                {"255", true, true},
                {"-1", true, false},
                {"2147483648", true, true},
                {"-2147483648", true, false},
                {"-2147483649", true, false},
                {"9223372036854775808", false, true},
                {"-9223372036854775808", true, false},
                {"-9223372036854775809", false, false},
                {"18446744073709551615", false, true},
                {"18446744073709551616", false, false}};

    (void)state;
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        size_t i = 0;
        struct etf c;
        uint64_t u;
        int64_t v;
        double d;

        while (i < count && strcmp(terms[i].text, want[k].text) != 0)
            i++;
        assert_true(i < count);
        etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
        assert_int_equal(etf_i64(&c, &v), want[k].i64);
        if (want[k].i64)
            assert_true(v == strtoll(want[k].text, NULL, 10));
        etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
        assert_int_equal(etf_u64(&c, &u), want[k].u64);
        if (want[k].u64)
            assert_true(u == strtoull(want[k].text, NULL, 10));
        etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
        assert_true(etf_double(&c, &d));
        assert_true(fabs(d - strtod(want[k].text, NULL)) <= fabs(d) * 1e-15);
        assert_ptr_equal(c.p, c.end);
    }
}

static void doubles(void **state)
{
    unsigned seen = 0;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct etf c;
        double d, want;

        if (terms[i].bytes[1] != 70 && terms[i].bytes[1] != 99)
            continue;
        seen |= terms[i].bytes[1] == 70 ? 1 : 2;
        want = strtod(terms[i].text, NULL);
        etf_init(&c, terms[i].bytes + 1, terms[i].n - 1);
        assert_true(etf_double(&c, &d));
        assert_true(d == want || fabs(d - want) <= fabs(want) * 1e-15 || fabs(want) < 1e-320);
        assert_ptr_equal(c.p, c.end);
    }
    assert_int_equal(seen, 3);
    CURSOR(nan, 70, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0);
    assert_false(etf_double(&nan, &(double){0}));
}

static void pids(void **state)
{
    uint64_t pid;

    (void)state;
    CURSOR(new_pid, 88, 119, 1, 'a', 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 9);
    assert_true(etf_pid(&new_pid, &pid));
    assert_true(pid == (UINT64_C(3) << 32 | 0x102));
    assert_ptr_equal(new_pid.p, new_pid.end);
    CURSOR(old_pid, 103, 100, 0, 1, 'a', 0, 0, 1, 2, 0, 0, 0, 3, 9);
    assert_true(etf_pid(&old_pid, &pid));
    assert_true(pid == (UINT64_C(3) << 32 | 0x102));
    CURSOR(cut, 88, 119, 1, 'a', 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0);
    assert_false(etf_pid(&cut, &pid));
    CURSOR(nodeless, 88, 97, 1, 'a', 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 9);
    assert_false(etf_pid(&nodeless, &pid));
}

static void strings_and_lists(void **state)
{
    const uint8_t *b;
    uint32_t count32;
    size_t n;

    (void)state;
    CURSOR(string, 107, 0, 2, 'a', 'b');
    assert_true(etf_string(&string, &b, &n) && n == 2 && memcmp(b, "ab", 2) == 0);
    CURSOR(binary, 109, 0, 0, 0, 2, 'a', 'b');
    assert_true(etf_string(&binary, &b, &n) && n == 2);
    CURSOR(nil, 106);
    assert_true(etf_string(&nil, &b, &n) && n == 0 && nil.p == nil.end);
    CURSOR(none, 106);
    assert_true(etf_list(&none, &count32) && count32 == 0 && none.p == none.end);
    CURSOR(one, 108, 0, 0, 0, 1, 97, 7, 106);
    assert_true(etf_list(&one, &count32) && count32 == 1);
    assert_true(etf_skip(&one) && etf_nil(&one) && etf_peek(&one) == -1);
    CURSOR(map, 116, 0, 0, 0, 1, 97, 7, 106);
    assert_true(etf_map(&map, &count32) && count32 == 1);
}

static void atoms(void **state)
{
    const char *s;
    size_t n;

    (void)state;
    CURSOR(c, 119, 2, 'a', 'b', 100, 0, 1, 'c', 118, 0, 1, 'd', 115, 1, 'e');
    assert_false(etf_is_atom(&c, "a"));
    assert_false(etf_is_atom(&c, "abc"));
    assert_false(c.bad);
    assert_ptr_equal(c.p, c_bytes);
    assert_true(etf_is_atom(&c, "ab"));
    assert_true(etf_atom(&c, &s, &n) && n == 1 && *s == 'c');
    assert_true(etf_is_atom(&c, "d"));
    assert_true(etf_is_atom(&c, "e"));
    assert_false(etf_atom(&c, &s, &n));
    assert_true(c.bad);
}

static void lengths_are_not_believed(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t n;
    } bad[] = {
        {{105, 0xff, 0xff, 0xff, 0xff, 106}, 6}, /* a tuple of four billion elements */
        {{104, 2, 106}, 3},
        {{108, 0xff, 0xff, 0xff, 0xff, 106}, 6},
        {{108, 0, 0, 0, 0, 106}, 6},         /* no VM writes an empty one */
        {{108, 0, 0, 0, 1, 106}, 6},         /* no tail */
        {{116, 0x80, 0, 0, 0, 106, 106}, 7}, /* 2 * 2^31 is 0 in 32 bits */
        {{109, 0xff, 0xff, 0xff, 0xff, 1}, 6},
        {{77, 0xff, 0xff, 0xff, 0xff, 1, 1}, 7},
        {{110, 255, 0, 1}, 4},
        {{111, 0xff, 0xff, 0xff, 0xff, 0, 1}, 7},
        {{114, 0xff, 0xff, 119, 0, 0}, 6},
        {{112, 0, 0, 0, 2}, 5},                   /* shorter than its header */
        {{121, 0, 0, 0, 0, 0, 0, 0, 0, 106}, 10}, /* LOCAL_EXT */
        {{80, 0, 0, 0, 1, 0}, 6},                 /* compressed */
        {{82, 0}, 2},    /* an atom cache reference, which we do not support */
        {{131, 106}, 2}, /* a version byte is not a term */
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t *p = exact(bad[i].bytes, bad[i].n);
        struct etf c;

        etf_init(&c, p, bad[i].n);
        if (etf_skip(&c) || !c.bad)
            fail_msg("case %zu passes", i);
        free(p);
    }
}

static void lengths_are_not_believed_by_readers(void **state)
{
    static const uint8_t fun[40] = {112, 0, 0, 0,
                                    2}; /* shorter than its header, which is complete */
    uint32_t n;
    struct etf c;

    (void)state;
    CURSOR(map, 116, 0x80, 0, 0, 0, 106, 106);
    assert_false(etf_map(&map, &n));
    CURSOR(tuple, 105, 0, 0, 0, 2, 106);
    assert_false(etf_tuple(&tuple, &n));
    CURSOR(list, 108, 0xff, 0xff, 0xff, 0xff, 106, 106);
    assert_false(etf_list(&list, &n));
    etf_init(&c, fun, sizeof fun);
    assert_false(etf_skip(&c));
}

static void old_tags_are_skipped(void **state)
{
    (void)state;
    CURSOR(c, 101, 119, 1, 'a', 0, 0, 0, 1, 2,                    /* REFERENCE */
           114, 0, 2, 119, 1, 'a', 3, 0, 0, 0, 1, 0, 0, 0, 2,     /* NEW_REFERENCE */
           90, 0, 1, 119, 1, 'a', 0, 0, 0, 3, 0, 0, 0, 1,         /* NEWER_REFERENCE */
           102, 119, 1, 'a', 0, 0, 0, 1, 2,                       /* PORT */
           89, 119, 1, 'a', 0, 0, 0, 1, 0, 0, 0, 2,               /* NEW_PORT */
           120, 119, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2); /* V4_PORT */
    for (int i = 0; i < 6; i++)
        assert_true(etf_skip(&c));
    assert_ptr_equal(c.p, c.end);
}

static void depth_costs_no_stack(void **state)
{
    const size_t n = 20u << 20;
    uint8_t *p = malloc(n);
    struct etf c;

    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i + 2 < n; i += 2) {
        p[i] = 104;
        p[i + 1] = 1;
    }
    p[n - 2] = 97;
    p[n - 1] = 1;
    etf_init(&c, p, n);
    assert_true(etf_skip(&c));
    assert_ptr_equal(c.p, c.end);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_terms_are_skipped_whole),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(mutations_stay_inside),
        cmocka_unit_test(integers),
        cmocka_unit_test(doubles),
        cmocka_unit_test(pids),
        cmocka_unit_test(strings_and_lists),
        cmocka_unit_test(atoms),
        cmocka_unit_test(lengths_are_not_believed),
        cmocka_unit_test(lengths_are_not_believed_by_readers),
        cmocka_unit_test(old_tags_are_skipped),
        cmocka_unit_test(depth_costs_no_stack),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
