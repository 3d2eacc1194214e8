#include "frame_parse.h"

#include <kprof/base/buf.h>
#include <kprof/base/intern.h>
#include <kprof/core/perf_script.h>

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18, SECONDS_DIGITS = 10, NAMES_MAX = 200000 };
#define METRIC "metric_erlang_"

struct perf_script {
    struct stack_profile *profile;
    struct perf_script_counts counts;
    struct buf line;          /* the incomplete line so far */
    enum stack_metric metric; /* the last one that was read */
    bool too_long;            /* the rest of this line is skipped */
    bool in_sample;
    struct stack_sample sample;
    struct stack_metrics metrics;
    uint32_t frame[PERF_SCRIPT_DEPTH_MAX]; /* leaf first */
    size_t frames;
    bool deep;
    struct intern *names; /* frames as text, so that each is parsed once */
    uint32_t *frame_of;   /* by name */
};

struct perf_script *perf_script_new(struct stack_profile *to)
{
    struct perf_script *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->profile = to;
    f->names = intern_new(NAMES_MAX, (size_t)64 << 20);
    f->frame_of = calloc(NAMES_MAX + 1, sizeof *f->frame_of);
    if (!f->frame_of)
        abort();
    buf_init(&f->line, PERF_SCRIPT_LINE_MAX);
    return f;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t skip_blanks(const char *s, size_t n, size_t i)
{
    while (i < n && is_blank(s[i]))
        i++;
    return i;
}

static size_t skip_word(const char *s, size_t n, size_t i)
{
    while (i < n && !is_blank(s[i]))
        i++;
    return i;
}

/* ---- the first line ---- */

/* SECONDS.FRACTION: as nanoseconds. */
static bool read_time(const char *s, size_t n, uint64_t *ns)
{
    uint64_t sec, part;
    size_t i = 0;
    if (!frame_parse_number(s, n, &i, SECONDS_DIGITS, &sec) || i >= n || s[i] != '.')
        return false;
    size_t first = ++i;
    if (!frame_parse_number(s, n, &i, 9, &part) || i + 1 != n || s[i] != ':')
        return false;
    for (size_t digits = i - first; digits < 9; digits++)
        part *= 10;
    *ns = sec * UINT64_C(1000000000) + part;
    return true;
}

/* Looks for the time, a word such as 12.345678: */
static bool find_time(const char *s, size_t n, size_t *from, size_t *to, uint64_t *ns)
{
    for (size_t i = skip_blanks(s, n, 0); i < n; i = skip_blanks(s, n, i)) {
        size_t end = skip_word(s, n, i);
        if (read_time(s + i, end - i, ns)) {
            *from = i;
            *to = end;
            return true;
        }
        i = end;
    }
    return false;
}

/* 0.80.0, <0.80.0>, 80, or 80/81 */
static uint64_t read_process(const char *s, size_t n)
{
    uint64_t v;
    size_t i = 0;
    if (n > 2 && s[0] == '<' && s[n - 1] == '>')
        return frame_parse_process(s + 1, n - 2);
    if (frame_parse_number(s, n, &i, 9, &v) && (i == n || s[i] == '/'))
        return v;
    return frame_parse_process(s, n);
}

static bool read_signed(const char *s, size_t n, size_t *i, int64_t *v)
{
    uint64_t u;
    *i = skip_blanks(s, n, *i);
    bool minus = *i < n && s[*i] == '-';
    *i += minus;
    if (!frame_parse_number(s, n, i, DIGITS_MAX, &u))
        return false;
    *v = minus ? -(int64_t)u : (int64_t)u;
    return true;
}

/* Metrics are in the same order in all samples: the one after the last one is tried first. */
static enum stack_metric metric_of(struct perf_script *f, const char *s, size_t n)
{
    enum stack_metric next = f->metric + 1 < STACK_METRICS ? f->metric + 1 : 0;
    const char *name = stack_metric_name(next);
    if (strlen(name) != n || memcmp(name, s, n) != 0)
        next = stack_metric_parse(s, n);
    f->metric = next;
    return next;
}

/* Reads metric_erlang_NAME: VALUE, DELTA. Returns where it ends; 0: it is not a metric. */
static size_t read_metric(struct perf_script *f, const char *s, size_t n)
{
    size_t i = sizeof METRIC - 1;
    if (n <= i || memcmp(s, METRIC, i) != 0)
        return 0;
    const char *colon = memchr(s, ':', n);
    if (!colon)
        return 0;
    enum stack_metric m = metric_of(f, s + i, (size_t)(colon - s) - i);
    int64_t value, delta;
    i = (size_t)(colon - s) + 1;
    if (!read_signed(s, n, &i, &value) || i >= n || s[i++] != ',' || !read_signed(s, n, &i, &delta))
        return 0;
    if (m != STACK_METRICS) { /* else one of another program */
        f->metrics.known |= 1u << m;
        f->metrics.value[m] = value;
        f->metrics.delta[m] = delta;
    }
    return i;
}

static void read_metrics(struct perf_script *f, const char *s, size_t n)
{
    size_t i = skip_blanks(s, n, 0);
    while (i < n) {
        size_t used = read_metric(f, s + i, n - i);
        i = used ? i + used : skip_word(s, n, i);
        i = skip_blanks(s, n, i);
    }
}

static void end_sample(struct perf_script *f)
{
    uint32_t stack = 0;
    if (!f->in_sample)
        return;
    for (size_t i = f->frames; i > 0; i--)
        stack = stack_profile_push(f->profile, stack, f->frame[i - 1]);
    f->sample.stack = stack;
    f->counts.samples++;
    f->counts.deep += f->deep;
    stack_profile_add(f->profile, &f->sample, &f->metrics);
    f->in_sample = false;
}

/* STATUS PROCESS [CPU] TIME: EVENT: METRICS; the status may be any text with blanks. */
static void begin_sample(struct perf_script *f, const char *s, size_t n)
{
    size_t from, to, word = 0, last = 0;
    uint64_t ns;
    end_sample(f);
    if (!find_time(s, n, &from, &to, &ns)) {
        f->counts.bad++;
        return;
    }
    f->in_sample = true;
    f->frames = 0;
    f->deep = false;
    f->metrics.known = 0;
    f->sample = (struct stack_sample){.time_ns = ns, .weight = 1};
    f->sample.status = stack_status_parse(s, skip_word(s, n, 0));
    for (size_t i = skip_blanks(s, n, 0); i < from; i = skip_blanks(s, n, i)) {
        if (s[i] != '[') {
            last = i;
            word = skip_word(s, n, i) - i;
        }
        i = skip_word(s, n, i);
    }
    f->sample.process = read_process(s + last, word);
    read_metrics(f, s + to, n - to);
}

/* ---- frames ---- */

/* M:F/A;LINE, from the cache if it was seen before. */
static uint32_t frame_of(struct perf_script *f, const char *s, size_t n, const char *file,
                         size_t file_n)
{
    uint32_t name = intern_add(f->names, s, n);
    if (name != INTERN_FULL && f->frame_of[name])
        return f->frame_of[name];
    const char *semicolon = memrchr(s, ';', n);
    uint64_t line = 0;
    size_t end = n;
    if (semicolon && semicolon > s) {
        size_t i = (size_t)(semicolon - s) + 1;
        if (frame_parse_number(s, n, &i, 9, &line) && i == n)
            end = (size_t)(semicolon - s);
        else
            line = 0;
    }
    uint32_t frame = frame_parse(f->profile, s, end, (uint32_t)line,
                                 line ? stack_profile_text(f->profile, file, file_n) : 0);
    if (name != INTERN_FULL)
        f->frame_of[name] = frame;
    return frame;
}

/* ADDRESS FRAME (FILE); the initial call: ADDRESS (FRAME) (FILE) */
static void take_frame(struct perf_script *f, const char *s, size_t n)
{
    size_t i = skip_blanks(s, n, skip_word(s, n, skip_blanks(s, n, 0)));
    const char *open = memrchr(s, '(', n), *file = "";
    size_t end = n, file_n = 0;
    if (open && open > s + i && is_blank(open[-1]) && s[n - 1] == ')') {
        file = open + 1;
        file_n = n - (size_t)(file - s) - 1;
        end = (size_t)(open - s);
    }
    while (end > i && is_blank(s[end - 1]))
        end--;
    if (end == i) {
        f->counts.bad++;
    } else if (s[i] == '(' && s[end - 1] == ')' && end - i > 2) {
        f->sample.initial_call = frame_of(f, s + i + 1, end - i - 2, "", 0);
    } else if (f->frames == PERF_SCRIPT_DEPTH_MAX) {
        f->deep = true;
    } else {
        f->frame[f->frames++] = frame_of(f, s + i, end - i, file, file_n);
    }
}

/* ---- lines ---- */

static void take_line(struct perf_script *f, const char *s, size_t n)
{
    while (n > 0 && (s[n - 1] == '\r' || is_blank(s[n - 1])))
        n--;
    size_t i = skip_blanks(s, n, 0);
    if (i == n)
        end_sample(f);
    else if (s[0] == '#')
        return;
    else if (i == 0 && !(n > sizeof METRIC && memcmp(s, METRIC, sizeof METRIC - 1) == 0))
        begin_sample(f, s, n);
    else if (!f->in_sample)
        f->counts.bad++;
    else if (n - i > sizeof METRIC && memcmp(s + i, METRIC, sizeof METRIC - 1) == 0)
        read_metrics(f, s, n);
    else
        take_frame(f, s, n);
}

void perf_script_feed(struct perf_script *f, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : n;
        bool whole = end && f->line.len == 0 && !f->too_long && len < PERF_SCRIPT_LINE_MAX;
        if (whole) {
            take_line(f, bytes, len);
        } else if (!f->too_long && f->line.len + len >= PERF_SCRIPT_LINE_MAX) {
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

struct perf_script_counts perf_script_end(struct perf_script *f)
{
    if (!f->too_long)
        take_line(f, f->line.data, f->line.len);
    end_sample(f);
    struct perf_script_counts counts = f->counts;
    intern_free(f->names);
    free(f->frame_of);
    buf_release(&f->line);
    free(f);
    return counts;
}

bool perf_script_is(const char *bytes, size_t n)
{
    size_t from, to;
    uint64_t ns;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : n;
        if (len > 0 && bytes[0] != '#')
            return !is_blank(bytes[0]) && find_time(bytes, len, &from, &to, &ns);
        n -= end ? len + 1 : n;
        bytes += end ? len + 1 : len;
    }
    return false;
}
