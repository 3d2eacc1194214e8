/* Which options go together with --profile. A part of options_parse.
 *
 * Invariant: after 0, what is sampled, when, and into which files is complete and consistent, and
 * `batch` is set. given: by index in the table of options, the options of the command line. -1 with
 * err. */
#ifndef KPROF_CLI_OPTIONS_PROFILE_H
#define KPROF_CLI_OPTIONS_PROFILE_H

#include "options_set.h"

int options_profile_check(struct options *o, const bool given[OPTIONS_DEFS_MAX], struct err *e);

#endif
