/* Terms as a real erl encodes and prints them, for tests of everything that reads them. */
#ifndef KPROF_TESTS_REAL_TERMS_H
#define KPROF_TESTS_REAL_TERMS_H

#include <stddef.h>
#include <stdint.h>

struct real_term {
    uint8_t *bytes; /* with version byte, in a block of exactly n bytes */
    size_t n;
    char *text; /* io:format("~0tp") of it, UTF-8 */
};

/* Runs erl once; fails the test that calls it when that does not work. */
struct real_term *real_terms(size_t *count);
void real_terms_free(struct real_term *t, size_t count);

/* What `erl -eval expression` prints; the expression's halt() is ours. The caller frees. */
char *real_erl(const char *expression);

#endif
