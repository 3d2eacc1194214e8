#include <kprof/core/slow_trace.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CALLS = 16 };

static struct slow_trace_request *sized(struct slow_trace_request *r, uint32_t cap)
{
    struct slow_trace_request *to = realloc(r, sizeof *to + cap * sizeof to->call[0]);
    if (!to)
        abort();
    to->cap = cap;
    return to;
}

/* A field at a time where it counts: an atomic is not copied as bytes. */
static struct slow_trace_request *copy_of(const struct slow_trace_request *r, uint32_t cap)
{
    struct slow_trace_request *to = sized(NULL, cap);

    to->id = r->id;
    to->label = r->label;
    to->start_ns = r->start_ns;
    to->end_ns = r->end_ns;
    to->untold_self_ns = r->untold_self_ns;
    to->untold = r->untold;
    to->n = r->n;
    to->running = r->running;
    to->error = r->error;
    memcpy(to->ident, r->ident, sizeof to->ident);
    memcpy(to->call, r->call, r->n * sizeof r->call[0]);
    atomic_init(&to->refs, 1);
    return to;
}

const struct slow_trace_request *slow_trace_ref(const struct slow_trace_request *r)
{
    atomic_fetch_add_explicit(&((struct slow_trace_request *)(uintptr_t)r)->refs, 1,
                              memory_order_relaxed);
    return r;
}

void slow_trace_unref(const struct slow_trace_request *r)
{
    struct slow_trace_request *own = (struct slow_trace_request *)(uintptr_t)r;

    if (own && atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        free(own);
}

void slow_trace_init(struct slow_traces *k)
{
    memset(k, 0, sizeof *k);
    map_init(&k->by_end, SLOW_TRACE_REQUESTS);
}

static void forget(struct slow_traces *k, uint32_t at)
{
    struct slow_trace_request *r = k->slot[at];

    if (!r)
        return;
    if (map_get(&k->by_end, r->end_ns) == at)
        map_del(&k->by_end, r->end_ns);
    k->running -= r->running;
    slow_trace_unref(r);
    k->slot[at] = NULL;
}

void slow_trace_clear(struct slow_traces *k)
{
    for (uint32_t i = 0; i < SLOW_TRACE_REQUESTS; i++)
        forget(k, i);
    k->n = k->at = 0;
}

void slow_trace_release(struct slow_traces *k)
{
    slow_trace_clear(k);
    for (int i = 0; i < SLOW_TRACE_BUILDING; i++)
        slow_trace_drop(k, i);
    free(k->early);
    map_release(&k->by_end);
}

/* ---- open ones ---- */

int slow_trace_begin(struct slow_traces *k, uint64_t label, uint64_t start_ns)
{
    for (int i = 0; i < SLOW_TRACE_BUILDING; i++) {
        if (k->building[i])
            continue;
        struct slow_trace_request *r = sized(NULL, FIRST_CALLS);
        memset(r, 0, sizeof *r);
        atomic_init(&r->refs, 1);
        r->cap = FIRST_CALLS;
        r->id = ++k->ids;
        r->label = label;
        r->start_ns = start_ns;
        r->n = 1;
        memset(&r->call[0], 0, sizeof r->call[0]);
        k->building[i] = r;
        return i;
    }
    return -1;
}

bool slow_trace_add(struct slow_traces *k, int at, const struct slow_trace_call *call)
{
    struct slow_trace_request *r = k->building[at];

    if (r->n == SLOW_TRACE_CALLS)
        return false;
    if (r->n == r->cap)
        r = k->building[at] =
            sized(r, r->cap * 2 < SLOW_TRACE_CALLS ? r->cap * 2 : SLOW_TRACE_CALLS);
    r->call[r->n++] = *call;
    r->running += (call->flags & SLOW_TRACE_RUNNING) != 0;
    return true;
}

void slow_trace_drop(struct slow_traces *k, int at)
{
    slow_trace_unref(k->building[at]);
    k->building[at] = NULL;
}

/* ---- late work ---- */

/* The request in a form that may be changed, with room for one more call. */
static struct slow_trace_request *writable(struct slow_traces *k, uint32_t at)
{
    struct slow_trace_request *r = k->slot[at];
    uint32_t cap = r->n < r->cap ? r->cap : r->n + FIRST_CALLS;

    if (atomic_load_explicit(&r->refs, memory_order_acquire) > 1) {
        k->slot[at] = copy_of(r, cap);
        slow_trace_unref(r);
    } else if (cap != r->cap) {
        k->slot[at] = sized(r, cap);
    }
    return k->slot[at];
}

static bool end_running(struct slow_traces *k, uint32_t at, const struct slow_trace_call *call)
{
    const struct slow_trace_request *r = k->slot[at];
    uint32_t i = 0;

    while (i < r->n && !(r->call[i].flags & SLOW_TRACE_RUNNING && r->call[i].pid == call->pid &&
                         r->call[i].start_ns == call->start_ns && r->call[i].tier == call->tier))
        i++;
    if (i == r->n)
        return false;
    struct slow_trace_request *own = writable(k, at);
    struct slow_trace_call *c = &own->call[i];
    c->flags = (uint8_t)((c->flags & ~SLOW_TRACE_RUNNING) | (call->flags & SLOW_TRACE_ERROR) |
                         SLOW_TRACE_ASYNC);
    c->end_ns = call->end_ns;
    if (c->flags & SLOW_TRACE_LATE)
        c->self_ns = call->self_ns;
    own->running--;
    k->running--;
    return true;
}

static void remember(struct slow_traces *k, uint64_t request_end_ns,
                     const struct slow_trace_call *call)
{
    if (!k->early && !(k->early = calloc(SLOW_TRACE_EARLY, sizeof *k->early)))
        abort();
    k->early[k->n_early++ % SLOW_TRACE_EARLY] = (struct slow_trace_early){request_end_ns, *call};
}

void slow_trace_late(struct slow_traces *k, uint64_t request_end_ns,
                     const struct slow_trace_call *call)
{
    uint32_t at = map_get(&k->by_end, request_end_ns);

    if (at == MAP_EMPTY) {
        remember(k, request_end_ns, call);
        return;
    }
    if (k->slot[at]->running && end_running(k, at, call))
        return;
    if (k->slot[at]->n >= SLOW_TRACE_CALLS) {
        writable(k, at)->untold++;
        return;
    }
    struct slow_trace_request *r = writable(k, at);
    r->call[r->n++] = *call;
}

/* A request is closed: what came too early of its late work. */
static void take_early(struct slow_traces *k, uint64_t end_ns)
{
    uint32_t n = k->n_early < SLOW_TRACE_EARLY ? k->n_early : SLOW_TRACE_EARLY;

    for (uint32_t i = k->n_early - n; i != k->n_early; i++) {
        struct slow_trace_early *w = &k->early[i % SLOW_TRACE_EARLY];
        if (w->request_end_ns != end_ns)
            continue;
        w->request_end_ns = 0;
        slow_trace_late(k, end_ns, &w->call);
    }
}

uint64_t slow_trace_close(struct slow_traces *k, int at, const struct slow_trace_call *entry)
{
    struct slow_trace_request *r = sized(k->building[at], k->building[at]->n);

    k->building[at] = NULL;
    r->call[0] = *entry;
    forget(k, k->at);
    k->slot[k->at] = r;
    k->running += r->running;
    map_put(&k->by_end, r->end_ns, k->at);
    k->at = k->at + 1 == SLOW_TRACE_REQUESTS ? 0 : k->at + 1;
    k->n += k->n < SLOW_TRACE_REQUESTS;
    uint64_t id = r->id;
    take_early(k, r->end_ns);
    return id;
}

void slow_trace_ended(struct slow_traces *k, const struct slow_trace_call *call)
{
    for (uint32_t i = 0; i < SLOW_TRACE_REQUESTS && k->running; i++)
        if (k->slot[i] && k->slot[i]->running && end_running(k, i, call))
            return;
}

const struct slow_trace_request *slow_trace_newest(const struct slow_traces *k, uint32_t i)
{
    return i < k->n ? k->slot[(k->at + SLOW_TRACE_REQUESTS - 1 - i) % SLOW_TRACE_REQUESTS] : NULL;
}
