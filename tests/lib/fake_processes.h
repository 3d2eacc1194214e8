/* Made-up process tables for tests. */
#ifndef KPROF_TESTS_FAKE_PROCESSES_H
#define KPROF_TESTS_FAKE_PROCESSES_H

#include <kprof/core/process_table.h>

/* n processes (at most PROCESS_ROWS) of a shop: workers, a growing queue, one that hoards binaries,
 * idle ones; some initial calls and applications, and the others. hostile: names with control
 * characters, formulas, quotes, invalid bytes. */
struct process_table *fake_processes(size_t n, bool hostile);

#endif
