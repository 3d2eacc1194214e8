/* Numbers and durations for the screen: short, not padded, ASCII (except for format_eighths). Pure,
 * except that format_time uses the local time zone; any thread.
 *
 * Every function NUL-terminates out and writes at most FORMAT_BYTES bytes. */
#ifndef KPROF_BASE_FORMAT_H
#define KPROF_BASE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_BYTES 32

void format_count(uint64_t n, char *out);   /* "1204", "9999999", "12.3M" */
void format_rate(double per_s, char *out);  /* "0.25" "12.3" "611" "12.3k" */
void format_us(double us, char *out);       /* as clock_format_ns; "-" if not a time */
void format_share(double part, char *out);  /* 0..1 as "42.0%" */
void format_change(double part, char *out); /* 0.1 as "+10%", 15 as "x16"; "-" if NaN */
const char *format_eighths(unsigned n);     /* 1..8: a block that fills n eighths from the left */
void format_bytes(uint64_t n, char *out);   /* "512M", powers of 1024 */
void format_uptime(uint64_t s, char *out);  /* "3d04h", "4h12m", "12m05s" */
void format_time(uint64_t wall_ns, bool ms, char *out); /* "03:04:05" or "03:04:05.678", local */
void format_span(uint64_t s, char *out);                /* "45m", "90s", "1h30m" */
void format_ago(uint64_t s, char *out); /* "34 s ago", "12 min ago", "1 h 12 min ago" */

#endif
