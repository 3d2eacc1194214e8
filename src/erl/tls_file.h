/* Opens a file that an option of TLS names. The name may be from the arguments of another user's
 * process, so what it names is not trusted: only a regular file is opened, and a FIFO does not
 * block.
 *
 * Owner: the caller closes the file. Threads: any. It does not read.
 */
#ifndef KPROF_ERL_TLS_FILE_H
#define KPROF_ERL_TLS_FILE_H

#include <kprof/base/err.h>

/* from: the option; give: what to give instead ("a PEM file"). Returns the file, to read from, or
 * -1 with err. */
int tls_file_open(const char *file, const char *from, const char *give, struct err *e);

#endif
