#include "bins.h"

#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/base/scale.h>
#include <string.h>

size_t bins_group(size_t bin, size_t per)
{
    return (bin + per - 1) / per; /* bin 0, less than a nanosecond, is separate */
}

size_t bins_first(size_t group, size_t per)
{
    return group ? (group - 1) * per + 1 : 0;
}

size_t bins_per(size_t low, size_t n, size_t lines)
{
    static const size_t steps[] = {1, 2, 4, 6, 12, 24, 36, 72};
    size_t last = sizeof steps / sizeof *steps - 1, i = 0;
    while (i < last && bins_group(low + n - 1, steps[i]) - bins_group(low, steps[i]) + 1 > lines) {
        i++;
    }
    return steps[i];
}

void bins_mark(size_t group, size_t per, char *out)
{
    uint64_t ns = scale_low_ns(bins_first(group, per));
    if (ns == UINT64_MAX) {
        strcpy(out, "more");
        return;
    }
    clock_format_ns(ns, out, FORMAT_BYTES);
    char *point = strchr(out, '.'), *unit = out + strspn(out, "0123456789."), *end = unit;
    while (point && end > point && (end[-1] == '0' || end[-1] == '.')) {
        end--;
    }
    memmove(end, unit, strlen(unit) + 1);
    size_t n = strlen(out);
    if (n > 4 && (strcmp(out + n - 3, "00s") == 0 || strcmp(out + n - 3, "00m") == 0)) {
        out[n - 3] = 0; /* "5m00s", "1h00m" */
    }
}
