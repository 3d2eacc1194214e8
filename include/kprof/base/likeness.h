/* How much two names differ. Pure; any thread; allocates nothing. */
#ifndef KPROF_BASE_LIKENESS_H
#define KPROF_BASE_LIKENESS_H

#include <stddef.h>

/* The smallest number of bytes to insert, delete or replace that turns a into b (Levenshtein), from
 * 0 to 64. ASCII case is ignored. Only the first 64 bytes of each are compared. */
unsigned likeness_distance(const char *a, size_t a_n, const char *b, size_t b_n);

#endif
