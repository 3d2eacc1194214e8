#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "real_terms.h"

#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Sends the bytes to a real erl, which prints the term. */
static char *as_erl_reads(const struct buf *b)
{
    char path[] = "/tmp/kprof_enc_XXXXXX", *text;
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
    fclose(f);
    setenv("KPROF_TERM", path, 1);
    text = real_erl("{ok,B} = file:read_file(os:getenv(\"KPROF_TERM\")),"
                    "io:setopts([{encoding,unicode}]),"
                    "io:format(\"~0tp\",[binary_to_term(B)])");
    remove(path);
    return text;
}

static void erl_reads_what_we_write(void **state)
{
    static const int64_t signed_values[] = {0,          1,           255,       256,
                                            -1,         -256,        INT32_MAX, INT32_MIN,
                                            2147483648, -2147483649, INT64_MAX, INT64_MIN};
    static const uint64_t unsigned_values[] = {0, 255, 256, INT32_MAX, 2147483648u, UINT64_MAX};
    const size_t signed_n = sizeof signed_values / sizeof *signed_values;
    const size_t unsigned_n = sizeof unsigned_values / sizeof *unsigned_values;
    char long_atom[255 * 4 + 1];
    struct buf b, want;
    char *got;

    (void)state;
    for (size_t i = 0; i < 255; i++)
        memcpy(long_atom + 4 * i, "\xf0\x9f\x98\x80", 4);
    long_atom[sizeof long_atom - 1] = 0;
    buf_init(&b, 0);
    buf_init(&want, 0);
    enc_version(&b);
    enc_tuple(&b, 7);
    buf_adds(&want, "{[");
    enc_list(&b, (uint32_t)(signed_n + unsigned_n));
    for (size_t i = 0; i < signed_n; i++) {
        enc_i64(&b, signed_values[i]);
        buf_addf(&want, i == 0 ? "%lld" : ",%lld", (long long)signed_values[i]);
    }
    for (size_t i = 0; i < unsigned_n; i++) {
        enc_u64(&b, unsigned_values[i]);
        buf_addf(&want, ",%llu", (unsigned long long)unsigned_values[i]);
    }
    enc_nil(&b);
    enc_atom(&b, "plain");
    enc_atom(&b, "A b");
    enc_atom(&b, long_atom);
    enc_str(&b, "text");
    enc_binary(&b, "\0\1", 2);
    enc_map(&b, 1);
    enc_tuple(&b, 0);
    enc_nil(&b);
    buf_addf(&want, "],plain,'A b','%s',<<\"text\">>,<<0,1>>,#{{} => []}}", long_atom);

    got = as_erl_reads(&b);
    assert_string_equal(got, want.data);
    free(got);
    buf_release(&b);
    buf_release(&want);
}

static void numbers_come_back(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct buf b;

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    buf_init(&b, 0);
    for (int i = 0; i < 200000; i++) {
        uint64_t u = ((uint64_t)rand() << 62 ^ (uint64_t)rand() << 31 ^ (uint64_t)rand()) >>
                     (rand() % 64),
                 back_u;
        int64_t v = (int64_t)u, back_v;
        struct etf c;

        buf_clear(&b);
        enc_u64(&b, u);
        enc_i64(&b, v);
        etf_init(&c, b.data, b.len);
        assert_true(etf_u64(&c, &back_u) && back_u == u);
        assert_true(etf_i64(&c, &back_v) && back_v == v);
        assert_ptr_equal(c.p, c.end);
    }
    buf_release(&b);
}

static void large_tuples(void **state)
{
    struct buf b;
    uint32_t n;

    (void)state;
    buf_init(&b, 0);
    enc_tuple(&b, 70000);
    for (int i = 0; i < 70000; i++)
        enc_nil(&b);
    struct etf c;
    etf_init(&c, b.data, b.len);
    assert_true(etf_tuple(&c, &n) && n == 70000);
    etf_init(&c, b.data, b.len);
    assert_true(etf_skip(&c) && c.p == c.end);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erl_reads_what_we_write),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(large_tuples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
