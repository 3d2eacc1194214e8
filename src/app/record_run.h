/* --record with --trigger: keeps the newest events in memory, and writes them with those that
 * follow to a recording each time a trigger fires. Main thread. */
#ifndef KPROF_APP_RECORD_RUN_H
#define KPROF_APP_RECORD_RUN_H

#include "trigger.h"

/* Returns when the run ends. 0, or -1 with err. */
int record_run(const struct trigger_run *t, struct err *e);

#endif
