/* Our own clocks, and durations as people write them. Any thread. */
#ifndef KPROF_BASE_CLOCK_H
#define KPROF_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_SEC_NS UINT64_C(1000000000)

/* Never set, and it goes on while the machine sleeps, as other machines' clocks do. Waits that take
 * a clock of the system's (pthread_cond_timedwait) are by CLOCK_MONOTONIC, which stands meanwhile.
 */
uint64_t clock_mono_ns(void);
uint64_t clock_wall_ns(void); /* since 1970 */
uint64_t clock_cpu_ns(void);  /* CPU time of this process, all its threads */

/* "20ms", "1500us", "2s", "3m", "1h", "2.5s", "0"; a bare number is seconds. Whole string or false.
 */
bool clock_parse_duration(const char *s, uint64_t *out_ns);
/* The same as people type it: blanks around it, and between number and unit ("5 ms"), are fine. */
bool clock_parse_typed(const char *s, uint64_t *out_ns);

/* At most 7 columns, three significant digits, ASCII: "853ns" "12.3us" "4.56ms" "1.20s" "2m03s"
 * "1h02m". */
void clock_format_ns(uint64_t ns, char *out, size_t cap_bytes);

/* "2026-11-21T03:04:05.678Z", UTC. */
void clock_format_wall(uint64_t wall_ns, char *out, size_t cap_bytes);

#endif
