/* Random numbers for property tests: the seed is printed; KPROF_SEED=... repeats a run.
 * One thread. */
#ifndef KPROF_TESTS_RNG_H
#define KPROF_TESTS_RNG_H

#include <stdint.h>

/* Uses KPROF_SEED as seed, else the clock, and prints it. */
void rng_seed(void);
/* The same as a setup function of cmocka; returns 0. */
int rng_set_up(void **state);
uint64_t rng(void);
uint64_t rng_below(uint64_t n); /* 0..n-1 */
/* How many rounds a property of one thread gets that takes long: n, under ThreadSanitizer, which
 * finds nothing in one thread and is slow, n / 8. */
int rng_rounds(int n);
uint64_t rng_state(void); /* as KPROF_SEED, this seed continues from here */

#endif
