/* Files that the operator requests: exports and the output of batch. Files are created 0600 and
 * never opened through a symbolic link. One thread. */
#ifndef KPROF_CLI_OUTPUT_H
#define KPROF_CLI_OUTPUT_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <stdbool.h>
#include <stddef.h>

enum output_mode { OUTPUT_NEW /* refuses an existing file: errno EEXIST */, OUTPUT_OVER };

/* Checks that a file of this name could be written, so that a long run does not fail at its end.
 * Creates nothing. A directory with %t in its name is not checked. Returns 0, or -1 with err (and
 * errno). */
int output_check(const char *path, struct err *e);
/* Checks that the text is complete: a part of it would be invalid. Returns 0, or -1 with err (errno
 * EFBIG). */
int output_check_text(const struct buf *text, const char *path, struct err *e);
/* Returns a descriptor, or -1 with err (and errno). A file that is overwritten becomes 0600,
 * too. */
int output_open(const char *path, enum output_mode m, struct err *e);
/* Writes all n bytes; -1 with err. After a requested stop it waits at most a second for a reader.
 */
int output_write(int fd, const char *path, const void *bytes, size_t n, struct err *e);
/* Closes it after a write that returned rc. Returns rc; or, if only this fails, because some file
 * systems report only now that bytes were not written, -1 with err (and errno). */
int output_close(int fd, const char *path, int rc, struct err *e);
/* True: it is a regular file, or nothing has this name. False: a device, a pipe, a symbolic link or
 * a directory. */
bool output_is_file(const char *path);
/* Replaces the whole content of the file at once: a reader sees the old content or the new one. The
 * file is another one afterwards, so anything but a regular file is refused: errno EINVAL, or ELOOP
 * for a symbolic link. Returns 0, or -1 with err (and errno). */
int output_replace(const char *path, const void *bytes, size_t n, struct err *e);

#endif
