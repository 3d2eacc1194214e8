/* The names of this machine, as Erlang would use them in a node name. Any thread. */
#ifndef KPROF_ERL_THIS_HOST_H
#define KPROF_ERL_THIS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#define THIS_HOST_BYTES 256

/* Without a domain; "localhost" if this machine has no usable name. */
void this_host_short(char out[THIS_HOST_BYTES]);
/* With its domain, which may need a look-up. False: none was found before the deadline
 * (clock_mono_ns). */
bool this_host_full(char out[THIS_HOST_BYTES], uint64_t deadline_ns);
/* Reports whether host is a name of this machine, without a look-up. */
bool this_host_is(const char *host);

#endif
