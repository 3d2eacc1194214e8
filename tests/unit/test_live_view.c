/* Snapshots of the live screen while it is paused; a real engine without a node. */
#include "live_fixture.h"

#include <app/live_impl.h>
#include <engine/state.h>

static void paused_the_header_is_about_the_present(void **state)
{
    struct run *r = *state;
    struct live l = {.g = r->g, .ui = r->u, .query.window = WINDOW_10S};

    r->g->state = ENGINE_UP;
    r->g->tracing = true;
    live_refresh(&l);
    ui_draw(l.ui, &r->c, l.snap);
    assert_true(picture_has(&r->c, "TRACING ON"));
    ui_key(l.ui, 'p', l.snap);
    const struct snapshot *paused = l.snap;
    uint64_t wall_ns = l.snap->wall_ns;

    r->g->tracing = false;
    l.dirty = false;
    live_refresh(&l);
    assert_true(l.dirty);
    ui_draw(l.ui, &r->c, l.snap);
    assert_true(picture_has(&r->c, "TRACING OFF") && picture_has(&r->c, "PAUSED"));

    r->g->state = ENGINE_LOST;
    live_refresh(&l);
    ui_draw(l.ui, &r->c, l.snap);
    assert_false(l.snap->node.connected);
    assert_non_null(strstr(l.snap->node.state, "CONNECTION LOST"));

    r->g->state = ENGINE_UP; /* and it is back */
    live_refresh(&l);
    assert_true(l.snap->node.connected);
    assert_string_equal(l.snap->node.state, "");
    assert_ptr_equal(l.snap, paused);
    assert_int_equal(l.snap->wall_ns, wall_ns);
    snapshot_free(l.snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paused_the_header_is_about_the_present, setup, teardown),
    };
    return cmocka_run_group_tests_name("live view", tests, NULL, NULL);
}
