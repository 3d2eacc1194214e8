/* Terms, encoded and printed by a real erl, for tests of all code that reads terms. */
#ifndef KPROF_TESTS_REAL_TERMS_H
#define KPROF_TESTS_REAL_TERMS_H

#include <stddef.h>
#include <stdint.h>

struct real_term {
    uint8_t *bytes; /* with version byte, in a block of exactly n bytes */
    size_t n;
    char *text; /* io:format("~0tp") of it, UTF-8 */
};

/* Runs erl once; if that fails, the calling test fails. */
struct real_term *real_terms(size_t *count);
void real_terms_free(struct real_term *t, size_t count);

/* Returns what `erl -eval expression` prints; halt() is added to the expression. The caller frees
 * it. */
char *real_erl(const char *expression);

#endif
