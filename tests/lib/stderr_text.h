/* What a part of a test writes to standard error. There is one at a time, in the test's thread;
 * what other threads write meanwhile is in it, too. */
#ifndef KPROF_TESTS_STDERR_TEXT_H
#define KPROF_TESTS_STDERR_TEXT_H

#include <stddef.h>
#include <stdio.h>

struct stderr_text {
    FILE *file;
    int saved; /* the real standard error */
};

/* From now on it goes to a file. Aborts if that is not possible. No assertion may fail until the
 * end: its message would be lost. */
void stderr_text_begin(struct stderr_text *s);
/* Standard error is the real one again. text: what was written, at most cap - 1 bytes of it. */
void stderr_text_end(struct stderr_text *s, char *text, size_t cap);

#endif
