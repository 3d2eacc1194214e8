#include <kprof/base/clock.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define US     UINT64_C(1000)
#define MS     (1000 * US)
#define SEC    (1000 * MS)
#define MINUTE (60 * SEC)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* 1 ns in hours has 13 decimals: more decimals have no effect. */
#define PART_OF_MAX UINT64_C(10000000000000)

__extension__ typedef unsigned __int128 u128;

static uint64_t now(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
#ifdef CLOCK_BOOTTIME
    return now(CLOCK_BOOTTIME);
#else
    return now(CLOCK_MONOTONIC);
#endif
}

uint64_t clock_cpu_ns(void)
{
    return now(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_wall_ns(void)
{
    return now(CLOCK_REALTIME);
}

/* ns in a unit; 0: no such unit. */
static uint64_t unit_ns(const char *name)
{
    static const struct {
        const char name[4];
        uint64_t ns;
    } units[] = {{"", SEC},  {"ns", 1},     {"us", US}, {"ms", MS},
                 {"s", SEC}, {"m", MINUTE}, {"h", HOUR}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].ns;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parsed without strtod, which accepts signs, blanks, hexadecimal and "inf", and uses the decimal
 * point of the locale. */
bool clock_parse_duration(const char *s, uint64_t *out_ns)
{
    const char *p = s;
    u128 whole = 0;
    uint64_t part = 0, part_of = 1;
    for (; is_digit(*p); p++) {
        whole = whole * 10 + (unsigned)(*p - '0');
        if (whole > UINT64_MAX)
            return false;
    }
    bool any = p > s;
    if (*p == '.') {
        if (!is_digit(*++p))
            return false;
        any = true;
        for (; is_digit(*p); p++) {
            if (part_of == PART_OF_MAX)
                continue;
            part = part * 10 + (unsigned)(*p - '0');
            part_of *= 10;
        }
    }
    uint64_t unit = unit_ns(p);
    if (!any || unit == 0)
        return false;
    u128 ns = whole * unit + (u128)part * unit / part_of;
    if (ns > UINT64_MAX)
        return false;
    *out_ns = (uint64_t)ns;
    return true;
}

static const char *past_blanks(const char *s)
{
    return s + strspn(s, " ");
}

bool clock_parse_typed(const char *s, uint64_t *out_ns)
{
    char word[64];
    size_t number, unit;
    s = past_blanks(s);
    number = strspn(s, "0123456789.");
    const char *u = past_blanks(s + number);
    unit = strcspn(u, " 0123456789.");
    if (number + unit >= sizeof word || *past_blanks(u + unit))
        return false;
    memcpy(word, s, number);
    memcpy(word + number, u, unit);
    word[number + unit] = 0;
    return clock_parse_duration(word, out_ns);
}

/* ns as three digits of unit; false if that rounds to 1000 units or more. Uses integers only, so
 * the decimal point of the locale does not matter. */
static bool three_digits(uint64_t ns, uint64_t unit, const char *name, char *out, size_t cap_bytes)
{
    unsigned v[3]; /* in units, tenths and hundredths, rounded */
    for (unsigned i = 0, step = 1; i < 3; i++, step *= 10) {
        uint64_t scaled = (uint64_t)(((u128)ns * step + unit / 2) / unit);
        v[i] = scaled < 1000 ? (unsigned)scaled : 1000;
    }
    if (v[2] < 1000)
        snprintf(out, cap_bytes, "%u.%02u%s", v[2] / 100, v[2] % 100, name);
    else if (v[1] < 1000)
        snprintf(out, cap_bytes, "%u.%u%s", v[1] / 10, v[1] % 10, name);
    else if (v[0] < 1000)
        snprintf(out, cap_bytes, "%u%s", v[0], name);
    return v[0] < 1000;
}

static uint64_t rounded(uint64_t ns, uint64_t unit)
{
    return ns / unit + (ns % unit >= unit / 2);
}

void clock_format_ns(uint64_t ns, char *out, size_t cap_bytes)
{
    if (ns < US) {
        snprintf(out, cap_bytes, "%uns", (unsigned)ns);
        return;
    }
    if (three_digits(ns, US, "us", out, cap_bytes) || three_digits(ns, MS, "ms", out, cap_bytes))
        return;
    if (ns < MINUTE - 50 * MS && three_digits(ns, SEC, "s", out, cap_bytes))
        return;
    uint64_t s = rounded(ns, SEC), m = rounded(ns, MINUTE), h = rounded(ns, HOUR);
    if (s < 3600)
        snprintf(out, cap_bytes, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
    else if (m < 100 * 60)
        snprintf(out, cap_bytes, "%uh%02um", (unsigned)(m / 60), (unsigned)(m % 60));
    else if (h < 1000 * 24)
        snprintf(out, cap_bytes, "%ud%02uh", (unsigned)(h / 24), (unsigned)(h % 24));
    else
        snprintf(out, cap_bytes, "%ud", (unsigned)(ns / DAY));
}

void clock_format_wall(uint64_t wall_ns, char *out, size_t cap_bytes)
{
    time_t s = (time_t)(wall_ns / SEC);
    struct tm t;
    gmtime_r(&s, &t);
    snprintf(out, cap_bytes, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", t.tm_year + 1900, t.tm_mon + 1,
             t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, (unsigned)(wall_ns % SEC / MS));
}
