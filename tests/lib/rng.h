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
/* False under ThreadSanitizer, which is slow and finds nothing in a single thread: long tests with
 * one thread then check only a part of their cases. */
bool rng_full_size(void);
/* Number of rounds of a long test with one thread: n, or n / 8 if not rng_full_size. */
int rng_rounds(int n);
uint64_t rng_state(void); /* as KPROF_SEED, this seed continues from here */

#endif
