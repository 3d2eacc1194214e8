/* When stacks are sampled on the live screen: as the operator has chosen, and only while the flame
 * graph is shown, unless K keeps the sampling on. */
#include "live_fixture.h"

#define assert_sampled(r, text)                                                                    \
    do {                                                                                           \
        assert_int_equal(now(r).state, SAMPLING_NO_NODE);                                          \
        assert_string_equal(now(r).who, text);                                                     \
    } while (0)
#define assert_off(r) assert_int_equal(now(r).state, SAMPLING_OFF)

static void nothing_is_sampled_before_a_choice(void **state)
{
    struct run *r = *state;

    press(r, "F");
    assert_true(picture_has(&r->c, "Sample the stacks of"));
    assert_int_equal(now(r).state, SAMPLING_NONE);
    press(r, "<Esc>");
    assert_true(picture_has(&r->c, "nothing is sampled. w chooses the processes"));
    press(r, "t"); /* there is nothing yet that could be switched on */
    assert_true(picture_has(&r->c, "Sample the stacks of"));
    press(r, "<Enter>");
    assert_sampled(r, "top:100:reductions");
    assert_true(picture_has(&r->c, "WAITING for the node"));
}

static void it_ends_when_the_screen_is_left(void **state)
{
    struct run *r = *state;

    press(r, "F<Enter>");
    press(r, "?");
    assert_sampled(r, "top:100:reductions"); /* the help is part of the flame graph */
    press(r, "q<Esc>");
    assert_off(r);
    assert_true(picture_has(&r->c, "stack sampling has ended; F resumes it"));
    press(r, "F"); /* with the same processes, without a question */
    assert_sampled(r, "top:100:reductions");
    assert_false(picture_has(&r->c, "Sample the stacks of"));
}

static void it_is_kept(void **state)
{
    struct run *r = *state;

    press(r, "F<Enter>K<Esc>M");
    assert_sampled(r, "top:100:reductions");
    press(r, "K");
    assert_off(r);
    assert_true(picture_has(&r->c, "stack sampling has ended; F shows the samples"));
    press(r, "K");
    assert_true(picture_has(&r->c, "no stacks are sampled"));
}

static void what_was_switched_off_stays_off(void **state)
{
    struct run *r = *state;

    press(r, "F<Enter>t");
    assert_off(r);
    press(r, "<Esc>F");
    assert_off(r);
    assert_true(picture_has(&r->c, "OFF (t: on)"));
    press(r, "t");
    assert_sampled(r, "top:100:reductions");
    press(r, "t");
    press(r, "w<Down><Enter>"); /* another choice begins */
    assert_sampled(r, "top:100:memory");
}

static void a_choice_is_typed(void **state)
{
    struct run *r = *state;

    press(r, "F<End><Enter>top:0<Enter>");
    assert_int_equal(now(r).state, SAMPLING_NONE);
    assert_true(picture_has(&r->c, "top takes a number from 1 to 1000"));
    press(r, "<BS>7:queue<Enter>");
    assert_sampled(r, "top:7:queue");
}

static void the_rate_has_limits(void **state)
{
    struct run *r = *state;

    press(r, "F<Enter>");
    assert_int_equal(r->p.request.interval_us, 9000);
    press(r, "+++");
    assert_int_equal(r->p.request.interval_us, 1125);
    press(r, "+");
    assert_int_equal(r->p.request.interval_us, 1125);
    assert_true(picture_has(&r->c, "this is the highest sampling rate"));
    press(r, "--------------------");
    assert_int_equal(r->p.request.interval_us, 9216000);
    assert_true(picture_has(&r->c, "this is the lowest sampling rate"));
    assert_sampled(r, "top:100:reductions");
}

/* There are no samples inside the marked requests: the operator is asked whether to sample, and
 * sampling continues on the heat map. */
static void samples_inside_requests_are_offered(void **state)
{
    struct run *r = *state;
    struct intent in = {.kind = INTENT_FLAME_INSIDE, .text = "of 50ms or longer"};

    live_stacks(&r->p, r->g, r->u, &in);
    press(r, "n");
    assert_int_equal(now(r).state, SAMPLING_NONE);
    assert_false(ui_keeps_sampling(r->u));
    live_stacks(&r->p, r->g, r->u, &in);
    ui_draw(r->u, &r->c, NULL);
    assert_true(picture_has(&r->c, "No stack samples inside these requests. Sample inside"));
    press(r, "y");
    assert_sampled(r, "inside");
    assert_true(ui_keeps_sampling(r->u));
    assert_true(picture_has(&r->c, "sampling has started"));
    live_stacks(&r->p, r->g, r->u, &in); /* not asked again: it is on */
    ui_draw(r->u, &r->c, NULL);
    assert_true(
        picture_has(&r->c, "no stack samples inside these requests so far; mark newer ones"));
    press(r, "F<Esc>");
    assert_sampled(r, "inside");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_sampled_before_a_choice, setup, teardown),
        cmocka_unit_test_setup_teardown(it_ends_when_the_screen_is_left, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_switched_off_stays_off, setup, teardown),
        cmocka_unit_test_setup_teardown(a_choice_is_typed, setup, teardown),
        cmocka_unit_test_setup_teardown(the_rate_has_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(samples_inside_requests_are_offered, setup, teardown),
    };
    return cmocka_run_group_tests_name("live_stacks", tests, NULL, NULL);
}
