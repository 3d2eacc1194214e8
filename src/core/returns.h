/* Takes calls off the stacks: when they return, when an exception ends them, and when a later event
 * shows that they have ended. Private to core.
 *
 * Lean returns name only the function to which a process returns, and only if a traced call has
 * ended. So this unit decides which calls these are: kprof(1), CAVEATS, says what it cannot know.
 * Invariant: a call that is still on the stack of the VM may be taken off too early only in the
 * cases named there; no event takes more than the calls above its target. One thread. */
#ifndef KPROF_CORE_RETURNS_H
#define KPROF_CORE_RETURNS_H

#include "calls.h"
#include "finalize.h"

struct core;
struct event;

/* Takes the innermost call off; or all down to `at`. The caller trims p. */
void returns_pop(struct core *c, struct proc *p, uint64_t ts, enum call_end how);
void returns_pop_through(struct core *c, struct proc *p, uint32_t at, uint64_t ts,
                         enum call_end how);
void returns_to(struct core *c, const struct event *ev); /* EVENT_RETURN_TO */
void returns_of(struct core *c, const struct event *ev); /* EVENT_RETURN, EVENT_EXCEPTION */
/* Call this before a call is put on the stack of p: the call may show that earlier ones have ended.
 * Returns p, or NULL if its stack is empty now. */
struct proc *returns_before_call(struct core *c, const struct event *ev, struct proc *p);
uint64_t returns_function_bit(uint32_t fn); /* of `returned` in struct proc */

#endif
