/* HdrHistogram log (format version 1.3) with V2 compressed histograms, one line per row: the
 * HdrHistogram tools of every language can read it. Values are nanoseconds with 3 significant
 * digits, more than the buckets of base/hist have; the calls of a bucket are at its middle, minimum
 * and maximum are exact. Source of the format: HistogramLogWriter and the encodings of HdrHistogram
 * (Gil Tene); no code was copied. */
#include <kprof/base/clock.h>
#include <kprof/base/hist.h>
#include <kprof/base/text.h>
#include <kprof/export/writers.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    V2_ENCODING = 0x1c849303 | 0x10,
    V2_COMPRESSED = 0x1c849304 | 0x10,
    DIGITS = 3,
    SUB_HALF_BITS = 10, /* 2048 sub-buckets for 3 digits */
    V2_HEAD_BYTES = 40,
    TAG_COLS = 200
};

/* ---- the V2 encoding: a header, then counts by ascending index as signed variable-length numbers,
 * a negative one for a run of zeros ---- */

static size_t index_of(uint64_t value_ns)
{
    uint64_t masked = value_ns | ((2u << SUB_HALF_BITS) - 1);
    unsigned bucket = 63u - SUB_HALF_BITS - (unsigned)__builtin_clzll(masked);
    return ((size_t)bucket << SUB_HALF_BITS) + (size_t)(value_ns >> bucket);
}

static void add_be(struct buf *out, uint64_t v, unsigned bytes)
{
    while (bytes-- > 0)
        buf_addch(out, (char)(v >> (8 * bytes) & 0xff));
}

/* ZigZag, then LEB128 of at most 9 bytes, the ninth with all its 8 bits. */
static void add_number(struct buf *out, int64_t n)
{
    uint64_t v = (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0);
    for (unsigned i = 0; i < 8 && v > 0x7f; i++, v >>= 7)
        if (i < 8)
            buf_addch(out, (char)(v & 0x7f) | (char)0x80);
    buf_addch(out, (char)v);
}

struct counts {
    struct buf *out;
    size_t index; /* next to be written */
    size_t held_index;
    uint64_t held; /* calls of held_index, not yet written */
};

static void flush(struct counts *c)
{
    if (c->held == 0)
        return;
    if (c->held_index > c->index)
        add_number(c->out, -(int64_t)(c->held_index - c->index));
    add_number(c->out, (int64_t)c->held);
    c->index = c->held_index + 1;
    c->held = 0;
}

/* Values come in ascending order. */
static void count(struct counts *c, uint64_t value_ns, uint64_t calls)
{
    size_t index = index_of(value_ns < HIST_MAX_NS ? value_ns : HIST_MAX_NS - 1);
    if (index != c->held_index)
        flush(c);
    c->held_index = index;
    c->held += calls;
}

static void add_counts(struct buf *out, const struct hist *h, uint64_t min_ns, uint64_t max_ns)
{
    struct counts c = {.out = out};
    uint64_t total = 0, seen = 0;
    for (size_t b = 0; b < HIST_BUCKETS; b++)
        total += hist_bucket_count(h, b);
    for (size_t b = 0; b < HIST_BUCKETS; b++) {
        uint64_t n = hist_bucket_count(h, b);
        if (n == 0)
            continue;
        uint64_t mid = hist_bucket_low(b) + (hist_bucket_high(b) - hist_bucket_low(b)) / 2;
        mid = mid < min_ns ? min_ns : mid > max_ns ? max_ns : mid;
        bool first = seen == 0, last = seen + n == total && n > first;
        seen += n;
        if (first)
            count(&c, min_ns, 1);
        if (n > (uint64_t)first + last)
            count(&c, mid, n - first - last);
        if (last)
            count(&c, max_ns, 1);
    }
    flush(&c);
}

static void encode(struct buf *out, const struct snap_row *r)
{
    struct hist h;
    struct buf counts;
    uint64_t min_ns = (uint64_t)(r->min_us * 1e3 + 0.5), max_ns = (uint64_t)(r->max_us * 1e3 + 0.5);
    const double ratio = 1;
    uint64_t ratio_bits;

    hist_init(&h);
    buf_init(&counts, 0);
    hist_unpack_add(&h, r->packed, r->n_packed);
    add_counts(&counts, &h, min_ns, max_ns);
    memcpy(&ratio_bits, &ratio, sizeof ratio_bits);
    add_be(out, V2_ENCODING, 4);
    add_be(out, counts.len, 4);
    add_be(out, 0, 4); /* normalizing index offset */
    add_be(out, DIGITS, 4);
    add_be(out, 1, 8);
    add_be(out, HIST_MAX_NS - 1, 8);
    add_be(out, ratio_bits, 8);
    buf_add(out, counts.data, counts.len);
    buf_release(&counts);
    hist_release(&h);
}

/* ---- compressed, as text ---- */

static void add_base64(struct buf *out, const uint8_t *p, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);
        buf_addch(out, digit[v >> 18]);
        buf_addch(out, digit[v >> 12 & 63]);
        buf_addch(out, left > 1 ? digit[v >> 6 & 63] : '=');
        buf_addch(out, left > 2 ? digit[v & 63] : '=');
    }
}

static void add_histogram(struct buf *out, const struct snap_row *r)
{
    struct buf plain, packed;
    buf_init(&plain, 0);
    buf_init(&packed, 0);
    encode(&plain, r);
    uLongf n = compressBound(plain.len);
    Bytef *z = malloc(n);
    if (!z || compress(z, &n, (const Bytef *)plain.data, plain.len) != Z_OK)
        abort(); /* only an allocation can fail: the size is zlib's own bound */
    add_be(&packed, V2_COMPRESSED, 4);
    add_be(&packed, n, 4);
    buf_add(&packed, z, n);
    add_base64(out, (const uint8_t *)packed.data, packed.len);
    free(z);
    buf_release(&plain);
    buf_release(&packed);
}

/* ---- lines ---- */

/* A tag ends at a comma or a blank. */
static void add_tag(struct buf *out, const struct snap_row *r)
{
    struct buf tag;
    buf_init(&tag, 0);
    text_safe(&tag, r->tier_name, strlen(r->tier_name), TAG_COLS, false);
    if (r->ident) {
        buf_addch(&tag, '/');
        text_safe(&tag, r->ident, strlen(r->ident), TAG_COLS, false);
    }
    for (size_t i = 0; i < tag.len; i++)
        buf_addch(out, strchr(", \"", tag.data[i]) ? '_' : tag.data[i]);
    buf_release(&tag);
}

static void head(struct buf *out, const struct snapshot *s)
{
    char at[40];
    uint64_t start_ns = s->wall_ns - (uint64_t)(s->elapsed_s * 1e9);
    clock_format_wall(start_ns, at, sizeof at);
    buf_adds(out, "#[Logged with kprof-top " KPROF_VERSION ", node ");
    text_safe(out, s->node.name, strlen(s->node.name), 0, false);
    buf_adds(out, "; values in nanoseconds, Interval_Max in milliseconds]\n"
                  "#[Histogram log format version 1.3]\n");
    buf_addf(out, "#[StartTime: %.3f (seconds since epoch), %s]\n", (double)start_ns / 1e9, at);
    buf_adds(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
                  "\"Interval_Compressed_Histogram\"\n");
}

/* Values of the interval that are not in its histograms. */
static void remarks(struct buf *out, const struct snapshot *s)
{
    if (s->breaker.state != BREAKER_CLOSED)
        buf_addf(out, "#[Breaker %s, trips %" PRIu64 "]\n", breaker_name(s->breaker.state),
                 s->breaker.trips);
    if (s->gap_s > 0) {
        enum gap_reason most;
        snapshot_gap_s(s, HUGE_VAL, 0, &most);
        buf_addf(out, "#[Nothing was traced for %.3f s of the interval: %s]\n", s->gap_s,
                 gap_name(most));
    }
    for (size_t i = 0; i < s->n_marks; i++) {
        buf_adds(out, "#[Loaded again: ");
        text_safe(out, s->marks[i].module, strlen(s->marks[i].module), 0, false);
        buf_adds(out, "]\n");
    }
    if (s->lost.target || s->lost.ring)
        buf_addf(out, "#[Lost events so far: target %" PRIu64 ", ring %" PRIu64 "]\n",
                 s->lost.target, s->lost.ring);
    if (s->sample > 1)
        buf_addf(out,
                 "#[One request in %" PRIu32 " was traced; counts are estimates for all calls]\n",
                 s->sample);
}

void export_hlog(struct buf *out, const struct snapshot *s, bool first)
{
    double start_s = (double)(s->time.zero_wall_ns + s->time.from_ns) / 1e9;
    if (first)
        head(out, s);
    remarks(out, s);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (!r->packed)
            continue;
        buf_adds(out, "Tag=");
        add_tag(out, r);
        buf_addf(out, ",%.3f,%.3f,%.6f,", start_s, s->window_s, r->max_us / 1e3);
        add_histogram(out, r);
        buf_addch(out, '\n');
    }
}
