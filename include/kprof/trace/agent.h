/* The agent's modules, renamed to a slot: kprof_agent_00, and kprof_tools_00, which is loaded when
 * it is first needed. In a copy of the beam, the names of both modules and the names that their
 * processes register (kprof_controller_00, ...) get the digits of slot NN instead of 00. Two
 * kprof-tops on one node therefore do not unload each other's code, and all slots together create
 * only a few hundred atoms.
 *
 * Invariant: the copy differs from the embedded bytes only in the slot digits of its atom chunk.
 * Pure; any thread. */
#ifndef KPROF_TRACE_AGENT_H
#define KPROF_TRACE_AGENT_H

#include <stddef.h>
#include <stdint.h>

#define AGENT_SLOTS 100

struct agent_module {
    char name[64];
    char digits[3]; /* digits of the slot */
    uint8_t *bytes; /* owned */
    size_t len;
};

enum agent_part { AGENT_MAIN, AGENT_TOOLS };

/* slot < AGENT_SLOTS. */
void agent_module_make(enum agent_part part, unsigned slot, struct agent_module *m);
void agent_module_release(struct agent_module *m);
/* The embedded sample node's module; NULL when the build has none. */
const uint8_t *agent_sample(size_t *len);

#endif
