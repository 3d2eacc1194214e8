/* Profiles: tiers, entry, identity rule and thresholds under a name, as the Erlang terms that
 * --config reads, in $XDG_CONFIG_HOME/kprof-top (else ~/.config/kprof-top).
 *
 * Invariant: a name is 1 to 64 of A-Z a-z 0-9 . _ - and begins with no dot, so no name leads out of
 * the directory; files are 0600, the directory 0700. One thread. Does not read a profile: that is
 * options_load. */
#ifndef KPROF_CLI_PROFILE_H
#define KPROF_CLI_PROFILE_H

#include <kprof/base/err.h>
#include <kprof/cli/xdg_path.h>
#include <stddef.h>

#define PROFILE_NAME_BYTES 65
#define PROFILE_PATH_BYTES XDG_PATH_BYTES
#define PROFILES_MAX       64

typedef char profile_name[PROFILE_NAME_BYTES];

/* The file of a profile, whether it is there or not; -1 with err: not a name, no home. */
int profile_path(const char *name, char path[PROFILE_PATH_BYTES], struct err *e);
/* What -f means: a file of that name, else a profile of that name (the path of it), else what was
 * given. */
void profile_find(const char *given, char path[PROFILE_PATH_BYTES]);
/* Their names, in alphabetical order, at most PROFILES_MAX; returns how many. */
size_t profile_list(profile_name *out);
#endif
