/* Random numbers for property tests: the seed is printed; KPROF_SEED=... repeats a run.
 * One thread. */
#ifndef KPROF_TESTS_RNG_H
#define KPROF_TESTS_RNG_H

#include <stdbool.h>
#include <stdint.h>

/* Uses KPROF_SEED as seed, else the clock, and prints it. */
void rng_seed(void);
/* The same as a setup function of cmocka; returns 0. */
int rng_set_up(void **state);
uint64_t rng(void);
uint64_t rng_below(uint64_t n); /* 0..n-1 */
/* False under a sanitizer, which is slow: long tests with one thread then check only a part of
 * their cases; the build without sanitizers checks all. */
bool rng_full_size(void);
/* Number of rounds of a long test with one thread: n, under AddressSanitizer n / 4, under
 * ThreadSanitizer, which finds nothing in a single thread, n / 8. */
int rng_rounds(int n);
uint64_t rng_state(void); /* as KPROF_SEED, this seed continues from here */

#endif
