/* Options about reports: what is in them, and where they are written. A part of options_parse.
 *
 * After options_profile_check, which may set `batch`. given: by index in the table of options, the
 * options of the command line. -1 with err: one of them would have no effect. */
#ifndef KPROF_CLI_OPTIONS_REPORT_H
#define KPROF_CLI_OPTIONS_REPORT_H

#include "options_set.h"

int options_report_check(const struct options *o, const bool given[OPTIONS_DEFS_MAX],
                         struct err *e);

#endif
