#include "time_parse.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct clock_time {
    int hour, minute, second;
};

/* At most two digits. */
static bool digits(const char **p, int least, int most, int *out)
{
    int n = 0, seen = 0;
    for (; seen < 2 && **p >= '0' && **p <= '9'; (*p)++, seen++) {
        n = n * 10 + (**p - '0');
    }
    *out = n;
    return seen >= least && n <= most;
}

/* H:MM or H:MM:SS; p moves past it. */
static bool clock_time(const char **p, struct clock_time *t)
{
    t->second = 0;
    if (!digits(p, 1, 23, &t->hour) || *(*p)++ != ':' || !digits(p, 2, 59, &t->minute)) {
        return false;
    }
    if (**p != ':') {
        return true;
    }
    (*p)++;
    return digits(p, 2, 59, &t->second);
}

/* The clock time t, `days` days after the day of day_s (Unix time). */
static uint64_t on_day(uint64_t day_s, int days, const struct clock_time *t)
{
    time_t day = (time_t)day_s;
    struct tm tm = {0};
    localtime_r(&day, &tm);
    tm.tm_mday += days;
    tm.tm_hour = t->hour;
    tm.tm_min = t->minute;
    tm.tm_sec = t->second;
    tm.tm_isdst = -1;
    time_t at = mktime(&tm);
    return at < 0 ? 0 : (uint64_t)at;
}

static void blanks(const char **p)
{
    while (**p == ' ') {
        (*p)++;
    }
}

static bool is_now(const char *p)
{
    return *p == 0 || strcmp(p, "now") == 0;
}

/* TIME, TIME-TIME, TIME-, TIME-now. */
static bool clock_times(const char *p, uint64_t now_s, struct time_parsed *out)
{
    struct clock_time from, to;
    if (!clock_time(&p, &from)) {
        return false;
    }
    uint64_t from_s = on_day(now_s, 0, &from);
    if (from_s > now_s) {
        from_s = on_day(now_s, -1, &from);
    }
    *out = (struct time_parsed){.kind = TIME_PAST, .from_s = from_s, .to_s = now_s};
    blanks(&p);
    if (*p == 0) {
        out->to_s = from_s;
        return true;
    }
    if (*p++ != '-') {
        return false;
    }
    blanks(&p);
    if (!is_now(p)) {
        if (!clock_time(&p, &to) || *p) {
            return false;
        }
        out->to_s = on_day(from_s, 0, &to);
        if (out->to_s <= from_s) {
            out->to_s = on_day(from_s, 1, &to);
        }
    }
    out->to_s = out->to_s > now_s ? now_s : out->to_s;
    out->length_s = out->to_s > from_s ? out->to_s - from_s : 0;
    return true;
}

static bool refuse(char *error, size_t cap, const char *why)
{
    snprintf(error, cap, "%s", why);
    return false;
}

bool time_parse(const char *text, uint64_t now_s, struct time_parsed *out, char *error, size_t cap)
{
    char word[64];
    uint64_t ns;
    blanks(&text);
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ') {
        n--;
    }
    if (n >= sizeof word) {
        return refuse(error, cap, "too long: write 45m, or clock times such as 02:10-02:40");
    }
    memcpy(word, text, n);
    word[n] = 0;
    *out = (struct time_parsed){.kind = TIME_NOW};
    if (is_now(word)) {
        return true;
    }
    if (strchr(word, ':')) {
        if (!clock_times(word, now_s, out)) {
            return refuse(error, cap,
                          "invalid clock times: write 02:10-02:40, 02:10:05-02:11 or 02:10");
        }
        return out->length_s <= TIME_PARSE_MAX_S ||
               refuse(error, cap, "longer than 3h, the length of the history");
    }
    if (!clock_parse_typed(word, &ns)) {
        return refuse(error, cap,
                      "invalid time: write 45m, clock times such as 02:10-02:40, or now");
    }
    *out = (struct time_parsed){.kind = TIME_LAST, .length_s = ns / 1000000000u};
    if (out->length_s == 0) {
        return refuse(error, cap, "shorter than a second, the minimum");
    }
    return out->length_s <= TIME_PARSE_MAX_S ||
           refuse(error, cap, "longer than 3h; w shows the whole run");
}
