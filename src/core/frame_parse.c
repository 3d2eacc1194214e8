#include "frame_parse.h"

#include <string.h>

enum { PID_DIGITS_MAX = 9 };

bool frame_parse_number(const char *s, size_t n, size_t *i, size_t most, uint64_t *v)
{
    size_t first = *i;
    *v = 0;
    for (; *i < n && s[*i] >= '0' && s[*i] <= '9'; (*i)++) {
        if (*i - first == most)
            return false;
        *v = *v * 10 + (uint64_t)(s[*i] - '0');
    }
    return *i > first;
}

uint64_t frame_parse_process(const char *s, size_t n)
{
    uint64_t id, serial;
    size_t i = 2;
    if (n < 5 || memcmp(s, "0.", 2) != 0 || !frame_parse_number(s, n, &i, PID_DIGITS_MAX, &id) ||
        i >= n || s[i++] != '.' || !frame_parse_number(s, n, &i, PID_DIGITS_MAX, &serial) || i != n)
        return 0;
    return serial << 32 | id;
}

/* Splits M:F/A. False: it is another text, which is then a name as it stands. */
static bool split(const char *s, size_t n, size_t *module, size_t *slash, uint64_t *arity)
{
    const char *colon = memchr(s, ':', n);
    const char *at = memrchr(s, '/', n);
    if (!colon || !at || colon == s || at <= colon + 1)
        return false;
    *module = (size_t)(colon - s);
    *slash = (size_t)(at - s);
    size_t i = *slash + 1;
    bool zero = i + 1 < n && s[i] == '0';
    return !zero && frame_parse_number(s, n, &i, 3, arity) && i == n && *arity < STACK_NO_ARITY;
}

uint32_t frame_parse(struct stack_profile *p, const char *s, size_t n, uint32_t line, uint32_t file)
{
    struct stack_frame frame = {.arity = STACK_NO_ARITY, .line = line, .file = file};
    size_t module, slash;
    uint64_t arity;
    if (split(s, n, &module, &slash, &arity)) {
        frame.module = stack_profile_text(p, s, module);
        frame.function = stack_profile_text(p, s + module + 1, slash - module - 1);
        frame.arity = (uint32_t)arity;
    } else {
        frame.function = stack_profile_text(p, s, n);
    }
    return stack_profile_frame(p, &frame);
}
