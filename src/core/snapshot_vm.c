/* The VM events of a snapshot: those that are stored, the gaps, and the modules that were loaded
 * again; whatever the window is. */
#include "snapshot_impl.h"
#include "state.h"

#include <stdlib.h>

/* A number that is the same in each snapshot. Two events with the same one are told apart by their
 * position only. */
static uint64_t id_of(uint64_t from_ns, enum vm_event_kind kind, uint64_t pid)
{
    uint64_t id = (from_ns * 16 + (uint64_t)kind + 1) ^ (pid << 40);
    return id ? id : 1;
}

struct adding {
    const struct core *c;
    struct snapshot *s;
    struct snap_vm_event *to;
    uint64_t wall_ns; /* of now */
};

static void add(struct adding *a, struct snap_vm_event e, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t now_ns = a->c->now_ns, ago = now_ns > from_ns ? now_ns - from_ns : 0;

    e.id = id_of(from_ns, e.kind, e.pid);
    e.wall_ns = a->wall_ns > ago ? a->wall_ns - ago : 0;
    if (e.open)
        to_ns = now_ns;
    e.took_us = to_ns > from_ns ? us(to_ns - from_ns) : 0;
    a->to[a->s->vm.n++] = e;
}

static int newest_first(const void *x, const void *y)
{
    const struct snap_vm_event *a = x, *b = y;
    return a->wall_ns != b->wall_ns ? (a->wall_ns < b->wall_ns ? 1 : -1)
           : a->kind != b->kind     ? (a->kind < b->kind ? -1 : 1)
           : a->id != b->id         ? (a->id < b->id ? -1 : 1)
                                    : 0;
}

static void add_stored(struct adding *a)
{
    const struct vm_event *e;

    for (size_t i = 0; (e = vm_events_newest(&a->c->vm_events, i)); i++)
        add(a,
            (struct snap_vm_event){
                .kind = (enum vm_event_kind)e->kind,
                .open = e->open,
                .pid = e->pid,
                .value = e->value,
                .more = e->more,
                .detail =
                    e->detail ? snapshot_text(a->s, intern_str(a->c->set.names, e->detail)) : NULL},
            e->from_ns, e->to_ns);
}

void snapshot_add_vm_events(const struct core *c, struct snapshot *s, uint64_t wall_ns)
{
    struct adding a = {.c = c, .s = s, .wall_ns = wall_ns};
    const struct gap *g;
    size_t marks = c->gaps.marks < MARKS_MAX ? c->gaps.marks : MARKS_MAX;

    a.to = snapshot_take(s, (VM_EVENTS_MAX + GAPS_MAX + MARKS_MAX) * sizeof *a.to);
    add_stored(&a);
    for (size_t i = 0; (g = gaps_newest(&c->gaps, i)); i++)
        add(&a,
            (struct snap_vm_event){.kind =
                                       g->reason == GAP_OVERLOAD ? VM_EVENT_BREAKER : VM_EVENT_GAP,
                                   .open = g->to_ns == UINT64_MAX,
                                   .detail = gap_text(g->reason)},
            g->from_ns, g->to_ns);
    for (size_t i = 0; i < marks; i++)
        add(&a,
            (struct snap_vm_event){
                .kind = VM_EVENT_LOADED,
                .detail = snapshot_text(s, intern_str(c->set.names, c->gaps.mark[i].text))},
            c->gaps.mark[i].at_ns, c->gaps.mark[i].at_ns);
    qsort(a.to, s->vm.n, sizeof *a.to, newest_first);
    s->vm.of = a.to;
}

void snapshot_name_vm_events(struct snapshot *s, snapshot_who *who, void *arg)
{
    struct snap_vm_event *own = snapshot_take(s, (s->vm.n + 1) * sizeof *own);

    for (size_t i = 0; i < s->vm.n; i++) {
        const char *name = NULL;
        own[i] = s->vm.of[i];
        if (own[i].pid)
            name = who(arg, own[i].pid, own[i].wall_ns);
        own[i].who = name ? snapshot_text(s, name) : NULL;
    }
    s->vm.of = own;
}

bool snapshot_vm_in_window(const struct snapshot *s, const struct snap_vm_event *e)
{
    uint64_t end = s->time.history ? snapshot_wall_ns(s, s->time.to_s) : s->wall_ns;
    uint64_t length = (uint64_t)(s->window_s * 1e9), took = (uint64_t)(e->took_us * 1e3);
    uint64_t from = end > length ? end - length : 0;

    return e->wall_ns <= end && e->wall_ns + took >= from;
}
