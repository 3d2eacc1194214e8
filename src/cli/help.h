/* The text of --help: at most 80 columns, ends with a newline. Any thread. */
#ifndef KPROF_CLI_HELP_H
#define KPROF_CLI_HELP_H

struct buf;

void help_add(struct buf *out); /* appends it */

#endif
