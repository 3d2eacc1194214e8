#include "slow_store.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

void slow_store_init(struct slow_store *s, uint32_t entries)
{
    memset(s, 0, sizeof *s);
    s->log.cap = entries;
    map_init(&s->by_end, SLOW_STORE_REQUESTS);
    slow_running_init(&s->running);
}

void slow_store_set(struct slow_store *s, uint64_t threshold_ns, uint64_t now_ns)
{
    if (!s->threshold_ns || threshold_ns < s->threshold_ns)
        s->since_ns = now_ns;
    s->threshold_ns = s->log.cap ? threshold_ns : 0;
    if (!s->threshold_ns || s->log.entry)
        return;
    s->log.entry = calloc(s->log.cap, sizeof *s->log.entry);
    s->log.open = calloc(SLOW_STORE_OPEN, sizeof *s->log.open);
    if (!s->log.entry || !s->log.open)
        abort();
}

static void forget(struct slow_store *s, uint32_t at)
{
    struct slow_trace_request *r = s->slot[at];
    struct slow_running_place place;

    if (!r)
        return;
    if (map_get(&s->by_end, r->end_ns) == at)
        map_del(&s->by_end, r->end_ns);
    for (uint32_t i = 1; r->running && i < r->n; i++)
        if (r->call[i].flags & SLOW_TRACE_RUNNING)
            slow_running_take(&s->running, &r->call[i], at, &place);
    slow_trace_unref(r);
    s->slot[at] = NULL;
}

/* The ended line with this number; NULL: it has left the list. */
static const struct slow_entry *ended(const struct slow_store *s, uint64_t done)
{
    uint32_t low = 0, high = s->log.n; /* from the oldest */

    while (done && low < high) {
        uint32_t mid = (low + high) / 2, from = s->log.at + s->log.cap - s->log.n;
        const struct slow_entry *e = &s->log.entry[(from + mid) % s->log.cap];
        if (e->done == done)
            return e;
        if (e->done < done)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* Removes a request to make room for a newer one; one of the slowest is moved to slow_kept. */
static void make_room(struct slow_store *s, uint32_t at)
{
    const struct slow_entry *e = ended(s, s->slot_done[at]);

    if (s->slot[at] && e)
        slow_kept_add(&s->kept, e, s->slot[at]);
    if (s->slot[at] && s->slot_done[at])
        slow_kept_compact(&s->kept, s->slot_done[at], s->slot[at]);
    forget(s, at);
    s->slot_done[at] = 0;
}

void slow_store_clear(struct slow_store *s)
{
    s->log.n = s->log.at = s->log.n_open = 0;
    s->log.seq = s->log.done = 0;
    slow_kept_clear(&s->kept);
    for (uint32_t i = 0; i < SLOW_STORE_REQUESTS; i++)
        forget(s, i);
    memset(s->slot_done, 0, sizeof s->slot_done);
    s->n = s->at = 0;
}

void slow_store_release(struct slow_store *s)
{
    slow_store_clear(s);
    for (int i = 0; i < SLOW_STORE_BUILDING; i++)
        slow_store_drop(s, i);
    free(s->early);
    free(s->log.entry);
    free(s->log.open);
    map_release(&s->by_end);
    slow_running_release(&s->running);
    memset(s, 0, sizeof *s);
}

/* ---- the list of slow requests ---- */

/* The request of a line, if it is in the ring of the newest requests, or NULL. */
static const struct slow_trace_request *trace_of(const struct slow_store *s,
                                                 const struct slow_entry *e)
{
    for (uint32_t i = 0; e->trace && i < SLOW_STORE_REQUESTS; i++)
        if (s->slot_done[i] == e->done)
            return s->slot[i];
    return NULL;
}

/* Removes a line from the list. If its request was removed before, it was moved to slow_kept then,
 * if at all. */
static void leave_log(struct slow_store *s, const struct slow_entry *e)
{
    const struct slow_trace_request *r = trace_of(s, e);

    if (r || !e->trace)
        slow_kept_add(&s->kept, e, r);
}

static struct slow_entry *next_done(struct slow_store *s)
{
    struct slow_entry *e = &s->log.entry[s->log.at];

    if (s->log.n == s->log.cap)
        leave_log(s, e);
    s->log.at = s->log.at + 1 == s->log.cap ? 0 : s->log.at + 1;
    if (s->log.n < s->log.cap)
        s->log.n++;
    return e;
}

struct slow_entry *slow_store_entry_new(struct slow_store *s, bool open)
{
    struct slow_entry *e;

    if (!s->threshold_ns)
        return NULL;
    if (open && s->log.n_open == SLOW_STORE_OPEN)
        slow_store_entry_end(s, &s->log.open[0]);
    e = open ? &s->log.open[s->log.n_open++] : next_done(s);
    memset(e, 0, offsetof(struct slow_entry, slow));
    e->seq = ++s->log.seq;
    e->done = open ? 0 : ++s->log.done;
    return e;
}

struct slow_entry *slow_store_entry_of(const struct slow_store *s, uint64_t seq, uint64_t request)
{
    struct slow_entry *e;

    for (uint32_t i = 0; seq && i <= s->log.n_open && (e = slow_store_entry(s, i)); i++)
        if (e->seq == seq && e->request == request)
            return e;
    return NULL;
}

/* the number of lines of slow_kept that are no longer in the list; they come first */
static uint32_t kept_only(const struct slow_store *s)
{
    uint32_t oldest = s->log.n ? (s->log.at + s->log.cap - s->log.n) % s->log.cap : 0;

    return s->log.n ? slow_kept_before(&s->kept, s->log.entry[oldest].done) : s->kept.n;
}

struct slow_entry *slow_store_entry(const struct slow_store *s, uint32_t i)
{
    if (i < s->log.n_open)
        return &s->log.open[s->log.n_open - 1 - i];
    i -= s->log.n_open;
    if (i < s->log.n)
        return &s->log.entry[(s->log.at + s->log.cap - 1 - i) % s->log.cap];
    i -= s->log.n;
    uint32_t n = kept_only(s);
    return i < n ? s->kept.of[n - 1 - i].entry : NULL;
}

void slow_store_rename(struct slow_store *s, uint32_t from, uint32_t to)
{
    struct slow_entry *e;

    for (uint32_t i = 0; i < s->log.n_open + s->log.n && (e = slow_store_entry(s, i)); i++)
        e->ident = e->ident == from ? to : e->ident;
    for (uint32_t i = 0; i < s->kept.n; i++) {
        e = s->kept.of[i].entry;
        e->ident = e->ident == from ? to : e->ident;
    }
}

void slow_store_entry_drop(struct slow_store *s, struct slow_entry *e)
{
    uint32_t at = (uint32_t)(e - s->log.open);

    assert(!e->done && at < s->log.n_open);
    memmove(e, e + 1, (s->log.n_open - 1 - at) * sizeof *e);
    s->log.n_open--;
}

void slow_store_entry_end(struct slow_store *s, struct slow_entry *e)
{
    if (e->done)
        return;
    struct slow_entry *to = next_done(s);
    *to = *e;
    to->done = ++s->log.done;
    slow_store_entry_drop(s, e);
}

void slow_store_end_all(struct slow_store *s)
{
    while (s->log.n_open)
        slow_store_entry_end(s, &s->log.open[0]);
}

static void forget_tier_of_open(struct slow_store *s, uint16_t tier)
{
    uint32_t keep = 0;

    for (uint32_t i = 0; i < s->log.n_open; i++) {
        struct slow_entry *e = &s->log.open[i];
        if (!slow_entry_forget_tier(e, tier))
            continue;
        if (keep != i)
            s->log.open[keep] = *e;
        keep++;
    }
    s->log.n_open = keep;
}

void slow_store_forget_tier(struct slow_store *s, uint16_t tier)
{
    uint32_t keep = 0, n = s->log.n;
    uint32_t first = s->log.cap ? (s->log.at + s->log.cap - n) % s->log.cap : 0;

    for (uint32_t i = 0; i < n; i++) {
        struct slow_entry *e = &s->log.entry[(first + i) % s->log.cap];
        if (!slow_entry_forget_tier(e, tier))
            continue;
        struct slow_entry *to = &s->log.entry[(first + keep++) % s->log.cap];
        if (to != e)
            *to = *e;
    }
    s->log.n = keep;
    s->log.at = s->log.cap ? (first + keep) % s->log.cap : 0;
    forget_tier_of_open(s, tier);
    slow_kept_forget_tier(&s->kept, tier);
}

/* ---- a request ---- */

enum { FIRST_CALLS = 16 };

static struct slow_trace_request *sized(struct slow_trace_request *r, uint32_t cap)
{
    struct slow_trace_request *to = realloc(r, sizeof *to + cap * sizeof to->call[0]);
    if (!to)
        abort();
    to->cap = cap;
    return to;
}

/* ---- requests that are open ---- */

int slow_store_begin(struct slow_store *s, uint64_t label, uint64_t start_ns)
{
    for (int i = 0; i < SLOW_STORE_BUILDING; i++) {
        if (s->building[i])
            continue;
        struct slow_trace_request *r = sized(NULL, FIRST_CALLS);
        memset(r, 0, sizeof *r);
        atomic_init(&r->refs, 1);
        r->cap = FIRST_CALLS;
        r->id = ++s->ids;
        r->label = label;
        r->start_ns = start_ns;
        r->n = 1;
        memset(&r->call[0], 0, sizeof r->call[0]);
        s->building[i] = r;
        return i;
    }
    return -1;
}

bool slow_store_add(struct slow_store *s, int at, const struct slow_trace_call *call)
{
    struct slow_trace_request *r = s->building[at];

    if (r->n == SLOW_TRACE_CALLS)
        return false;
    if (r->n == r->cap)
        r = s->building[at] =
            sized(r, r->cap * 2 < SLOW_TRACE_CALLS ? r->cap * 2 : SLOW_TRACE_CALLS);
    r->call[r->n++] = *call;
    r->running += (call->flags & SLOW_TRACE_RUNNING) != 0;
    return true;
}

void slow_store_drop(struct slow_store *s, int at)
{
    slow_trace_unref(s->building[at]);
    s->building[at] = NULL;
}

/* ---- late calls ---- */

/* The request in a form that may be changed, with room for one more call. */
static struct slow_trace_request *writable(struct slow_store *s, uint32_t at)
{
    struct slow_trace_request *r = s->slot[at];
    uint32_t cap = r->n < r->cap ? r->cap : r->n + FIRST_CALLS;

    if (atomic_load_explicit(&r->refs, memory_order_acquire) > 1) {
        s->slot[at] = slow_trace_copy(r, cap);
        slow_trace_unref(r);
    } else if (cap != r->cap) {
        s->slot[at] = sized(r, cap);
    }
    return s->slot[at];
}

/* at: the position of the request, or SLOW_RUNNING_ANY */
static bool end_running(struct slow_store *s, uint32_t at, const struct slow_trace_call *call)
{
    struct slow_running_place place;

    if (!slow_running_take(&s->running, call, at, &place))
        return false;
    struct slow_trace_request *own = writable(s, place.trace);
    struct slow_trace_call *c = &own->call[place.call];
    c->flags = (uint8_t)((c->flags & ~SLOW_TRACE_RUNNING) | (call->flags & SLOW_TRACE_ERROR) |
                         SLOW_TRACE_ASYNC);
    c->end_ns = call->end_ns;
    if (c->flags & SLOW_TRACE_LATE)
        c->self_ns = call->self_ns;
    own->running--;
    return true;
}

static void remember(struct slow_store *s, uint64_t request_end_ns,
                     const struct slow_trace_call *call)
{
    if (!s->early && !(s->early = calloc(SLOW_STORE_EARLY, sizeof *s->early)))
        abort();
    s->early[s->n_early++ % SLOW_STORE_EARLY] = (struct slow_trace_early){request_end_ns, *call};
}

void slow_store_late(struct slow_store *s, uint64_t request_end_ns,
                     const struct slow_trace_call *call)
{
    uint32_t at = map_get(&s->by_end, request_end_ns);

    if (at == MAP_EMPTY) {
        remember(s, request_end_ns, call);
        return;
    }
    if (end_running(s, at, call))
        return;
    if (s->slot[at]->n >= SLOW_TRACE_CALLS) {
        writable(s, at)->omitted++;
        return;
    }
    struct slow_trace_request *r = writable(s, at);
    r->call[r->n++] = *call;
}

/* A request is closed: its late calls that arrived before are added. */
static void take_early(struct slow_store *s, uint64_t end_ns)
{
    uint32_t n = s->n_early < SLOW_STORE_EARLY ? s->n_early : SLOW_STORE_EARLY;

    for (uint32_t i = s->n_early - n; i != s->n_early; i++) {
        struct slow_trace_early *w = &s->early[i % SLOW_STORE_EARLY];
        if (w->request_end_ns != end_ns)
            continue;
        w->request_end_ns = 0;
        slow_store_late(s, end_ns, &w->call);
    }
}

uint64_t slow_store_close(struct slow_store *s, int at, const struct slow_trace_call *entry)
{
    struct slow_trace_request *r = sized(s->building[at], s->building[at]->n);

    s->building[at] = NULL;
    r->call[0] = *entry;
    make_room(s, s->at);
    s->slot[s->at] = r;
    for (uint32_t i = 1; r->running && i < r->n; i++)
        if (r->call[i].flags & SLOW_TRACE_RUNNING)
            slow_running_add(&s->running, &r->call[i], s->at, i);
    map_put(&s->by_end, r->end_ns, s->at);
    s->at = s->at + 1 == SLOW_STORE_REQUESTS ? 0 : s->at + 1;
    s->n += s->n < SLOW_STORE_REQUESTS;
    uint64_t id = r->id;
    take_early(s, r->end_ns);
    return id;
}

void slow_store_ended(struct slow_store *s, const struct slow_trace_call *call)
{
    end_running(s, SLOW_RUNNING_ANY, call);
}

void slow_store_closed_done(struct slow_store *s, uint64_t id, uint64_t done)
{
    uint32_t newest = (s->at + SLOW_STORE_REQUESTS - 1) % SLOW_STORE_REQUESTS;

    if (s->n && s->slot[newest]->id == id)
        s->slot_done[newest] = done;
}

/* a request of slow_kept that is also in the ring of the newest requests is not listed twice */
const struct slow_trace_request *slow_store_request(const struct slow_store *s, uint32_t i)
{
    if (i < s->n)
        return s->slot[(s->at + SLOW_STORE_REQUESTS - 1 - i) % SLOW_STORE_REQUESTS];
    i -= s->n;
    for (uint32_t k = s->kept.n; k-- > 0;)
        if (s->kept.of[k].compact && i-- == 0)
            return s->kept.of[k].trace;
    return NULL;
}
