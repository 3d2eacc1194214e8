/* Resident memory of this process, for benchmarks and tests. */
#ifndef KPROF_TEST_RESIDENT_H
#define KPROF_TEST_RESIDENT_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline size_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long all, resident = 0;

    if (!f || fscanf(f, "%lu %lu", &all, &resident) != 2)
        exit(1);
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
