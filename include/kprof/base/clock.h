/* The clocks of this machine; reading and printing durations. Any thread. */
#ifndef KPROF_BASE_CLOCK_H
#define KPROF_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_SEC_NS UINT64_C(1000000000)

/* Monotonic time: nobody can set this clock, and it also counts the time in which the machine
 * sleeps (where the system has CLOCK_BOOTTIME), so it stays comparable with the clocks of other
 * machines. Waits with a timeout on a system clock (pthread_cond_timedwait) use CLOCK_MONOTONIC
 * instead, which stops while the machine sleeps. */
uint64_t clock_mono_ns(void);
uint64_t clock_wall_ns(void); /* since 1970 */
uint64_t clock_cpu_ns(void);  /* CPU time of all threads of this process */

/* Parses "20ms", "1500us", "2s", "3m", "1h", "2.5s", "0"; a number without a unit is in seconds.
 * Returns false unless the whole string is a duration. */
bool clock_parse_duration(const char *s, uint64_t *out_ns);
/* Parses the same syntax, with blanks allowed around the duration and between the number and the
 * unit ("5 ms"). */
bool clock_parse_typed(const char *s, uint64_t *out_ns);

/* Writes at most 7 columns with three significant digits, in ASCII: "853ns" "12.3us" "4.56ms"
 * "1.20s" "2m03s" "1h02m". */
void clock_format_ns(uint64_t ns, char *out, size_t cap_bytes);

/* Writes the time in UTC: "2026-11-21T03:04:05.678Z". */
void clock_format_wall(uint64_t wall_ns, char *out, size_t cap_bytes);

#endif
