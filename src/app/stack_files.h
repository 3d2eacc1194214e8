/* The files that --profile writes: their names, and how many of them are kept.
 *
 * Invariant: %t in the name that the operator gave is the local time of this machine; nothing from
 * the node is in a name. Only files that this value has written are deleted. One thread. */
#ifndef KPROF_APP_STACK_FILES_H
#define KPROF_APP_STACK_FILES_H

#include <kprof/base/err.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_FILES_PATH_BYTES 4096

struct stack_files {
    const char *pattern; /* borrowed */
    uint64_t most;       /* so many are kept; 0: all */
    uint64_t written;    /* number of files so far */
    char **kept;         /* owned: names of the newest `most`, round robin; NULL: most is 0 */
};

void stack_files_init(struct stack_files *f, const char *pattern, uint64_t most);
void stack_files_release(struct stack_files *f);
/* Writes the name at the wall clock to path; attempt 1, 2, ...: another one, because the name
 * before is in use. Returns 0, or -1 with err: too long. */
int stack_files_name(const struct stack_files *f, uint64_t wall_ns, unsigned attempt,
                     char path[STACK_FILES_PATH_BYTES], struct err *e);
/* The file was written: deletes the oldest one if there are too many now. */
void stack_files_written(struct stack_files *f, const char *path);

#endif
