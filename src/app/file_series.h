/* The files of a run that writes several: their names, and how many of them are kept.
 *
 * Invariant: %t in the name that the operator gave is the local time of this machine; nothing from
 * the node is in a name. Only files that this value has written are deleted. One thread. */
#ifndef KPROF_APP_FILE_SERIES_H
#define KPROF_APP_FILE_SERIES_H

#include <kprof/base/err.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_SERIES_PATH_BYTES 4096

struct file_series {
    const char *pattern; /* borrowed */
    uint64_t most;       /* this many are kept; 0: all */
    uint64_t written;    /* number of files so far */
    char **kept;         /* owned: names of the newest `most`, round robin; NULL: most is 0 */
};

void file_series_init(struct file_series *f, const char *pattern, uint64_t most);
void file_series_release(struct file_series *f);
/* Writes the name for this wall clock time to path; attempt 1, 2, ...: another name, because the
 * previous one is in use. Returns 0, or -1 with err: too long. */
int file_series_name(const struct file_series *f, uint64_t wall_ns, unsigned attempt,
                     char path[FILE_SERIES_PATH_BYTES], struct err *e);
/* Makes the file of a path: 0, or -1 with err; errno is EEXIST: another name is to be tried. */
typedef int file_series_create(void *arg, const char *path, struct err *e);
/* Makes the next file, of the present time, and writes its name to path. At most 100 names of one
 * second are tried. Returns 0, or -1 with err. */
int file_series_make(const struct file_series *f, file_series_create *create, void *arg,
                     char path[FILE_SERIES_PATH_BYTES], struct err *e);
/* The file was written: deletes the oldest one if there are too many now. */
void file_series_written(struct file_series *f, const char *path);

#endif
