/* Random numbers for property tests: the seed is printed, and KPROF_SEED=... repeats a run.
 * One thread. */
#ifndef KPROF_TESTS_RNG_H
#define KPROF_TESTS_RNG_H

#include <stdint.h>

/* Takes KPROF_SEED, else the clock, and prints it. */
void rng_seed(void);
/* The same as a set-up function of cmocka; 0. */
int rng_set_up(void **state);
uint64_t rng(void);
uint64_t rng_below(uint64_t n); /* 0..n-1 */
/* How many rounds a property of one thread gets that takes long: n, under ThreadSanitizer, which
 * finds nothing in one thread and is slow, n / 8. */
int rng_rounds(int n);
uint64_t rng_state(void); /* for KPROF_SEED, to go on from here */

#endif
