#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <kprof/cli/optval.h>
#include <kprof/erl/node_name.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_MAX 1000000u

struct shown optval_show(const char *text)
{
    struct shown out;
    struct buf b;
    buf_init(&b, 0);
    text_safe(&b, text, strnlen(text, 400), 40, false);
    snprintf(out.s, sizeof out.s, "%.159s", b.data);
    buf_release(&b);
    return out;
}

/* Only digits, the whole string, at most max. */
static bool parse_u64(const char *s, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return false;
        uint64_t digit = (uint64_t)(*s - '0');
        if (digit > max || v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

int optval_duration(const char *opt, const char *val, uint64_t min_ns, uint64_t *out_ns,
                    struct err *e)
{
    uint64_t ns;
    char least[16];
    if (!clock_parse_duration(val, &ns))
        return err_set(e, "--%s %s: not a duration; write 20ms, 1500us, 2s or 3m", opt,
                       optval_show(val).s);
    clock_format_ns(min_ns, least, sizeof least);
    if (ns < min_ns)
        return err_set(e, "--%s %s: too short; the minimum is %s", opt, optval_show(val).s, least);
    *out_ns = ns;
    return 0;
}

int optval_count(const char *opt, const char *val, uint64_t max, uint64_t *out, struct err *e)
{
    uint64_t v;
    if (!parse_u64(val, max, &v) || v == 0)
        return err_set(e, "--%s %s: not a number from 1 to %llu", opt, optval_show(val).s,
                       (unsigned long long)max);
    *out = v;
    return 0;
}

int optval_sample(const char *val, uint32_t *out, struct err *e)
{
    uint64_t n;
    if (strncmp(val, "1/", 2) != 0 || !parse_u64(val + 2, SAMPLE_MAX, &n) || n == 0)
        return err_set(e, "--sample %s: invalid; write 1/N, such as 1/10, with N up to %u",
                       optval_show(val).s, SAMPLE_MAX);
    *out = (uint32_t)n;
    return 0;
}

int optval_detail(const char *val, uint32_t *out, struct err *e)
{
    uint64_t n = 0;
    if (strcmp(val, "off") != 0 &&
        (strncmp(val, "1/", 2) != 0 || !parse_u64(val + 2, SAMPLE_MAX, &n) || n == 0))
        return err_set(e, "--detail %s: invalid; write 1/N, such as 1/100, with N up to %u, or off",
                       optval_show(val).s, SAMPLE_MAX);
    *out = (uint32_t)n;
    return 0;
}

int optval_rate(const char *opt, const char *val, uint64_t *out, struct err *e)
{
    char number[24];
    size_t n = strspn(val, "0123456789.");
    const char *end = val + n;
    double v = 0;
    if (n > 0 && n < sizeof number && *val != '.') {
        memcpy(number, val, n);
        number[n] = '\0';
        char *stop;
        v = strtod(number, &stop);
        if (*stop)
            v = 0;
    }
    if (*end == 'k' || *end == 'K') {
        v *= 1e3;
        end++;
    } else if (*end == 'M') {
        v *= 1e6;
        end++;
    }
    if ((*end && strcmp(end, "/s") != 0) || !(v >= 1 && v <= 1e9))
        return err_set(e, "--%s %s: not a rate of events; write 20000/s or 20k", opt,
                       optval_show(val).s);
    *out = (uint64_t)v;
    return 0;
}

int optval_percent(const char *opt, const char *val, uint32_t *out_ppm, struct err *e)
{
    size_t n = strspn(val, "0123456789.");
    char *stop = NULL;
    double v = -1;

    if (strcmp(val, "none") == 0)
        v = 0;
    else if (n > 0 && n < 16 && *val != '.' && (!val[n] || strcmp(val + n, "%") == 0))
        v = strtod(val, &stop);
    bool ok = stop ? stop == val + n && v >= 0.01 && v <= 100 : v == 0;
    if (!ok) /* 0 is refused, too: it would mean no limit, but can be meant as the lowest one */
        return err_set(e,
                       "--%s %s: invalid; write a percentage from 0.01 to 100, or none for no "
                       "limit",
                       opt, optval_show(val).s);
    *out_ppm = (uint32_t)(v * 10000 + 0.5);
    return 0;
}

int optval_speed(const char *val, double *out, struct err *e)
{
    char *end = NULL;
    double v = *val && strchr("0123456789.", *val) ? strtod(val, &end) : 0;
    if (strcmp(val, "max") == 0) {
        *out = 0;
        return 0;
    }
    if (!(v >= 0.1 && v <= 1000) || (*end && strcmp(end, "x") != 0))
        return err_set(
            e, "--speed %s: not a speed; write 10 for ten times as fast (0.1 to 1000), or max",
            optval_show(val).s);
    *out = v;
    return 0;
}

int optval_returns(const char *val, enum returns_mode *out, struct err *e)
{
    if (strcmp(val, "lean") == 0 || strcmp(val, "auto") == 0)
        *out = RETURNS_LEAN;
    else if (strcmp(val, "full") == 0)
        *out = RETURNS_FULL;
    else
        return err_set(e, "--returns %s: no such mode; write lean, full or auto",
                       optval_show(val).s);
    return 0;
}

int optval_transport(const char *val, struct err *e)
{
    if (strcmp(val, "dist") == 0 || strcmp(val, "auto") == 0)
        return 0;
    if (strcmp(val, "native") == 0)
        return err_set(e, "--transport native: this version has no native tracer; use "
                          "--transport dist, or leave the option out");
    return err_set(e, "--transport %s: no such transport; write dist or auto", optval_show(val).s);
}

int optval_node(const char *val, struct err *e)
{
    const char *at = strchr(val, '@');
    const char *colon = at ? strrchr(at, ':') : NULL;
    struct node_name name;
    uint16_t port;

    if (node_name_parse(val, &name))
        return 0;
    if (colon && strchr(at, ':') == colon && !node_name_port(colon + 1, &port))
        return err_set(e, "%s: the part after the colon is not a port; write a number up to 65535",
                       optval_show(val).s);
    return err_set(e,
                   "%s is not a node name; write name@host, or name@host:PORT when there is no "
                   "epmd (--help lists the options)",
                   optval_show(val).s);
}

int optval_connect(const char *val, struct err *e)
{
    char host[NODE_NAME_BYTES];
    uint16_t port;

    if (node_name_address(val, host, &port))
        return 0;
    return err_set(e,
                   "--connect %s: not an address with a port; write ADDR:PORT, or [ADDR]:PORT with "
                   "an IPv6 address",
                   optval_show(val).s);
}

int optval_self_name(const char *val, struct err *e)
{
    size_t n = strlen(val);
    size_t good = strspn(val, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (n == 0 || n > 100 || good != n)
        return err_set(e, "--name %s: invalid; use letters, digits, _ and -, without @host",
                       optval_show(val).s);
    return 0;
}
