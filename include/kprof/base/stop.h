/* The operator's request to stop: SIGINT, SIGTERM or SIGHUP.
 *
 * Invariant: a requested stop stays requested. Only main calls stop_on_signals, once, before other
 * threads start; any thread may call stop_asked. */
#ifndef KPROF_BASE_STOP_H
#define KPROF_BASE_STOP_H

#include <stdbool.h>

void stop_on_signals(void); /* also makes the process ignore SIGPIPE */
bool stop_asked(void);

#endif
