/* The agent's module, renamed to a slot: `kprof_agent_00`, and the names that its processes
 * register (kprof_controller_00, ...), become those of slot NN in a copy of the beam, so that two
 * kprof-tops on one node do not unload each other's code, and only a few hundred atoms are ever
 * made.
 *
 * Invariant: the copy differs from the embedded bytes in the slot digits of its atom chunk only.
 * Pure; any thread. */
#ifndef KPROF_TRACE_AGENT_H
#define KPROF_TRACE_AGENT_H

#include <stddef.h>
#include <stdint.h>

#define AGENT_SLOTS 100

struct agent_module {
    char name[64];
    char digits[3]; /* of the slot */
    uint8_t *bytes; /* owned */
    size_t len;
};

/* slot < AGENT_SLOTS. */
void agent_module_make(unsigned slot, struct agent_module *m);
void agent_module_release(struct agent_module *m);
/* The embedded sample node's module; NULL when the build has none. */
const uint8_t *agent_sample(size_t *len);

#endif
