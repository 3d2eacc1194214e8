/* A time range as the operator types it: "45m", "02:10-02:40", "02:10", "now". Clock times are in
 * the local zone and mean the last such time before now. This unit reads no clock; the C library
 * supplies the zone. */
#ifndef UI_TIME_PARSE_H
#define UI_TIME_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIME_PARSE_MAX_S 10800 /* the history goes back this far */

struct time_parsed {
    enum { TIME_NOW, TIME_LAST, TIME_PAST } kind;
    uint64_t length_s;     /* LAST: up to now. PAST: to - from; 0: only from was given */
    uint64_t from_s, to_s; /* PAST: since 1970 */
};

/* now_s: seconds since 1970. False: error says why it is invalid, and what to type instead. */
bool time_parse(const char *text, uint64_t now_s, struct time_parsed *out, char *error, size_t cap);

#endif
