/* Profiles: tiers, entry, identity rule and thresholds under a name. A profile is a file of Erlang
 * terms, as --config reads them, in $XDG_CONFIG_HOME/kprof-top (else ~/.config/kprof-top).
 *
 * Invariant: a name is 1 to 64 characters of A-Z a-z 0-9 . _ - and does not begin with a dot, so no
 * name points outside of the directory; files are 0600, the directory is 0700. One thread.
 * options_load reads a profile, this unit does not. */
#ifndef KPROF_CLI_PROFILE_H
#define KPROF_CLI_PROFILE_H

#include <kprof/base/err.h>
#include <kprof/cli/xdg_path.h>
#include <stddef.h>

#define PROFILE_NAME_BYTES 65
#define PROFILE_PATH_BYTES XDG_PATH_BYTES
#define PROFILES_MAX       64

typedef char profile_name[PROFILE_NAME_BYTES];

/* Stores the path of a profile, which need not exist; -1 with err: not a valid name, no home. */
int profile_path(const char *name, char path[PROFILE_PATH_BYTES], struct err *e);
/* Stores the path for the argument of -f: a file with that name, else the file of the profile with
 * that name, else the argument itself. */
void profile_find(const char *given, char path[PROFILE_PATH_BYTES]);
/* Stores the names of the profiles, at most PROFILES_MAX, in alphabetical order; returns their
 * number. */
size_t profile_list(profile_name *out);
#endif
