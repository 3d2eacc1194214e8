#include "frame_parse.h"

#include <kprof/base/buf.h>
#include <kprof/base/intern.h>
#include <kprof/core/folded.h>

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18, NAMES_MAX = 200000, STACKS_MAX = 1000000 };
#define STACKS_BYTES ((size_t)64 << 20)
#define DEEP         0x80000000u /* a stack is at most 2^31 - 1 */

struct folded {
    struct stack_profile *profile;
    struct folded_counts counts;
    struct buf line;      /* the present, incomplete line */
    bool too_long;        /* the rest of this line is skipped */
    struct intern *names; /* frames as text, so that each is parsed once */
    uint32_t *frame_of;   /* by name */
    struct intern *texts; /* stacks as text: files have a line for each process or thread */
    uint32_t *stack_by;   /* by text; DEEP: it was cut */
    /* The previous stack. Lines are mostly sorted, so the next one often has the same beginning. */
    struct buf last;
    struct step {
        size_t end; /* end of each frame in `last` */
        uint32_t stack;
    } step[FOLDED_DEPTH_MAX];
    uint32_t steps;
};

struct folded *folded_new(struct stack_profile *to)
{
    struct folded *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->profile = to;
    f->names = intern_new(NAMES_MAX, (size_t)64 << 20);
    f->frame_of = calloc(NAMES_MAX + 1, sizeof *f->frame_of);
    f->texts = intern_new(STACKS_MAX, STACKS_BYTES);
    f->stack_by = calloc(STACKS_MAX + 1, sizeof *f->stack_by);
    if (!f->frame_of || !f->stack_by)
        abort();
    buf_init(&f->line, FOLDED_LINE_MAX);
    buf_init(&f->last, FOLDED_LINE_MAX);
    return f;
}

/* A process in angle brackets; 0: it is something else. */
static uint64_t process_of(const char *s, size_t n)
{
    return n > 2 && s[0] == '<' && s[n - 1] == '>' ? frame_parse_process(s + 1, n - 2) : 0;
}

static uint32_t frame_of(struct folded *f, const char *s, size_t n)
{
    uint32_t name = intern_add(f->names, s, n);
    if (name == INTERN_FULL)
        return frame_parse(f->profile, s, n, 0, 0);
    if (f->frame_of[name] == 0)
        f->frame_of[name] = frame_parse(f->profile, s, n, 0, 0);
    return f->frame_of[name];
}

/* Goes back to the last frame that this stack shares with the previous one; returns its end. */
static size_t share(struct folded *f, const char *s, size_t n)
{
    size_t same = 0, most = n < f->last.len ? n : f->last.len;
    while (same < most && s[same] == f->last.data[same])
        same++;
    /* a frame is shared if it ends within the common text */
    while (f->steps > 0) {
        size_t end = f->step[f->steps - 1].end;
        if (end < same || (end == same && (same == n || s[same] == ';')))
            return end;
        f->steps--;
    }
    return 0;
}

/* Pushes the frames of s[0..n). *deep: some did not fit. */
static uint32_t push(struct folded *f, const char *s, size_t n, bool *deep)
{
    size_t from = share(f, s, n);
    uint32_t stack = f->steps > 0 ? f->step[f->steps - 1].stack : 0;
    *deep = false;
    while (from < n) {
        const char *end = memchr(s + from, ';', n - from);
        size_t len = end ? (size_t)(end - s) - from : n - from;
        *deep = *deep || (len > 0 && f->steps == FOLDED_DEPTH_MAX);
        if (len > 0 && f->steps < FOLDED_DEPTH_MAX) {
            stack = stack_profile_push(f->profile, stack, frame_of(f, s + from, len));
            f->step[f->steps++] = (struct step){.end = from + len, .stack = stack};
        }
        from += len + 1;
    }
    buf_clear(&f->last);
    buf_add(&f->last, s, n);
    return stack;
}

static uint32_t stack_of(struct folded *f, const char *s, size_t n)
{
    bool same = n == f->last.len && memcmp(s, f->last.data, n) == 0, deep;
    uint32_t text = same ? INTERN_FULL : intern_add(f->texts, s, n);
    uint32_t known = text == INTERN_FULL ? 0 : f->stack_by[text], stack = known & ~DEEP;

    deep = known & DEEP;
    if (!known)
        stack = push(f, s, n, &deep);
    if (text != INTERN_FULL)
        f->stack_by[text] = stack | (deep ? DEEP : 0);
    f->counts.deep += deep;
    return stack;
}

/* The count at the end, and the end of the stack before it. */
static bool count_of(const char *s, size_t *n, uint64_t *count)
{
    const char *blank = memrchr(s, ' ', *n);
    if (!blank || blank == s)
        return false;
    size_t i = (size_t)(blank - s) + 1;
    if (!frame_parse_number(s, *n, &i, DIGITS_MAX, count) || i != *n)
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
    intern_free(f->names);
    free(f->frame_of);
    intern_free(f->texts);
    free(f->stack_by);
    buf_release(&f->line);
    buf_release(&f->last);
    free(f);
    return counts;
}
