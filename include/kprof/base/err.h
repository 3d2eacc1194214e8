/* One sentence for the user: what failed, why, and what to do.
 *
 * Invariant: text is always NUL-terminated and never longer than the buffer. The caller owns the
 * struct; each thread may use its own. The text never contains a cookie. */
#ifndef KPROF_BASE_ERR_H
#define KPROF_BASE_ERR_H

#include <stddef.h>

struct err {
    char text[512];
};

/* Formats the sentence; returns -1 so that `return err_set(...)` reads well. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies s into out, cut to fit and always NUL-terminated; for fields of fixed size. */
void err_copy(char *out, size_t cap_bytes, const char *s);

#endif
