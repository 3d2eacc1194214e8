/* `--suggest`: prints the suggested preset as a profile. A part of app/main. Core thread. */
#ifndef KPROF_APP_SUGGEST_PRINT_H
#define KPROF_APP_SUGGEST_PRINT_H

#include "run.h"

/* Returns the exit status: 0, or 1 if there is no suggestion or the node does not answer; stderr
 * has the reason. */
int run_suggest(const struct options *o, const struct conn_target *t);

#endif
