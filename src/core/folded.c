#include <kprof/base/buf.h>
#include <kprof/core/folded.h>

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18, PID_DIGITS_MAX = 9 };

struct folded {
    struct stack_profile *profile;
    struct folded_counts counts;
    struct buf line; /* what came of a line that has not ended */
    bool too_long;   /* the rest of this line is skipped */
};

struct folded *folded_new(struct stack_profile *to)
{
    struct folded *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->profile = to;
    buf_init(&f->line, FOLDED_LINE_MAX);
    return f;
}

/* Reads digits from s[*i]; false: there are none, or too many. */
static bool number(const char *s, size_t n, size_t *i, size_t most, uint64_t *v)
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

/* A process of the node itself, <0.80.0>; 0: it is something else. */
static uint64_t process_of(const char *s, size_t n)
{
    uint64_t id, serial;
    size_t i = 3;
    if (n < 7 || memcmp(s, "<0.", 3) != 0 || !number(s, n, &i, PID_DIGITS_MAX, &id) || i >= n ||
        s[i++] != '.' || !number(s, n, &i, PID_DIGITS_MAX, &serial) || i + 1 != n || s[i] != '>')
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
    return !zero && number(s, n, &i, 3, arity) && i == n && *arity < STACK_NO_ARITY;
}

static uint32_t frame_of(struct stack_profile *p, const char *s, size_t n)
{
    struct stack_frame frame = {.arity = STACK_NO_ARITY};
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

/* The frames of s[0..n) on top of each other. */
static uint32_t stack_of(struct folded *f, const char *s, size_t n)
{
    uint32_t stack = 0, depth = 0;
    for (size_t from = 0; from < n;) {
        const char *end = memchr(s + from, ';', n - from);
        size_t len = end ? (size_t)(end - s) - from : n - from;
        if (len > 0 && depth++ < FOLDED_DEPTH_MAX)
            stack = stack_profile_push(f->profile, stack, frame_of(f->profile, s + from, len));
        from += len + 1;
    }
    f->counts.deep += depth > FOLDED_DEPTH_MAX;
    return stack;
}

/* The count at the end, and where the stack before it ends. */
static bool count_of(const char *s, size_t *n, uint64_t *count)
{
    const char *blank = memrchr(s, ' ', *n);
    if (!blank || blank == s)
        return false;
    size_t i = (size_t)(blank - s) + 1;
    if (!number(s, *n, &i, DIGITS_MAX, count) || i != *n)
        return false;
    for (*n = (size_t)(blank - s); *n > 0 && s[*n - 1] == ' ';)
        (*n)--;
    return *n > 0;
}

static void take_line(struct folded *f, const char *s, size_t n)
{
    while (n > 0 && (s[n - 1] == '\r' || s[n - 1] == ' '))
        n--;
    if (n == 0 || s[0] == '#')
        return;
    const char *semicolon = memchr(s, ';', n);
    struct stack_sample sample = {.process =
                                      process_of(s, semicolon ? (size_t)(semicolon - s) : n)};
    bool counted = count_of(s, &n, &sample.weight);
    if (!counted && sample.process == 0) {
        f->counts.bad++;
        return;
    }
    if (!counted)
        sample.weight = 1;
    size_t first = sample.process == 0 ? 0 : semicolon ? (size_t)(semicolon - s) + 1 : n;
    sample.stack = stack_of(f, s + first, n - first);
    f->counts.lines++;
    stack_profile_add(f->profile, &sample, NULL);
}

void folded_feed(struct folded *f, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : n;
        bool whole = end && f->line.len == 0 && !f->too_long && len < FOLDED_LINE_MAX;
        if (whole) {
            take_line(f, bytes, len);
        } else if (!f->too_long && f->line.len + len >= FOLDED_LINE_MAX) {
            f->too_long = true;
            f->counts.bad++;
            buf_clear(&f->line);
        } else if (!f->too_long) {
            buf_add(&f->line, bytes, len);
        }
        if (!end)
            return;
        if (!whole && !f->too_long)
            take_line(f, f->line.data, f->line.len);
        buf_clear(&f->line);
        f->too_long = false;
        bytes += len + 1;
        n -= len + 1;
    }
}

struct folded_counts folded_end(struct folded *f)
{
    if (!f->too_long)
        take_line(f, f->line.data, f->line.len);
    struct folded_counts counts = f->counts;
    buf_release(&f->line);
    free(f);
    return counts;
}
