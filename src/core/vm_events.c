#include "vm_events.h"

#define SECOND_NS UINT64_C(1000000000)
/* Two long run queues that are not further apart than this are one event. */
#define TOGETHER_NS UINT64_C(1600000000)
/* All events of a second are among this many of the newest, even if some arrive late. */
enum { RECENT = 64 };

_Static_assert(RECENT >= 2 * VM_EVENTS_A_SECOND * VM_EVENT_COUNT - 8, "a second, and the next one");

static size_t stored(const struct vm_events *v)
{
    return v->n < VM_EVENTS_MAX ? v->n : VM_EVENTS_MAX;
}

static struct vm_event *newest(struct vm_events *v, size_t i)
{
    return i < stored(v) ? &v->of[(v->n - 1 - i) % VM_EVENTS_MAX] : NULL;
}

const struct vm_event *vm_events_newest(const struct vm_events *v, size_t i)
{
    return i < stored(v) ? &v->of[(v->n - 1 - i) % VM_EVENTS_MAX] : NULL;
}

void vm_events_clear(struct vm_events *v)
{
    v->n = 0;
}

/* The queue of a process is short again. */
static void end_queue(struct vm_events *v, uint64_t pid, uint64_t at_ns)
{
    struct vm_event *e;

    for (size_t i = 0; (e = newest(v, i)); i++)
        if (e->kind == VM_EVENT_LONG_QUEUE && e->pid == pid && e->open) {
            e->to_ns = at_ns > e->from_ns ? at_ns : e->from_ns;
            e->open = false;
            return;
        }
}

/* True: it continues the last long run queue. */
static bool goes_on(struct vm_events *v, const struct vm_event *more)
{
    struct vm_event *e;

    for (size_t i = 0; i < RECENT && (e = newest(v, i)); i++) {
        if (e->kind != VM_EVENT_RUN_QUEUE)
            continue;
        if (more->from_ns > e->to_ns + TOGETHER_NS || more->to_ns < e->from_ns)
            return false;
        e->to_ns = more->to_ns > e->to_ns ? more->to_ns : e->to_ns;
        e->value = more->value > e->value ? more->value : e->value;
        return true;
    }
    return false;
}

static uint64_t length(const struct vm_event *e)
{
    return e->to_ns - e->from_ns;
}

/* An event whose second is full takes the place of the shortest of its kind, if it is longer. True:
 * the second is full. */
static bool crowded(struct vm_events *v, const struct vm_event *more)
{
    struct vm_event *e, *least = NULL;
    unsigned n = 0;

    for (size_t i = 0; i < RECENT && (e = newest(v, i)); i++)
        if (e->kind == more->kind && e->to_ns / SECOND_NS == more->to_ns / SECOND_NS) {
            n++;
            if (!least || length(e) < length(least))
                least = e;
        }
    if (n < VM_EVENTS_A_SECOND)
        return false;
    uint32_t others = least->more + (least->more < UINT32_MAX);
    if (length(more) > length(least))
        *least = *more;
    least->more = others;
    return true;
}

void vm_events_take(struct vm_events *v, const struct event *ev)
{
    struct vm_event e = {.to_ns = ev->ts_ns,
                         .from_ns = ev->prev < ev->ts_ns ? ev->ts_ns - ev->prev : 0,
                         .pid = ev->pid,
                         .value = ev->label,
                         .detail = ev->fn,
                         .kind = (uint8_t)ev->tier};

    if (ev->tier >= VM_EVENT_COUNT)
        return;
    if (e.kind == VM_EVENT_LONG_QUEUE) {
        if (!ev->label) {
            end_queue(v, ev->pid, ev->ts_ns);
            return;
        }
        e.open = true;
    }
    if ((e.kind == VM_EVENT_RUN_QUEUE && goes_on(v, &e)) || crowded(v, &e))
        return;
    v->of[v->n++ % VM_EVENTS_MAX] = e;
}
