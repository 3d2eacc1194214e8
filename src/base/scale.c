#include <kprof/base/scale.h>

#include <assert.h>

/* Tenths: 1 1.2 1.5 1.7 | 2 2.5 3 4 | 5 6 7 8.5. The steps are about even; every fourth is 1, 2 or
 * 5. */
static const uint8_t MARK[SCALE_DECADE] = {10, 12, 15, 17, 20, 25, 30, 40, 50, 60, 70, 85};

uint64_t scale_low_ns(size_t bin)
{
    if (bin == 0)
        return 0;
    if (bin >= SCALE_BINS)
        return UINT64_MAX;
    uint64_t power = 1, mark = MARK[(bin - 1) % SCALE_DECADE];
    for (size_t i = 0; i < (bin - 1) / SCALE_DECADE; i++)
        power *= 10;
    return (mark * power + 9) / 10;
}

size_t scale_bin(uint64_t ns)
{
    size_t low = 0, high = SCALE_BINS; /* scale_low_ns(low) <= ns < scale_low_ns(high) */

    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (scale_low_ns(mid) <= ns)
            low = mid;
        else
            high = mid;
    }
    return low;
}

uint64_t scale_add(const struct hist *h, uint64_t *bin)
{
    uint64_t sum = 0, next_ns = 0;
    size_t at = 0;

    for (size_t k = 0; k <= HIST_OCTAVES; k++) {
        for (size_t i = 0; h->octave[k] && i < HIST_SUB; i++) {
            uint64_t n = h->octave[k][i];
            if (n == 0)
                continue;
            size_t bucket = k * HIST_SUB + i;
            uint64_t low = hist_bucket_low(bucket);
            uint64_t mid = low + (hist_bucket_high(bucket) - low) / 2;
            if (mid >= next_ns) {
                at = scale_bin(mid);
                next_ns = scale_low_ns(at + 1);
            }
            bin[at] += n;
            sum += n;
        }
    }
    return sum;
}
