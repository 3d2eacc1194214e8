#include <kprof/base/likeness.h>

#include <stdbool.h>
#include <stdint.h>

#define BYTES_MAX 64

static bool same(char x, char y)
{
    if (x >= 'A' && x <= 'Z')
        x = (char)(x - 'A' + 'a');
    if (y >= 'A' && y <= 'Z')
        y = (char)(y - 'A' + 'a');
    return x == y;
}

static unsigned least(unsigned x, unsigned y, unsigned z)
{
    unsigned m = x < y ? x : y;

    return m < z ? m : z;
}

unsigned likeness_distance(const char *a, size_t a_n, const char *b, size_t b_n)
{
    unsigned row[BYTES_MAX + 1]; /* distances of the beginning of a to each beginning of b */

    a_n = a_n < BYTES_MAX ? a_n : BYTES_MAX;
    b_n = b_n < BYTES_MAX ? b_n : BYTES_MAX;
    for (size_t k = 0; k <= b_n; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; i < a_n; i++) {
        unsigned corner = row[0]; /* of the row before, one to the left */

        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < b_n; k++) {
            unsigned above = row[k + 1];

            row[k + 1] = least(above + 1, row[k] + 1, corner + (same(a[i], b[k]) ? 0 : 1));
            corner = above;
        }
    }
    return row[b_n];
}
