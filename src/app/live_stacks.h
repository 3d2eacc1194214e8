/* Stack samples on the live screen: begins and ends the sampling as the operator wants, and passes
 * the samples to the flame graph. A part of app/live. Core thread.
 *
 * Invariant: nothing is sampled before the operator has chosen processes or a trigger has fired.
 * The sampling ends when the flame graph is left, unless the operator keeps it, or a trigger began
 * it. */
#ifndef KPROF_APP_LIVE_STACKS_H
#define KPROF_APP_LIVE_STACKS_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

struct live_stacks {
    struct stack_request request;
    bool chosen;  /* the operator has chosen processes, or a trigger took the default */
    bool stopped; /* the operator, or the end of a trigger, has switched sampling off */
    bool shown;   /* the flame graph is on the screen */
    bool trigger; /* a trigger has begun the sampling that is under way */
    uint64_t next_ns;
};

void live_stacks_init(struct live_stacks *p, const struct options *o);
/* Begins to sample because of a trigger: the chosen processes, else those with the most reductions.
 * False: stacks are sampled already. */
bool live_stacks_triggered(struct live_stacks *p, struct engine *g, struct ui *u);
/* Ends this sampling, unless the operator has ended it, or chosen what to sample. */
void live_stacks_trigger_over(struct live_stacks *p, struct engine *g);
/* Carries out INTENT_FLAME, INTENT_SAMPLING* and INTENT_FLAME_INSIDE. */
void live_stacks(struct live_stacks *p, struct engine *g, struct ui *u, const struct intent *in);
/* Gives the screen new samples, about once a second; ends the sampling if the screen was left.
 * True: the screen is out of date. node: its name, for the title. */
bool live_stacks_poll(struct live_stacks *p, struct engine *g, struct ui *u, const char *node);

#endif
