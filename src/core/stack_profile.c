#include <kprof/base/intern.h>
#include <kprof/base/must.h>
#include <kprof/base/pages.h>
#include <kprof/core/stack_profile.h>

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BITS = 12,
    CHUNK_SAMPLES = 1 << CHUNK_BITS,
    /* The metrics of a sample: which are known, and two numbers for each, as varints. */
    METRICS_MAX_BYTES = 5 + STACK_METRICS * 2 * 10,
    CHUNK_METRICS_BYTES = CHUNK_SAMPLES * METRICS_MAX_BYTES,
};

#define DEFAULT_BYTES ((size_t)64 << 20)
#define LEAST_BYTES   ((size_t)4 << 20)
#define TEXT_BYTES    ((size_t)32 << 20)
#define MOST_WEIGHT   (UINT64_C(1) << 62)

/* The block for metrics has their maximum size, so it never moves; pages that were not written use
 * no memory. Only the writer uses n, metrics_bytes and weight. */
struct chunk {
    _Atomic uint32_t refs;
    uint32_t n, metrics_bytes;
    uint64_t weight;
    struct stack_sample sample[CHUNK_SAMPLES];
    uint8_t metrics[CHUNK_METRICS_BYTES];
};

struct stack_key {
    uint32_t caller, frame;
};

struct stack_profile {
    struct stack_profile_limits limits;
    struct stack_profile_meta meta;
    struct stack_profile_counts counts;
    struct intern *texts, *frames, *stacks; /* of bytes, struct stack_frame, struct stack_key */
    uint32_t *function_of;                  /* by frame id */
    struct chunk **chunk;                   /* all but the last are full */
    size_t chunks, chunks_cap;
};

struct stack_view {
    const struct stack_profile *profile;
    struct stack_profile_counts counts;
    size_t n, chunks;
    struct chunk *chunk[];
};

static void chunk_unref(struct chunk *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        pages_free(c, sizeof *c);
}

struct stack_profile *stack_profile_new(const struct stack_profile_limits *l)
{
    struct stack_profile *p = must(calloc(1, sizeof *p));
    if (l)
        p->limits = *l;
    l = &p->limits;
    p->limits.max_bytes = l->max_bytes == 0            ? DEFAULT_BYTES
                          : l->max_bytes < LEAST_BYTES ? LEAST_BYTES
                                                       : l->max_bytes;
    if (l->max_samples == 0)
        p->limits.max_samples = SIZE_MAX;
    else if (l->keep_newest && l->max_samples < 2 * CHUNK_SAMPLES)
        p->limits.max_samples = 2 * CHUNK_SAMPLES;
    p->limits.max_frames = l->max_frames ? l->max_frames : 200000;
    p->limits.max_texts = l->max_texts ? l->max_texts : 200000;
    p->limits.max_stacks = l->max_stacks ? l->max_stacks : 1000000;
    p->texts = intern_new(p->limits.max_texts, TEXT_BYTES);
    p->frames = intern_new(p->limits.max_frames, SIZE_MAX);
    p->stacks = intern_new(p->limits.max_stacks, SIZE_MAX);
    p->function_of = must(calloc((size_t)p->limits.max_frames + 1, sizeof *p->function_of));
    return p;
}

void stack_profile_free(struct stack_profile *p)
{
    if (!p)
        return;
    stack_profile_clear(p);
    intern_free(p->texts);
    intern_free(p->frames);
    intern_free(p->stacks);
    free(p->function_of);
    free(p->chunk);
    free(p);
}

void stack_profile_set_meta(struct stack_profile *p, const struct stack_profile_meta *m)
{
    p->meta = *m;
}

const struct stack_profile_meta *stack_profile_meta(const struct stack_profile *p)
{
    return &p->meta;
}

uint32_t stack_profile_text(struct stack_profile *p, const char *s, size_t n)
{
    uint32_t id = intern_add(p->texts, s, n);
    if (id != INTERN_FULL)
        return id;
    p->counts.refused_texts++;
    return 0;
}

/* Written once, before the id is returned: the reader of a view may read it at any time. */
static void set_function(struct stack_profile *p, uint32_t frame, uint32_t function)
{
    if (p->function_of[frame] == 0)
        p->function_of[frame] = function;
}

uint32_t stack_profile_frame(struct stack_profile *p, const struct stack_frame *f)
{
    assert(f->arity <= STACK_NO_ARITY);
    if (f->function == 0)
        return 0;
    struct stack_frame function = *f;
    function.file = function.line = 0;
    uint32_t of = intern_add(p->frames, &function, sizeof function);
    if (of == INTERN_FULL)
        return 0;
    set_function(p, of, of);
    if (f->file == 0 && f->line == 0)
        return of;
    uint32_t id = intern_add(p->frames, f, sizeof *f);
    if (id == INTERN_FULL)
        return of;
    set_function(p, id, of);
    return id;
}

uint32_t stack_profile_push(struct stack_profile *p, uint32_t caller, uint32_t frame)
{
    assert(caller <= intern_count(p->stacks) && frame <= intern_count(p->frames));
    struct stack_key key = {.caller = caller, .frame = frame};
    uint32_t id = frame == 0 ? INTERN_FULL : intern_add(p->stacks, &key, sizeof key);
    if (id != INTERN_FULL)
        return id;
    p->counts.cut_stacks++;
    return caller;
}

/* A varint: 7 bits per byte, the low ones first; the top bit: more follow. */
static uint8_t *put_number(uint8_t *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *to++ = (uint8_t)(v | 0x80);
    *to++ = (uint8_t)v;
    return to;
}

static const uint8_t *get_number(const uint8_t *at, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = *at++;
        r |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            break;
    }
    *v = r;
    return at;
}

/* ZigZag: the sign in the lowest bit, so that small numbers are short. */
static uint64_t folded(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static int64_t unfolded(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static uint8_t *put_metrics(uint8_t *to, const struct stack_metrics *m)
{
    uint32_t known = m ? m->known & ((1u << STACK_METRICS) - 1) : 0;
    to = put_number(to, known);
    for (unsigned i = 0; known >> i; i++)
        if (known >> i & 1) {
            to = put_number(to, folded(m->value[i]));
            to = put_number(to, folded(m->delta[i]));
        }
    return to;
}

static size_t kept(const struct stack_profile *p)
{
    return p->chunks == 0 ? 0 : (p->chunks - 1) * CHUNK_SAMPLES + p->chunk[p->chunks - 1]->n;
}

static size_t chunk_bytes(const struct chunk *c)
{
    return c->n * sizeof c->sample[0] + c->metrics_bytes;
}

static void drop_oldest(struct stack_profile *p)
{
    struct chunk *c = p->chunk[0];
    p->counts.dropped += c->n;
    p->counts.dropped_weight += c->weight;
    p->counts.bytes -= chunk_bytes(c);
    p->chunks--;
    memmove(p->chunk, p->chunk + 1, p->chunks * sizeof *p->chunk);
    chunk_unref(c);
}

static struct chunk *last_chunk(struct stack_profile *p)
{
    if (p->chunks > 0 && p->chunk[p->chunks - 1]->n < CHUNK_SAMPLES)
        return p->chunk[p->chunks - 1];
    if (p->chunks == p->chunks_cap) {
        p->chunks_cap = p->chunks_cap ? p->chunks_cap * 2 : 16;
        p->chunk = must(realloc(p->chunk, p->chunks_cap * sizeof(struct chunk *)));
    }
    struct chunk *c = pages_new(sizeof *c);
    atomic_init(&c->refs, 1);
    c->n = c->metrics_bytes = 0;
    c->weight = 0;
    p->chunk[p->chunks++] = c;
    return c;
}

static bool has_room(struct stack_profile *p)
{
    size_t need = sizeof(struct stack_sample) + METRICS_MAX_BYTES;
    while (p->counts.bytes + need > p->limits.max_bytes || kept(p) >= p->limits.max_samples) {
        if (!p->limits.keep_newest)
            return false;
        drop_oldest(p);
    }
    return true;
}

bool stack_profile_add(struct stack_profile *p, const struct stack_sample *s,
                       const struct stack_metrics *m)
{
    assert(s->stack <= intern_count(p->stacks) && s->initial_call <= intern_count(p->frames));
    assert(s->status < STACK_STATUSES);
    struct stack_profile_counts *n = &p->counts;
    uint64_t weight = s->weight;
    if (weight > MOST_WEIGHT - n->added_weight)
        weight = 0; /* sums stay exact */
    n->added++;
    n->added_weight += weight;
    if (weight == 0 || !has_room(p)) {
        n->left_out++;
        n->left_out_weight += weight;
        return false;
    }
    struct chunk *c = last_chunk(p);
    uint8_t *at = c->metrics + c->metrics_bytes, *end = put_metrics(at, m);
    c->sample[c->n] = *s;
    c->sample[c->n].metrics_at = c->metrics_bytes;
    c->n++;
    c->metrics_bytes += (uint32_t)(end - at);
    c->weight += weight;
    n->bytes += sizeof *s + (size_t)(end - at);
    return true;
}

void stack_profile_clear(struct stack_profile *p)
{
    while (p->chunks > 0)
        drop_oldest(p);
    p->counts = (struct stack_profile_counts){0};
}

struct stack_profile_counts stack_profile_counts(const struct stack_profile *p)
{
    return p->counts;
}

const char *stack_profile_str(const struct stack_profile *p, uint32_t text, size_t *n)
{
    if (n)
        *n = intern_len(p->texts, text);
    return intern_str(p->texts, text);
}

struct stack_frame stack_profile_frame_of(const struct stack_profile *p, uint32_t frame)
{
    struct stack_frame f = {.arity = STACK_NO_ARITY};
    if (frame != 0)
        memcpy(&f, intern_str(p->frames, frame), sizeof f);
    return f;
}

uint32_t stack_profile_function(const struct stack_profile *p, uint32_t frame)
{
    return p->function_of[frame];
}

static struct stack_key key_of(const struct stack_profile *p, uint32_t stack)
{
    struct stack_key key = {0};
    if (stack != 0)
        memcpy(&key, intern_str(p->stacks, stack), sizeof key);
    return key;
}

uint32_t stack_profile_leaf(const struct stack_profile *p, uint32_t stack)
{
    return key_of(p, stack).frame;
}

uint32_t stack_profile_caller(const struct stack_profile *p, uint32_t stack)
{
    return key_of(p, stack).caller;
}

uint32_t stack_profile_frames(const struct stack_profile *p)
{
    return intern_count(p->frames);
}

uint32_t stack_profile_stacks(const struct stack_profile *p)
{
    return intern_count(p->stacks);
}

struct stack_view *stack_profile_view(struct stack_profile *p)
{
    struct stack_view *v = must(malloc(sizeof *v + p->chunks * sizeof(struct chunk *)));
    *v = (struct stack_view){.profile = p, .counts = p->counts, .n = kept(p), .chunks = p->chunks};
    for (size_t i = 0; i < p->chunks; i++) {
        v->chunk[i] = p->chunk[i];
        atomic_fetch_add_explicit(&v->chunk[i]->refs, 1, memory_order_relaxed);
    }
    return v;
}

void stack_view_release(struct stack_view *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->chunks; i++)
        chunk_unref(v->chunk[i]);
    free(v);
}

const struct stack_profile *stack_view_profile(const struct stack_view *v)
{
    return v->profile;
}

size_t stack_view_count(const struct stack_view *v)
{
    return v->n;
}

const struct stack_profile_counts *stack_view_counts(const struct stack_view *v)
{
    return &v->counts;
}

const struct stack_sample *stack_view_at(const struct stack_view *v, size_t i)
{
    assert(i < v->n);
    return &v->chunk[i >> CHUNK_BITS]->sample[i & (CHUNK_SAMPLES - 1)];
}

void stack_view_metrics(const struct stack_view *v, size_t i, struct stack_metrics *out)
{
    const struct stack_sample *s = stack_view_at(v, i);
    const uint8_t *at = v->chunk[i >> CHUNK_BITS]->metrics + s->metrics_at;
    uint64_t number;
    at = get_number(at, &number);
    *out = (struct stack_metrics){.known = (uint32_t)number};
    for (unsigned m = 0; out->known >> m; m++)
        if (out->known >> m & 1) {
            at = get_number(at, &number);
            out->value[m] = unfolded(number);
            at = get_number(at, &number);
            out->delta[m] = unfolded(number);
        }
}

bool stack_view_metric(const struct stack_view *v, size_t i, enum stack_metric m, int64_t *value,
                       int64_t *delta)
{
    const struct stack_sample *s = stack_view_at(v, i);
    const uint8_t *at = v->chunk[i >> CHUNK_BITS]->metrics + s->metrics_at;
    uint64_t known, number;
    at = get_number(at, &known);
    if (!(known >> m & 1))
        return false;
    for (unsigned before = 0; before < (unsigned)m; before++)
        if (known >> before & 1)
            for (int k = 0; k < 2; k++)
                while (*at++ >= 0x80)
                    ;
    at = get_number(at, &number);
    *value = unfolded(number);
    get_number(at, &number);
    *delta = unfolded(number);
    return true;
}
