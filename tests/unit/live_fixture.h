/* A live screen with its stack sampling and trigger, and a real engine that has not reached its
 * node yet. */
#ifndef KPROF_TEST_LIVE_FIXTURE_H
#define KPROF_TEST_LIVE_FIXTURE_H

#include <app/live_trigger.h>
#include <ui_script.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct engine *g;
    struct ui *u;
    struct canvas c;
    struct live_stacks p;
    struct live_trigger t;
    struct settings settings;
};

static inline int setup(void **state)
{
    static const struct engine_hooks hooks;
    const struct options o = {.sample_interval_ns = 9000000};
    struct run *r = calloc(1, sizeof *r);
    struct err e;

    assert_non_null(r);
    r->settings.history = true;
    r->g = engine_new(&r->settings, &hooks, &e);
    assert_non_null(r->g);
    live_stacks_init(&r->p, &o);
    script_begin(&r->u, &r->c, false);
    *state = r;
    return 0;
}

static inline int teardown(void **state)
{
    struct run *r = *state;

    script_end(r->u, &r->c, NULL);
    engine_free(r->g);
    free(r);
    return 0;
}

/* Keys, each with what app does after it. */
static inline void press(struct run *r, const char *script)
{
    while (*script) {
        int key = script_key(&script);
        struct intent in = ui_key(r->u, key, NULL);
        if (in.kind >= INTENT_TRIGGER_SAMPLE && in.kind <= INTENT_TRIGGER_END)
            live_trigger(&r->t, r->g, r->u, &r->p, &in);
        else if (in.kind >= INTENT_FLAME && in.kind <= INTENT_FLAME_INSIDE)
            live_stacks(&r->p, r->g, r->u, &in);
        live_stacks_poll(&r->p, r->g, r->u, "app@host");
        ui_draw(r->u, &r->c, NULL);
    }
}

static inline struct snap_sampling now(const struct run *r)
{
    struct snap_sampling s;
    engine_sampling(r->g, &s);
    return s;
}

#endif
