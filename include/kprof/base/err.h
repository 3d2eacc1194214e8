/* One sentence for the outside world: what was tried, on what, why, what to do.
 *
 * Invariant: text is always NUL-terminated and never longer than the buffer.
 * The caller owns the struct; any thread may use its own. Never holds a cookie. */
#ifndef KPROF_BASE_ERR_H
#define KPROF_BASE_ERR_H

#include <stddef.h>

struct err {
    char text[512];
};

/* Formats the sentence; returns -1 so that `return err_set(...)` reads well. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies s into out, cut to fit, always terminated: for fixed fields that are meant to cut. */
void err_copy(char *out, size_t cap_bytes, const char *s);

#endif
