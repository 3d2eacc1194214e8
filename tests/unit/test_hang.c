/* Requests that are open for long: which process is polled, which polls count, what is shown. */
#include "core_fixture.h"

#include <core/state.h>

static void poll(struct fix *f, double ms, uint64_t request, unsigned status, const char *place)
{
    struct core_poll p = {
        .request = request, .ns = T0 + (uint64_t)(ms * 1e6), .status = (uint8_t)status};
    snprintf(p.place, sizeof p.place, "%s", place);
    core_hang(f->c, &p);
}

/* 30 requests of 1 ms, one each 10 ms; then one from 1000 that calls A in another process. */
static void hanging(struct fix *f)
{
    core_set_slow(f->c, 50 * MS);
    for (uint64_t i = 0; i < 30; i++) {
        call(f, 10 * (double)i, P1, 100 + i, E, M0);
        ret(f, 10 * (double)i + 1, P1, M0);
    }
    call(f, 1000, P1, 7, E, M0);
    call(f, 1001, P2, 7, A, M1);
}

static void only_what_is_open_for_long(void **state)
{
    (void)state;
    struct fix f = fix();
    struct core_hanging h[4];
    hanging(&f);
    until(&f, 1015);
    assert_int_equal(core_hanging(f.c, h, 4), 0); /* the minimum is 20 ms */
    until(&f, 1025);
    assert_int_equal(core_hanging(f.c, h, 4), 1);
    assert_int_equal(h[0].request, 7);
    assert_int_equal(h[0].pid, P2); /* the others wait for it */
    ret(&f, 1030, P2, M1);
    assert_int_equal(core_hanging(f.c, h, 4), 0); /* polled, and not a quarter older since then */
    until(&f, 1032);
    assert_int_equal(core_hanging(f.c, h, 4), 1);
    assert_int_equal(h[0].pid, P1);
    ret(&f, 1041, P1, M0);
    assert_int_equal(core_hanging(f.c, h, 4), 0);
    done(&f);
}

/* Requests of 1 to 100 ms. */
static void quantile_of_requests(void **state)
{
    (void)state;
    struct fix f = fix();
    uint64_t ns;
    assert_false(core_request_quantile(f.c, 0.5, false, 0, &ns));
    assert_int_equal(ns, 0);
    for (uint64_t i = 1; i <= 100; i++) {
        call(&f, 200 * (double)i, P1, 100 + i, E, M0);
        ret(&f, 200 * (double)i + (double)i, P1, M0);
    }
    until(&f, 30000);
    assert_false(core_request_quantile(f.c, 0.5, false, 101, &ns));
    assert_true(core_request_quantile(f.c, 0.5, false, 100, &ns));
    assert_in_range(ns, 49000000, 52000000);
    assert_true(core_request_quantile(f.c, 0.999, false, 100, &ns));
    assert_in_range(ns, 99000000, 102000000);
    assert_false(core_request_quantile(f.c, 0.5, true, 1, &ns)); /* none ended just now */
    call(&f, 30100, P1, 900, E, M0);
    ret(&f, 30107, P1, M0);
    until(&f, 30160);
    assert_true(core_request_quantile(f.c, 0.5, true, 1, &ns));
    assert_in_range(ns, 6900000, 7200000);
    done(&f);
}

/* A call that stands for 1000 is one call: one duration says little. */
static void quantile_of_one_sampled_request(void **state)
{
    (void)state;
    struct fix f = fix();
    struct event ev = call_ev(100, P1, 1, E, M0);
    uint64_t ns;
    ev.weight = 1000;
    feed(&f, ev);
    ret(&f, 105, P1, M0);
    until(&f, 5000);
    assert_false(core_request_quantile(f.c, 0.5, false, 2, &ns));
    assert_true(core_request_quantile(f.c, 0.5, false, 1, &ns));
    done(&f);
}

static void slower_than_most(void **state)
{
    (void)state;
    struct fix f = fix();
    struct core_hanging h[4];
    for (uint64_t i = 0; i < 30; i++) {
        call(&f, 100 * (double)i, P1, 100 + i, E, M0);
        ret(&f, 100 * (double)i + 80, P1, M0);
    }
    until(&f, 4000);
    call(&f, 5000, P1, 7, E, M0);
    until(&f, 5070);
    assert_int_equal(core_hanging(f.c, h, 4), 0);
    until(&f, 5090);
    assert_int_equal(core_hanging(f.c, h, 4), 1);
    done(&f);
}

/* Requests that are open for ever do not keep others from being polled, and are polled less. */
static void all_have_their_turn(void **state)
{
    (void)state;
    struct fix f = fix();
    struct core_hanging h[4];
    size_t polls[9] = {0}, all = 0;
    hanging(&f);
    for (uint64_t i = 1; i <= 8; i++)
        call(&f, 1001 + (double)i, P2 + i, 200 + i, E, M0);
    for (int ms = 1020; ms < 61020; ms += 50) {
        until(&f, ms);
        size_t n = core_hanging(f.c, h, 4);
        assert_true(n <= 4);
        for (size_t i = 0; i < n; i++)
            polls[h[i].request == 7 ? 0 : h[i].request - 200]++;
        all += n;
    }
    for (int i = 0; i < 9; i++)
        assert_in_range(polls[i], 10, 40); /* it is polled at 25 ms, then 31, 39 ... 60 s */
    assert_true(all < 9 * 40);
    done(&f);
}

static void few_requests_have_no_percentile(void **state)
{
    (void)state;
    struct fix f = fix();
    struct core_hanging h[4];
    call(&f, 0, P1, 7, E, M0);
    until(&f, 900);
    assert_int_equal(core_hanging(f.c, h, 4), 0);
    until(&f, 1100);
    assert_int_equal(core_hanging(f.c, h, 4), 1);
    done(&f);
}

static void places_are_of_the_request(void **state)
{
    (void)state;
    struct fix f = fix();
    hanging(&f);
    until(&f, 1100);
    for (int i = 0; i < 6; i++)
        poll(&f, 1030 + i, 7, 3, "db:wait/1 < db:query/2");
    poll(&f, 1040, 7, 1, "db:spin/0");
    poll(&f, 1041, 7, 1, "db:wait/1 < db:query/2"); /* another status: another place */
    poll(&f, 1042, 999, 1, "nobody:knows/0");
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->n_open, 2);
    assert_string_equal(s->open[0].place.text, "db:wait/1 < db:query/2");
    assert_string_equal(s->open[0].place.status, "waiting");
    expect_near(s->open[0].place.share, 6 / 8.0);
    snapshot_free(s);
    ret(&f, 1200, P2, M1);
    ret(&f, 1201, P1, M0);
    poll(&f, 1201.5, 7, 1, "too:late/0");
    poll(&f, 1190, 7, 1, "db:spin/0"); /* its answer came later */
    until(&f, 1300);
    poll(&f, 1195, 7, 1, "db:spin/0");
    poll(&f, 1250, 7, 1, "too:late/0");
    s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->n_slow, 1);
    assert_int_equal(s->slow[0].polls, 10);
    assert_int_equal(s->slow[0].n_places, 3);
    assert_string_equal(s->slow[0].places[0].text, "db:wait/1 < db:query/2");
    assert_string_equal(s->slow[0].places[1].text, "db:spin/0");
    expect_near(s->slow[0].places[1].share, 3 / 10.0);
    snapshot_free(s);
    core_zero(f.c);
    poll(&f, 1195, 7, 1, "db:spin/0");
    done(&f);
}

static void the_store_is_bounded(void **state)
{
    (void)state;
    struct fix f = fix();
    char place[CORE_PLACE_BYTES];
    for (uint64_t i = 0; i < 3 * (uint64_t)HANG_REQUESTS; i++) {
        call(&f, (double)i, P1, 100 + i, E, M0);
        poll(&f, (double)i + 0.1, 100 + i, 1, "m:f/0");
        ret(&f, (double)i + 0.2, P1, M0);
    }
    assert_int_equal(f.c->hangs.by_label.used, HANG_REQUESTS);
    call(&f, 5000, P1, 7, E, M0);
    for (int i = 0; i < 50; i++) {
        memset(place, 'x', sizeof place - 1);
        place[sizeof place - 1] = 0;
        place[0] = (char)('a' + i % 26);
        poll(&f, 5001, 7, 1, place);
    }
    until(&f, 5010);
    struct snapshot *s = core_snapshot(f.c, WINDOW_RUN, 0);
    assert_int_equal(s->open[0].age_us, 10000);
    assert_non_null(s->open[0].place.text);
    snapshot_free(s);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_open_for_long),
        cmocka_unit_test(quantile_of_requests),
        cmocka_unit_test(quantile_of_one_sampled_request),
        cmocka_unit_test(slower_than_most),
        cmocka_unit_test(all_have_their_turn),
        cmocka_unit_test(few_requests_have_no_percentile),
        cmocka_unit_test(places_are_of_the_request),
        cmocka_unit_test(the_store_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
