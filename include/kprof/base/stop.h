/* Has the operator asked us to stop? Set by SIGINT, SIGTERM and SIGHUP.
 *
 * Invariant: once it is asked it stays asked. stop_on_signals is for main, once, before threads
 * begin; stop_asked is for any thread. */
#ifndef KPROF_BASE_STOP_H
#define KPROF_BASE_STOP_H

#include <stdbool.h>

void stop_on_signals(void); /* SIGPIPE is ignored from then on, too */
bool stop_asked(void);

#endif
