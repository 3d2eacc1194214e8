/* Writes settings as a profile: a config file of Erlang terms. One thread. */
#ifndef KPROF_CLI_PROFILE_SAVE_H
#define KPROF_CLI_PROFILE_SAVE_H

#include <kprof/base/buf.h>
#include <kprof/cli/options.h>

/* Appends the text of the profile. whole: with the settings that have their default, so that
 * loading it restores them all; else without them. */
void profile_save_text(const struct options *o, bool whole, struct buf *out);
/* Writes the file of the profile, as a whole. -1 with err; errno is EEXIST if the file exists and
 * `over` is false. */
int profile_save(const struct options *o, const char *name, bool over, struct err *e);

#endif
