#include "record_stacks.h"

#include "stack_message.h"

#include <kprof/base/map.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 65536u /* as many as trace/stack_decode reads */

/* A term as it arrived. */
struct term {
    uint8_t *bytes; /* NULL: free */
    size_t n;
};

struct table {
    struct map of; /* the agent's number -> slot */
    struct term *slot;
    uint32_t *free_slot;
    uint32_t n_free, slots, cap;
};

struct record_stacks {
    struct table processes, stacks;
    struct term figures; /* of the last message */
    uint64_t seq;        /* its number; 0: none */
    int64_t native;
    size_t bytes; /* of all terms */
};

/* ---- a table ---- */

static void drop(struct record_stacks *r, struct term *t)
{
    r->bytes -= t->n;
    free(t->bytes);
    *t = (struct term){0};
}

/* False: there is no room. */
static bool copy(struct record_stacks *r, struct term *t, const uint8_t *from, size_t n)
{
    drop(r, t);
    if (n > RECORD_STACKS_BYTES - r->bytes)
        return false;
    t->bytes = malloc(n ? n : 1);
    if (!t->bytes)
        abort();
    memcpy(t->bytes, from, n);
    t->n = n;
    r->bytes += n;
    return true;
}

static void *larger(void *old, uint32_t n, size_t each)
{
    void *p = realloc(old, n * each);

    if (!p)
        abort();
    return p;
}

static uint32_t new_slot(struct table *t)
{
    if (t->n_free)
        return t->free_slot[--t->n_free];
    if (t->slots == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 256;
        t->slot = larger(t->slot, t->cap, sizeof *t->slot);
        t->free_slot = larger(t->free_slot, t->cap, sizeof *t->free_slot);
    }
    t->slot[t->slots] = (struct term){0};
    return t->slots++;
}

static void forget(struct record_stacks *r, struct table *t, uint64_t number)
{
    uint32_t slot = map_get(&t->of, number);

    if (slot == MAP_EMPTY)
        return;
    map_del(&t->of, number);
    drop(r, &t->slot[slot]);
    t->free_slot[t->n_free++] = slot;
}

static void name(struct record_stacks *r, struct table *t, uint64_t number, const uint8_t *from,
                 size_t n)
{
    forget(r, t, number);
    uint32_t slot = new_slot(t);
    if (!map_put(&t->of, number, slot))
        t->free_slot[t->n_free++] = slot;
    else if (!copy(r, &t->slot[slot], from, n))
        forget(r, t, number);
}

static void clear(struct record_stacks *r, struct table *t)
{
    for (uint32_t i = 0; i < t->slots; i++)
        drop(r, &t->slot[i]);
    map_clear(&t->of);
    t->n_free = t->slots = 0;
}

static void release(struct record_stacks *r, struct table *t)
{
    clear(r, t);
    map_release(&t->of);
    free(t->slot);
    free(t->free_slot);
}

struct record_stacks *record_stacks_new(void)
{
    struct record_stacks *r = calloc(1, sizeof *r);

    if (!r)
        abort();
    map_init(&r->processes.of, NAMED_MAX);
    map_init(&r->stacks.of, NAMED_MAX);
    return r;
}

void record_stacks_free(struct record_stacks *r)
{
    if (!r)
        return;
    release(r, &r->processes);
    release(r, &r->stacks);
    drop(r, &r->figures);
    free(r);
}

/* ---- messages ---- */

/* [{Number, ...}] */
static bool take_names(struct record_stacks *r, struct table *t, struct etf *c)
{
    uint32_t n, arity;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct etf in = *c;
        const uint8_t *from = c->p;
        uint64_t number;
        if (!etf_skip(c) || !etf_tuple(&in, &arity) || !etf_u64(&in, &number))
            return false;
        name(r, t, number, from, (size_t)(c->p - from));
    }
    return n == 0 || etf_nil(c);
}

struct forgetting {
    struct record_stacks *r;
    struct table *t;
};

static void forget_number(void *arg, uint64_t number)
{
    const struct forgetting *f = arg;

    forget(f->r, f->t, number);
}

static bool take_gone(struct record_stacks *r, struct table *t, struct etf *c)
{
    return stack_message_numbers(c, forget_number, &(struct forgetting){r, t});
}

/* {ks, Seq, Native, Figures, Processes, Left, Stacks, Gone, Samples} */
void record_stacks_take(struct record_stacks *r, const void *bytes, size_t n)
{
    struct etf c;
    uint64_t seq;
    int64_t native;

    if (!stack_message_head(&c, bytes, n, &seq, &native))
        return;                      /* of a full trace, or malformed */
    if (seq <= 1 || seq <= r->seq) { /* another sampler: all numbers are new */
        clear(r, &r->processes);
        clear(r, &r->stacks);
    }
    const uint8_t *figures = c.p;
    if (!etf_skip(&c))
        return;
    r->seq = seq;
    r->native = native;
    copy(r, &r->figures, figures, (size_t)(c.p - figures));
    (void)(take_names(r, &r->processes, &c) && take_gone(r, &r->processes, &c) &&
           take_names(r, &r->stacks, &c) && take_gone(r, &r->stacks, &c));
}

static void write_names(const struct table *t, struct buf *out)
{
    uint32_t n = t->slots - t->n_free;

    if (n)
        enc_list(out, n);
    for (uint32_t i = 0; i < t->slots; i++)
        if (t->slot[i].bytes)
            buf_add(out, t->slot[i].bytes, t->slot[i].n);
    enc_nil(out);
}

bool record_stacks_write(const struct record_stacks *r, struct buf *out)
{
    if (!r->figures.bytes || r->processes.slots + r->stacks.slots == 0)
        return false;
    enc_version(out);
    enc_tuple(out, 9);
    enc_atom(out, "ks");
    enc_u64(out, r->seq);
    enc_i64(out, r->native);
    buf_add(out, r->figures.bytes, r->figures.n);
    write_names(&r->processes, out);
    enc_nil(out); /* left */
    write_names(&r->stacks, out);
    enc_nil(out); /* gone */
    enc_nil(out); /* samples */
    return true;
}
