#include "rng.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t now;

void rng_seed(void)
{
    const char *s = getenv("KPROF_SEED");
    now = s ? strtoull(s, NULL, 0) : clock_wall_ns();
    printf("seed: KPROF_SEED=%llu\n", (unsigned long long)now);
}

int rng_set_up(void **state)
{
    (void)state;
    rng_seed();
    return 0;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t rng(void)
{
    uint64_t z = now += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t rng_below(uint64_t n)
{
    return rng() % n;
}

#if defined __SANITIZE_THREAD__
enum { PART = 8 };
#elif defined __SANITIZE_ADDRESS__
enum { PART = 4 };
#else
enum { PART = 1 };
#endif

bool rng_full_size(void)
{
    return PART == 1;
}

int rng_rounds(int n)
{
    return n / PART;
}

uint64_t rng_state(void)
{
    return now;
}
