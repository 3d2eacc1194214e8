/* What is missing in the stack samples of a node, as a text for their pages and for the operator.
 * Pure; any thread. */
#ifndef KPROF_APP_STACK_NOTE_H
#define KPROF_APP_STACK_NOTE_H

#include <kprof/core/snapshot.h>

#define STACK_NOTE_BYTES 400

/* According to the node; "": nothing is known to be missing. */
void stack_note(const struct snap_sampling *s, char out[STACK_NOTE_BYTES]);
/* The processes that are not sampled because of a fault of the VM; "": none. */
void stack_note_held(const struct snap_sampling *s, char out[STACK_NOTE_BYTES]);
/* Why there is no sample at all, and what to do. initial_call: processes were chosen by it. */
void stack_note_none(const struct snap_sampling *s, bool initial_call, char out[STACK_NOTE_BYTES]);

#endif
