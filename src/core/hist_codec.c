#include "hist_codec.h"

#include <string.h>

enum {
    HAS_CALLS = 1,
    HAS_LATE = 2,
    HAS_ERRORS = 4,
    HAS_SELF = 8,
    HAS_SHARE = 16,
    HAS_CLIPPED = 32,
    HAS_EXITS = 128,
    RAW_SUM = 64
};
enum { UNARY_MAX = 24 }; /* a quotient of this size or more is written as 32 plain bits */

/* ---- bytes ---- */

static uint8_t *put_varint(uint8_t *o, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        *o++ = (uint8_t)(v | 128);
    *o++ = (uint8_t)v;
    return o;
}

static bool get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t b = *(*p)++;
        *v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return true;
    }
    return false;
}

/* ---- bits, the least significant first ---- */

struct bits_out {
    uint8_t *o;
    uint64_t acc;
    unsigned n;
};

static void put_bits(struct bits_out *b, uint64_t v, unsigned n) /* n <= 32 */
{
    b->acc |= v << b->n;
    for (b->n += n; b->n >= 8; b->n -= 8, b->acc >>= 8)
        *b->o++ = (uint8_t)b->acc;
}

static void put_rice(struct bits_out *b, uint32_t v, unsigned k)
{
    uint32_t q = v >> k;

    if (q >= UNARY_MAX) {
        put_bits(b, (UINT64_C(1) << UNARY_MAX) - 1, UNARY_MAX);
        put_bits(b, v, 32);
        return;
    }
    put_bits(b, (UINT64_C(1) << q) - 1, q + 1);
    put_bits(b, v & ((UINT32_C(1) << k) - 1), k);
}

struct bits_in {
    const uint8_t *p, *end;
    uint64_t acc;
    unsigned n;
};

static inline void fill(struct bits_in *b)
{
    if (b->end - b->p >= 8) {
        uint64_t more;
        memcpy(&more, b->p, sizeof more);
        b->acc |= more << b->n;
        b->p += (63 - b->n) >> 3;
        b->n |= 56;
        return;
    }
    while (b->n <= 56) {
        if (b->p == b->end) {
            b->n = 64; /* zeros past the end */
            return;
        }
        b->acc |= (uint64_t)*b->p++ << b->n;
        b->n += 8;
    }
}

static inline uint32_t get_rice(struct bits_in *b, unsigned k)
{
    fill(b);
    unsigned q = (unsigned)__builtin_ctzll(~b->acc | UINT64_C(1) << 63);
    if (q >= UNARY_MAX) {
        b->acc >>= UNARY_MAX;
        b->n -= UNARY_MAX;
        fill(b);
        uint32_t v = (uint32_t)b->acc;
        b->acc >>= 32;
        b->n -= 32;
        return v;
    }
    b->acc >>= q + 1; /* at most 24 of 56 bits, and k is at most 31 */
    b->n -= q + 1;
    uint32_t low = (uint32_t)(b->acc & ((UINT64_C(1) << k) - 1));
    b->acc >>= k;
    b->n -= k;
    return q << k | low;
}

/* ---- buckets ---- */

static unsigned rice_of(uint64_t sum, uint64_t n, unsigned max)
{
    unsigned k = 0;
    while (k < max && n << (k + 1) <= sum)
        k++;
    return k;
}

struct bucket {
    uint32_t at, n;
};

/* The non-empty buckets, in order. */
static uint32_t list_buckets(const struct hist *h, struct bucket *to)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k <= HIST_OCTAVES; k++) {
        const uint64_t *o = h->octave[k];
        for (uint32_t i = 0; o && i < HIST_SUB; i++)
            if (o[i]) {
                uint32_t count = o[i] < UINT32_MAX ? (uint32_t)o[i] : UINT32_MAX;
                to[n++] = (struct bucket){k * HIST_SUB + i, count};
            }
    }
    return n;
}

static uint8_t *put_buckets(uint8_t *o, const struct hist *h)
{
    struct bucket b[HIST_BUCKETS + 1];
    uint32_t n = list_buckets(h, b), next = 0;
    uint64_t counts = 0;

    for (uint32_t i = 0; i < n; i++)
        counts += b[i].n - 1;
    unsigned kg = n ? rice_of(b[n - 1].at + 1 - n, n, 7) : 0, kc = n ? rice_of(counts, n, 31) : 0;
    o = put_varint(o, n);
    *o++ = (uint8_t)(kg << 5 | kc);
    struct bits_out bits = {o, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        put_rice(&bits, b[i].at - next, kg);
        put_rice(&bits, b[i].n - 1, kc);
        next = b[i].at + 1;
    }
    if (bits.n)
        put_bits(&bits, 0, 8 - bits.n);
    return bits.o;
}

/* Creates the octave with a function of hist, which manages its memory. */
static void make_octave(struct hist *h, size_t bucket)
{
    struct hist keep = *h;

    hist_add(h, hist_bucket_low(bucket));
    uint64_t *made = h->octave[bucket / HIST_SUB];
    made[bucket % HIST_SUB] = 0;
    *h = keep;
    h->octave[bucket / HIST_SUB] = made;
}

static inline void change_bucket(struct hist *h, size_t at, uint32_t n, bool take)
{
    uint64_t **o = &h->octave[at / HIST_SUB];

    if (!*o)
        make_octave(h, at);
    uint64_t *c = &(*o)[at % HIST_SUB];
    if (take)
        *c = *c > n ? *c - n : 0;
    else
        *c += n;
}

struct buckets_in {
    struct bits_in bits;
    uint64_t left;
    size_t next, at;
    unsigned kg, kc;
    uint32_t count; /* of bucket `at` */
    bool broken;
};

static bool buckets_begin(struct buckets_in *b, const uint8_t *p, const uint8_t *end)
{
    uint64_t n;

    if (!get_varint(&p, end, &n) || n > HIST_BUCKETS || p == end)
        return false;
    *b = (struct buckets_in){.bits = {p + 1, end, 0, 0}, .left = n, .kg = *p >> 5, .kc = *p & 31};
    return true;
}

static inline bool buckets_next(struct buckets_in *b)
{
    if (b->left == 0)
        return false;
    b->left--;
    b->at = b->next + get_rice(&b->bits, b->kg);
    b->count = get_rice(&b->bits, b->kc) + 1;
    b->next = b->at + 1;
    b->broken = b->at >= HIST_BUCKETS || b->count == 0;
    return !b->broken;
}

static bool get_buckets(const uint8_t *p, const uint8_t *end, struct hist *h, bool take)
{
    struct buckets_in b;

    if (!buckets_begin(&b, p, end))
        return false;
    while (buckets_next(&b))
        change_bucket(h, b.at, b.count, take);
    return !b.broken;
}

/* ---- a row ---- */

static uint8_t *put_scalars(uint8_t *o, const struct figures *f)
{
    const struct hist *h = &f->hist;
    const struct tally *t = &f->tally;
    uint8_t *flags = o++;
    uint64_t sum = h->sum_ns < 9e15 ? (uint64_t)h->sum_ns : 0;

    *flags = 0;
    o = put_varint(o, h->count);
    o = put_varint(o, h->count ? h->min_ns : 0);
    if (h->count > 1) {
        o = put_varint(o, h->max_ns - h->min_ns);
        if (h->sum_ns >= 9e15) {
            *flags |= RAW_SUM;
            memcpy(o, &h->sum_ns, 8);
            o += 8;
        } else {
            o = put_varint(o, sum);
        }
        memcpy(o, &h->sumsq_ns, 8);
        o += 8;
    }
    struct {
        uint64_t v, as;
        uint8_t flag;
    } opt[] = {{t->calls, h->count, HAS_CALLS},
               {t->late, 0, HAS_LATE},
               {t->errors, 0, HAS_ERRORS},
               {t->self_ns, sum, HAS_SELF},
               {t->share_ns, t->self_ns, HAS_SHARE},
               {h->clipped, 0, HAS_CLIPPED},
               {t->exits, 0, HAS_EXITS}};
    for (size_t i = 0; i < sizeof opt / sizeof *opt; i++)
        if (opt[i].v != opt[i].as) {
            *flags |= opt[i].flag;
            o = put_varint(o, opt[i].v);
        }
    return put_varint(o, t->busy_ns);
}

struct scalars {
    uint64_t count, min, spread, clipped;
    double sum_ns, sumsq_ns;
    struct tally t;
};

static bool get_scalars(const uint8_t **p, const uint8_t *end, struct scalars *s)
{
    uint64_t count, min, spread = 0, sum = 0;
    double sum_ns, sumsq_ns;

    if (*p == end)
        return false;
    uint8_t flags = *(*p)++;
    if (!get_varint(p, end, &count) || !get_varint(p, end, &min))
        return false;
    sum = min < UINT64_C(9000000000000000) ? min : 0;
    sum_ns = (double)min;
    sumsq_ns = sum_ns * sum_ns;
    if (count > 1) {
        if (!get_varint(p, end, &spread))
            return false;
        if (flags & RAW_SUM) {
            if (end - *p < 8)
                return false;
            memcpy(&sum_ns, *p, 8);
            *p += 8;
            sum = 0;
        } else {
            if (!get_varint(p, end, &sum))
                return false;
            sum_ns = (double)sum;
        }
        if (end - *p < 8)
            return false;
        memcpy(&sumsq_ns, *p, 8);
        *p += 8;
    }
    uint64_t calls = count, late = 0, errors = 0, self = sum, share = 0, clipped = 0, exits = 0;
    uint64_t busy = 0;
    if ((flags & HAS_CALLS && !get_varint(p, end, &calls)) ||
        (flags & HAS_LATE && !get_varint(p, end, &late)) ||
        (flags & HAS_ERRORS && !get_varint(p, end, &errors)) ||
        (flags & HAS_SELF && !get_varint(p, end, &self)))
        return false;
    share = self;
    if ((flags & HAS_SHARE && !get_varint(p, end, &share)) ||
        (flags & HAS_CLIPPED && !get_varint(p, end, &clipped)) ||
        (flags & HAS_EXITS && !get_varint(p, end, &exits)) || !get_varint(p, end, &busy))
        return false;
    *s = (struct scalars){count,
                          min,
                          spread,
                          clipped,
                          sum_ns,
                          sumsq_ns,
                          {calls, late, errors, exits, self, share, busy}};
    return true;
}

static void add_scalars(struct figures *f, const struct scalars *s)
{
    if (s->count) /* without calls there is no minimum */
        hist_merge_scalars(&f->hist, s->count, s->sum_ns, s->sumsq_ns, s->min, s->min + s->spread,
                           s->clipped);
    f->tally.calls += s->t.calls;
    f->tally.late += s->t.late;
    f->tally.exits += s->t.exits;
    f->tally.errors += s->t.errors;
    f->tally.self_ns += s->t.self_ns;
    f->tally.share_ns += s->t.share_ns;
    f->tally.busy_ns += s->t.busy_ns;
}

/* The length has two bytes and is no varint, because it is known only when the body is written. */
size_t hist_codec_row(uint32_t row, const struct figures *f, uint8_t *out)
{
    uint8_t *o = put_varint(out, row), *len = o;

    o = put_scalars(o + 2, f);
    if (f->hist.count > 1)
        o = put_buckets(o, &f->hist);
    size_t n = (size_t)(o - len - 2);
    len[0] = (uint8_t)n;
    len[1] = (uint8_t)(n >> 8);
    return (size_t)(o - out);
}

bool hist_codec_peek(const uint8_t *p, const uint8_t *end, uint32_t *row)
{
    uint64_t v;
    if (!get_varint(&p, end, &v) || v > UINT32_MAX)
        return false;
    *row = (uint32_t)v;
    return true;
}

/* The body of a row [*p, end): NULL if malformed. */
static const uint8_t *body(const uint8_t **p, const uint8_t *end)
{
    uint64_t row;

    if (!get_varint(p, end, &row) || end - *p < 2)
        return NULL;
    size_t n = (size_t)((*p)[0] | (*p)[1] << 8);
    *p += 2;
    return (size_t)(end - *p) < n ? NULL : *p + n;
}

const uint8_t *hist_codec_add(const uint8_t *p, const uint8_t *end, struct figures *into,
                              enum hist_codec_what what)
{
    struct scalars s;

    end = body(&p, end);
    if (!end || !into)
        return end;
    if (!get_scalars(&p, end, &s))
        return NULL;
    if (what == HIST_CODEC_ALL || what == HIST_CODEC_SCALARS)
        add_scalars(into, &s);
    if (what == HIST_CODEC_SCALARS || s.count == 0)
        return end;
    if (s.count == 1) /* the bucket was left out */
        change_bucket(&into->hist, hist_bucket_of(s.min), 1, what == HIST_CODEC_TAKE);
    else if (!get_buckets(p, end, &into->hist, what == HIST_CODEC_TAKE))
        return NULL;
    return end;
}

const uint8_t *hist_codec_spread(const uint8_t *p, const uint8_t *end, struct figures *const into[],
                                 size_t n, double quantile, struct hist_codec_said *said)
{
    struct buckets_in b;
    struct scalars s;
    uint64_t seen = 0;

    end = body(&p, end);
    if (!end || !get_scalars(&p, end, &s))
        return NULL;
    uint64_t rank = hist_rank(quantile, s.count), max = s.min + s.spread;
    *said = (struct hist_codec_said){s.t.calls, s.count, s.t.errors, rank == 1 ? s.min : max};
    for (size_t i = 0; i < n; i++)
        add_scalars(into[i], &s);
    if (s.count == 0)
        return end;
    if (s.count == 1) {
        for (size_t i = 0; i < n; i++)
            change_bucket(&into[i]->hist, hist_bucket_of(s.min), 1, false);
        return end;
    }
    if (!buckets_begin(&b, p, end))
        return NULL;
    while (buckets_next(&b)) {
        for (size_t i = 0; i < n; i++)
            change_bucket(&into[i]->hist, b.at, b.count, false);
        if (seen < rank && seen + b.count >= rank && rank > 1 && rank < s.count)
            said->value_ns = hist_middle(b.at, s.min, max);
        seen += b.count;
    }
    return b.broken ? NULL : end;
}
