/* The trigger of the live screen: how it is set and ended, and what happens when its time is over.
 * */
#include "live_fixture.h"

#define SECOND UINT64_C(1000000000)

static void a_condition_is_typed(void **state)
{
    struct run *r = *state;

    press(r, "!");
    assert_true(picture_has(&r->c, "When a condition holds"));
    assert_false(picture_has(&r->c, "remove the trigger"));
    press(r, "<Enter>node.run_queue<Enter>");
    assert_true(picture_has(&r->c, "Sample stacks when"));
    assert_true(picture_has(&r->c, "it has no comparison"));
    assert_false(picture_has(&r->c, "--trigger"));
    assert_int_equal(r->t.what, LIVE_TRIGGER_NONE);
    press(r, ">50<Enter>");
    assert_int_equal(r->t.what, LIVE_TRIGGER_SAMPLE);
    assert_true(picture_has(&r->c, "trigger set: node.run_queue>50"));
    assert_int_equal(now(r).state, SAMPLING_NONE); /* it has not fired */
    press(r, "!<End><Enter>");
    assert_int_equal(r->t.what, LIVE_TRIGGER_NONE);
    assert_true(picture_has(&r->c, "the trigger was removed"));
}

static void what_can_never_hold_is_refused(void **state)
{
    struct run *r = *state;

    press(r, "!<Enter>web.p99>5ms<Enter>");
    assert_true(picture_has(&r->c, "no tier has this name"));
    press(r, "<Esc>!<Down><Enter>db.p99>+10%<Enter>");
    assert_true(picture_has(&r->c, "a trigger has no baseline"));
    assert_true(picture_has(&r->c, "Record when"));
    assert_int_equal(r->t.what, LIVE_TRIGGER_NONE);
}

/* A typing error must not remove the present trigger. */
static void what_is_refused_changes_nothing(void **state)
{
    struct run *r = *state;

    press(r, "!<Enter>node.run_queue>50<Enter>");
    press(r, "!<Down><Enter>web.p99>5ms<Enter>");
    assert_true(picture_has(&r->c, "no tier has this name"));
    press(r, "<Esc>");
    assert_int_equal(r->t.what, LIVE_TRIGGER_SAMPLE);
    assert_string_equal(r->t.condition.text, "node.run_queue>50");
    press(r, "!<Down><Enter>node.run_queue>60<Enter>");
    assert_int_equal(r->t.what, LIVE_TRIGGER_RECORD);
    assert_string_equal(r->t.condition.text, "node.run_queue>60");
}

static void a_queue_is_watched_until_the_end(void **state)
{
    struct run *r = *state;
    struct snapshot *s;

    press(r, "!<Down><Enter>queue(MyApp.Server)>1000<Enter>");
    assert_int_equal(r->t.what, LIVE_TRIGGER_RECORD);
    s = engine_snapshot(r->g, WINDOW_1S, false);
    assert_int_equal(s->node.n_queues, 1);
    assert_string_equal(s->node.queue[0].name, "Elixir.MyApp.Server");
    assert_int_equal(s->node.queue[0].length, -1);
    snapshot_free(s);
    press(r, "!<End><Enter>");
    s = engine_snapshot(r->g, WINDOW_1S, false);
    assert_int_equal(s->node.n_queues, 0);
    snapshot_free(s);
}

/* As live_trigger_poll does when the condition holds. */
static void fires(struct run *r, uint64_t until_ns)
{
    assert_true(live_stacks_triggered(&r->p, r->g, r->u));
    r->t.state = LIVE_TRIGGER_FIRED;
    r->t.until_ns = until_ns;
}

static void sampling_ends_after_its_time(void **state)
{
    struct run *r = *state;

    press(r, "!<Enter>node.run_queue>50<Enter>");
    fires(r, 30 * SECOND);
    assert_string_equal(now(r).who, "top:100:reductions");
    press(r, "F");
    assert_false(picture_has(&r->c, "Sample the stacks of"));
    press(r, "<Esc>"); /* to look at the samples does not end it */
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 29 * SECOND);
    assert_int_equal(now(r).state, SAMPLING_NO_NODE);
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 30 * SECOND);
    assert_int_equal(now(r).state, SAMPLING_OFF);
    assert_int_equal(r->t.state, LIVE_TRIGGER_RESTS);
    press(r, "F"); /* shows the samples; sampling does not start again */
    assert_int_equal(now(r).state, SAMPLING_OFF);
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 89 * SECOND);
    assert_int_equal(r->t.state, LIVE_TRIGGER_RESTS);
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 91 * SECOND);
    assert_int_equal(r->t.state, LIVE_TRIGGER_WAITS);
}

static void what_the_operator_samples_goes_on(void **state)
{
    struct run *r = *state;

    press(r, "!<Enter>node.run_queue>50<Enter>");
    press(r, "F<Enter>K<Esc>");
    assert_false(live_stacks_triggered(&r->p, r->g, r->u));
    r->t.state = LIVE_TRIGGER_FIRED;
    r->t.until_ns = 30 * SECOND;
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 31 * SECOND);
    assert_int_equal(now(r).state, SAMPLING_NO_NODE);
}

static void the_end_of_the_trigger_ends_its_sampling(void **state)
{
    struct run *r = *state;

    press(r, "!<Enter>node.run_queue>50<Enter>");
    fires(r, 30 * SECOND);
    press(r, "!<End><Enter>");
    assert_int_equal(now(r).state, SAMPLING_OFF);
}

static void a_trigger_ends_with_its_tier(void **state)
{
    static const struct tier_spec db = {.name = "db", .mfa = "my_db:query/2"};
    struct run *r = *state;
    struct err e;

    assert_int_equal(engine_tier_add(r->g, &db, &e), 0);
    uint16_t tier = (uint16_t)(engine_tiers(r->g)->n - 1);
    press(r, "!<Enter>db.p99>5ms<Enter>");
    live_trigger_poll(&r->t, r->g, r->u, &r->p, SECOND);
    assert_int_equal(r->t.what, LIVE_TRIGGER_SAMPLE);
    fires(r, 30 * SECOND);
    assert_int_equal(engine_tier_remove(r->g, tier, &e), 0);
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 20 * SECOND);
    assert_int_equal(r->t.what, LIVE_TRIGGER_SAMPLE); /* the sampling takes its time */
    assert_int_equal(now(r).state, SAMPLING_NO_NODE);
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 30 * SECOND);
    assert_int_equal(now(r).state, SAMPLING_OFF);
    live_trigger_poll(&r->t, r->g, r->u, &r->p, 31 * SECOND);
    assert_int_equal(r->t.what, LIVE_TRIGGER_NONE);
    ui_draw(r->u, &r->c, NULL);
    assert_true(picture_has(&r->c, "trigger db.p99>5ms was removed, as its tier was"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_condition_is_typed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_can_never_hold_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_refused_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_queue_is_watched_until_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(sampling_ends_after_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_operator_samples_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_the_trigger_ends_its_sampling, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trigger_ends_with_its_tier, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
