/* Writes settings as a profile: a config file of Erlang terms, in which what is at its default is
 * left out. One thread. */
#ifndef KPROF_CLI_PROFILE_SAVE_H
#define KPROF_CLI_PROFILE_SAVE_H

#include <kprof/cli/options.h>

/* As a file; errno EEXIST when there is one and not `over`. -1 with err. */
int profile_save(const struct options *o, const char *name, bool over, struct err *e);

#endif
