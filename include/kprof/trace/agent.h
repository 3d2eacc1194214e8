/* The agent's modules, renamed to a slot: `kprof_keeper_00` becomes `kprof_keeper_NN` in a copy of
 * the beam, so that two kprof-tops on one node do not unload each other's code, and only a hundred
 * atoms are ever made.
 *
 * Invariant: the copy differs from the embedded bytes in the slot digits of its atom chunk only.
 * Pure; any thread. */
#ifndef KPROF_TRACE_AGENT_H
#define KPROF_TRACE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_module {
    char name[64];
    uint8_t *bytes; /* owned */
    size_t len;
};

#define AGENT_MODULES_MAX 24
#define AGENT_SLOTS       100

/* How many of the agent's modules; fills out[0..n). The keeper is the last: while it is loaded the
 * slot is taken, so it has to be unloaded after the others. */
size_t agent_modules(unsigned slot, struct agent_module out[AGENT_MODULES_MAX]);
void agent_modules_release(struct agent_module *m, size_t n);
/* The embedded sample node's module; NULL when the build has none. */
const uint8_t *agent_sample(size_t *len);

#endif
