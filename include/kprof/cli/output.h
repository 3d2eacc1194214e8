/* Files that the operator asked for: exports and the output of batch. Created 0600, never through a
 * symbolic link. One thread. */
#ifndef KPROF_CLI_OUTPUT_H
#define KPROF_CLI_OUTPUT_H

#include <kprof/base/err.h>
#include <stdbool.h>
#include <stddef.h>

enum output_mode { OUTPUT_NEW /* refuses a file that is there: errno EEXIST */, OUTPUT_OVER };

/* A descriptor, or -1 with err (and errno). A file that is overwritten becomes 0600, too. */
int output_open(const char *path, enum output_mode m, struct err *e);
/* All of it; -1 with err. */
int output_write(int fd, const char *path, const void *bytes, size_t n, struct err *e);
/* The file's whole content anew, at once: a reader sees the old one or the new one. */
int output_replace(const char *path, const void *bytes, size_t n, struct err *e);

#endif
