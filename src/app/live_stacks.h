/* Stack samples on the live screen: begins and ends the sampling as the operator wants, gives the
 * samples to the flame graph. A part of app/live. Core thread.
 *
 * Invariant: nothing is sampled before the operator has chosen processes. The sampling ends when
 * the flame graph is left, unless the operator keeps it. */
#ifndef KPROF_APP_LIVE_STACKS_H
#define KPROF_APP_LIVE_STACKS_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

struct live_stacks {
    struct stack_request request;
    bool chosen;  /* the operator has chosen processes */
    bool stopped; /* the operator has switched the sampling off */
    bool shown;   /* the flame graph is on the screen */
    uint64_t next_ns;
};

void live_stacks_init(struct live_stacks *p, const struct options *o);
/* Carries out INTENT_FLAME, INTENT_SAMPLING* and INTENT_FLAME_INSIDE. */
void live_stacks(struct live_stacks *p, struct engine *g, struct ui *u, const struct intent *in);
/* Gives the screen new samples, about once a second; ends the sampling if the screen was left.
 * True: the screen is out of date. node: its name, for the title. */
bool live_stacks_poll(struct live_stacks *p, struct engine *g, struct ui *u, const char *node);

#endif
