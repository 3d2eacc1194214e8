#include <kprof/base/err.h>

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Length of s without a UTF-8 character that the end of the buffer cut in two. */
static size_t whole_chars(const char *s, size_t len)
{
    size_t i = len;
    while (i > 0 && len - i < 3 && ((unsigned char)s[i - 1] & 0xc0) == 0x80)
        i--;
    if (i == 0)
        return len;
    unsigned char lead = (unsigned char)s[i - 1];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return len - (i - 1) < need ? i - 1 : len;
}

/* The text may come from a node, and is printed on a terminal: no control characters, which could
 * be commands to it. */
static void no_controls(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        bool c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;
        if (c1)
            *p++ = '?';
        if (c1 || *p == 0x7f || (*p < 0x20 && *p != '\n' && *p != '\t'))
            *p = '?';
    }
}

int err_set(struct err *e, const char *fmt, ...)
{
    assert(e);
    char text[sizeof e->text]; /* a copy, because the arguments may contain e->text itself */
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        text[0] = 0;
    else if ((size_t)n >= sizeof text)
        text[whole_chars(text, sizeof text - 1)] = 0;
    no_controls(text);
    memcpy(e->text, text, sizeof text);
    return -1;
}

void err_copy(char *out, size_t cap_bytes, const char *s)
{
    assert(cap_bytes > 0);
    size_t n = strnlen(s, cap_bytes);
    if (n == cap_bytes)
        n = whole_chars(s, cap_bytes - 1);
    memmove(out, s, n);
    out[n] = 0;
}
