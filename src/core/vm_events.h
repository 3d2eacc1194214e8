/* The VM events of the session that the node reported, in a store of fixed size. Private to core.
 *
 * Invariant: the VM_EVENTS_MAX newest are stored, in the order in which they were reported. Of one
 * kind and one second, at most VM_EVENTS_A_SECOND are stored, the longest; the others are counted
 * in `more`, so that a burst of events does not displace all older ones. Times are those of the
 * node; this unit reads no clock. One thread. */
#ifndef KPROF_CORE_VM_EVENTS_H
#define KPROF_CORE_VM_EVENTS_H

#include <kprof/core/event.h>
#include <kprof/core/vm_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VM_EVENTS_MAX      2048
#define VM_EVENTS_A_SECOND 4

struct vm_event {
    uint64_t from_ns, to_ns; /* equal: it has no duration, or it is not known */
    uint64_t pid, value;
    uint32_t detail; /* interned; 0: none */
    uint32_t more;
    uint8_t kind; /* enum vm_event_kind */
    bool open;    /* LONG_QUEUE: its end has not been reported yet */
};

struct vm_events {
    struct vm_event of[VM_EVENTS_MAX]; /* ring */
    size_t n; /* number so far; the newest is n - 1, modulo VM_EVENTS_MAX */
};

/* ev: an EVENT_VM. One of an unknown kind is ignored. */
void vm_events_take(struct vm_events *v, const struct event *ev);
void vm_events_clear(struct vm_events *v);
/* Returns the i-th newest; NULL: there are no more. */
const struct vm_event *vm_events_newest(const struct vm_events *v, size_t i);

#endif
