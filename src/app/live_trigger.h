/* The trigger that the operator has set on the live screen: when its condition holds, stacks are
 * sampled, or a recording is written, for a time; then it waits a minute, and is ready again. A
 * part of app/live. Core thread.
 *
 * Invariant: at most one trigger, on a tier that is traced; it ends within two seconds of its tier,
 * but what it has begun takes its time. The sampling that it started ends after that time, or when
 * the trigger is removed; sampling that the operator started continues. */
#ifndef KPROF_APP_LIVE_TRIGGER_H
#define KPROF_APP_LIVE_TRIGGER_H

#include "live_stacks.h"
#include "trigger.h"

enum live_trigger_what { LIVE_TRIGGER_NONE, LIVE_TRIGGER_SAMPLE, LIVE_TRIGGER_RECORD };
enum live_trigger_state { LIVE_TRIGGER_WAITS, LIVE_TRIGGER_FIRED, LIVE_TRIGGER_RESTS };

struct live_trigger { /* zeros: none */
    enum live_trigger_what what;
    enum live_trigger_state state;
    struct assertion condition;
    uint64_t next_ns;  /* when its state can change; local clock */
    uint64_t until_ns; /* of the present state; 0: until the condition holds */
    uint64_t fired;    /* how often */
};

/* Carries out INTENT_TRIGGER_*. */
void live_trigger(struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p,
                  const struct intent *in);
/* now_ns: local clock. True: the screen is out of date. */
bool live_trigger_poll(struct live_trigger *t, struct engine *g, struct ui *u,
                       struct live_stacks *p, uint64_t now_ns);

#endif
