/* How much of this machine is in use, from /proc/stat (proc(5)): all cores, all processes.
 *
 * Invariant: values are of the time between two readings. Time that a hypervisor gave to others
 * ("steal") counts as in use. One thread per struct. */
#ifndef KPROF_BASE_MACHINE_USE_H
#define KPROF_BASE_MACHINE_USE_H

#include <stdint.h>

struct machine_use {
    uint64_t all, idle; /* ticks since the machine started; 0: not read yet */
};

/* Returns the part of all cores that was in use since the last call, 0..1; NAN: the first call, no
 * time has passed, or the file cannot be read. */
double machine_use_since(struct machine_use *u);
/* The same from the text of the file. */
double machine_use_of(struct machine_use *u, const char *text);

#endif
