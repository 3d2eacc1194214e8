#include <assert.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Three significant digits and a suffix, for v >= 1000 in steps of `step`. */
static void scaled(double v, double step, const char *suffixes, char *out)
{
    size_t i = 0, last = strlen(suffixes) - 1;
    v /= step;
    while (v >= 999.5 && i < last) {
        v /= step;
        i++;
    }
    int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
    snprintf(out, FORMAT_BYTES, "%.*f%c", digits, fmin(v, 99999), suffixes[i]);
}

void format_count(uint64_t n, char *out)
{
    if (n < 10000000) {
        snprintf(out, FORMAT_BYTES, "%u", (unsigned)n);
    } else {
        scaled((double)n, 1000, "kMGTPE", out);
    }
}

void format_rate(double per_s, char *out)
{
    if (!isfinite(per_s) || per_s < 0) {
        snprintf(out, FORMAT_BYTES, "-");
    } else if (per_s < 9999.5) {
        int digits = per_s == 0 ? 0 : per_s < 9.995 ? 2 : per_s < 99.95 ? 1 : 0;
        snprintf(out, FORMAT_BYTES, "%.*f", digits, per_s);
    } else {
        scaled(per_s, 1000, "kMGTPE", out);
    }
}

void format_us(double us, char *out)
{
    if (!isfinite(us) || us < 0) {
        snprintf(out, FORMAT_BYTES, "-");
        return;
    }
    clock_format_ns((uint64_t)(fmin(us, 1e15) * 1000.0 + 0.5), out, FORMAT_BYTES);
}

void format_share(double part, char *out)
{
    if (!isfinite(part) || part < 0) {
        snprintf(out, FORMAT_BYTES, "-");
    } else {
        double pct = fmin(part * 100.0, 9999);
        snprintf(out, FORMAT_BYTES, "%.*f%%", pct < 99.95 ? 1 : 0, pct);
    }
}

void format_change(double part, char *out)
{
    if (!isfinite(part)) {
        snprintf(out, FORMAT_BYTES, "-");
    } else if (part >= 8.995) {
        snprintf(out, FORMAT_BYTES, "x%.0f", fmin(part + 1, 9999));
    } else {
        double pct = part * 100;
        snprintf(out, FORMAT_BYTES, "%+.0f%%", fabs(pct) < 0.5 ? 0.0 : pct);
    }
}

const char *format_eighths(unsigned n)
{
    static const char *const block[8] = {"\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
                                         "\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a",
                                         "\xe2\x96\x89", "\xe2\x96\x88"};
    assert(n >= 1 && n <= 8);
    return block[n - 1];
}

void format_bytes(uint64_t n, char *out)
{
    if (n < 1024) {
        snprintf(out, FORMAT_BYTES, "%uB", (unsigned)n);
    } else {
        scaled((double)n, 1024, "KMGTPE", out);
    }
}

void format_uptime(uint64_t s, char *out)
{
    unsigned long long d = s / 86400, h = s / 3600 % 24, m = s / 60 % 60, sec = s % 60;
    if (d) {
        snprintf(out, FORMAT_BYTES, "%llud%02lluh", d, h);
    } else if (h) {
        snprintf(out, FORMAT_BYTES, "%lluh%02llum", h, m);
    } else {
        snprintf(out, FORMAT_BYTES, "%llum%02llus", m, sec);
    }
}

void format_time(uint64_t wall_ns, bool ms, char *out)
{
    time_t s = (time_t)(wall_ns / 1000000000u);
    struct tm tm = {0};
    localtime_r(&s, &tm);
    int n = snprintf(out, FORMAT_BYTES, "%02d:%02d:%02d", tm.tm_hour % 24, tm.tm_min % 60,
                     tm.tm_sec % 61);
    if (ms) {
        snprintf(out + n, FORMAT_BYTES - (size_t)n, ".%03u", (unsigned)(wall_ns / 1000000u % 1000));
    }
}

void format_span(uint64_t s, char *out)
{
    unsigned long long h = s / 3600, m = s / 60 % 60;
    if (s % 60) {
        snprintf(out, FORMAT_BYTES, "%llus", (unsigned long long)s);
    } else if (h && m) {
        snprintf(out, FORMAT_BYTES, "%lluh%02llum", h, m);
    } else {
        snprintf(out, FORMAT_BYTES, h ? "%lluh" : "%llum", h ? h : m);
    }
}

void format_ago(uint64_t s, char *out)
{
    unsigned long long h = s / 3600, m = s / 60 % 60;
    if (h) {
        snprintf(out, FORMAT_BYTES, "%llu h %llu min ago", h, m);
    } else if (m) {
        snprintf(out, FORMAT_BYTES, "%llu min ago", m);
    } else {
        snprintf(out, FORMAT_BYTES, "%u s ago", (unsigned)s);
    }
}
