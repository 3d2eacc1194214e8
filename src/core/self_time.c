#include "self_time.h"
#include "state.h"

#include <stdlib.h>

enum { INSERTION_MAX = 24, FIRST_ITEMS = 1024 };

void self_time_release(struct self_time *s)
{
    free(s->item);
    free(s->stack);
}

static void grow(struct self_time *s, uint32_t n)
{
    while (s->cap < n)
        s->cap = s->cap ? s->cap * 2 : FIRST_ITEMS;
    s->item = realloc(s->item, s->cap * sizeof *s->item);
    s->stack = realloc(s->stack, s->cap * sizeof *s->stack);
    if (!s->item || !s->stack)
        abort();
}

static bool starts_after(const struct self_time_item *a, const struct self_time_item *b)
{
    return a->start_ns > b->start_ns || (a->start_ns == b->start_ns && a->order > b->order);
}

static int by_start(const void *a, const void *b)
{
    return starts_after(a, b) ? 1 : -1; /* two calls are never equal */
}

/* Calls are nearly in order: those of one process are, and processes call each other in turn. */
static void sort(struct self_time_item *s, uint32_t n)
{
    if (n > INSERTION_MAX) {
        uint32_t i = 1;
        while (i < n && !starts_after(&s[i - 1], &s[i]))
            i++;
        if (i < n)
            qsort(s, n, sizeof *s, by_start);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        struct self_time_item x = s[i];
        uint32_t j = i;
        for (; j > 0 && starts_after(&s[j - 1], &x); j--)
            s[j] = s[j - 1];
        s[j] = x;
    }
}

static uint64_t end_of(const struct call *f, uint64_t until)
{
    return f->flags & CALL_ON_STACK || f->end_ns > until ? until : f->end_ns;
}

static uint32_t gather(struct core *c, const struct request *r, uint64_t until)
{
    uint32_t n = 0, order = 0;

    if (r->n_calls > c->self_time.cap)
        grow(&c->self_time, r->n_calls);
    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next, order++) {
        const struct call *f = &c->calls.call[at];
        if (f->kind == CALL_MEMBER && end_of(f, until) > r->self_time_until_ns &&
            f->start_ns < until)
            c->self_time.item[n++] = (struct self_time_item){f->start_ns, at, order};
    }
    return n;
}

/* Gives the time from *t to `to` to the calls on the stack, the top first, each at most to its end.
 * */
static uint32_t spend(struct core *c, uint32_t depth, uint64_t *t, uint64_t to, uint64_t until)
{
    while (depth > 0 && *t < to) {
        struct call *f = &c->calls.call[c->self_time.stack[depth - 1]];
        uint64_t end = end_of(f, until), stop = end < to ? end : to;
        if (stop > *t) {
            f->self_ns += stop - *t;
            *t = stop;
        }
        if (end <= *t)
            depth--;
    }
    return depth;
}

void self_time_share(struct core *c, struct request *r, uint64_t until_ns)
{
    uint64_t t = r->self_time_until_ns;

    if (until_ns <= t)
        return;
    uint32_t n = gather(c, r, until_ns), depth = 0;
    sort(c->self_time.item, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t start = c->self_time.item[i].start_ns;
        if (start > t) {
            depth = spend(c, depth, &t, start, until_ns);
            t = start;
        }
        c->self_time.stack[depth++] = c->self_time.item[i].call;
    }
    spend(c, depth, &t, until_ns, until_ns);
    r->self_time_until_ns = until_ns;
}
