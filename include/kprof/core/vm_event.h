/* VM events: what happened on the node apart from the calls. They may explain slow requests.
 *
 * Invariant: plain data. Texts from the node are raw bytes: code that draws them must use text_safe
 * or json_str. The VM reports the first five kinds (OTP 28 and later); kprof-top finds the others
 * itself. */
#ifndef KPROF_CORE_VM_EVENT_H
#define KPROF_CORE_VM_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In order of importance: of several events in one place, the first is shown. */
enum vm_event_kind {
    VM_EVENT_LONG_GC,
    VM_EVENT_LONG_SCHEDULE, /* a process or port ran for a long time without interruption */
    VM_EVENT_BUSY_PORT,     /* a process was suspended because a port was busy */
    VM_EVENT_LONG_QUEUE,    /* a process had many messages */
    VM_EVENT_LARGE_HEAP,
    VM_EVENT_LOADED,    /* a traced module was loaded again */
    VM_EVENT_RUN_QUEUE, /* many processes per scheduler waited to run */
    VM_EVENT_BREAKER,   /* the breaker was open: nothing was traced */
    VM_EVENT_GAP,       /* nothing was traced, for another reason */
    VM_EVENT_COUNT
};

/* Processes per scheduler from which on a run queue is an event. */
#define VM_EVENT_RUN_QUEUE_LONG 3

/* Whether the VM reports events. */
enum vm_event_state {
    VM_EVENTS_NOT_KNOWN, /* the node has not said */
    VM_EVENTS_OFF,       /* not now: tracing is off, or the breaker is open */
    VM_EVENTS_ON,
    VM_EVENTS_NOT_HERE /* the VM cannot: OTP 27 and earlier */
};

struct snap_vm_event {
    enum vm_event_kind kind;
    uint64_t id;      /* the same in each snapshot; 0 never occurs */
    uint64_t wall_ns; /* its start, wall clock of this machine */
    double took_us;   /* 0: it has no duration, or it is not known */
    bool open;        /* its end has not been reported yet */
    uint64_t pid;     /* 0: none */
    const char *who;  /* name of the process; NULL: not known */
    /* LONG_GC, LARGE_HEAP: bytes of the heap; LONG_QUEUE: at least this many messages; RUN_QUEUE:
     * the longest, in processes of all schedulers; else 0. */
    uint64_t value;
    /* LONG_SCHEDULE: the function in which the process stopped, or else began, or the port;
     * BUSY_PORT: the port; LOADED: the module; GAP, BREAKER: the reason. NULL: none. */
    const char *detail;
    uint32_t more; /* events of this kind in the same second that are not stored */
};

/* "long_gc" ... "gap", for programs. */
const char *vm_event_name(enum vm_event_kind kind);
/* The letter on the screen, and what it means (a short phrase). */
char vm_event_letter(enum vm_event_kind kind);
const char *vm_event_meaning(enum vm_event_kind kind);
/* "on" "off" "not on this VM" "-" */
const char *vm_event_state_name(enum vm_event_state state);

#define VM_EVENT_TEXT_BYTES 320
/* The event as text, without its time: "long GC of 84.0 ms in <0.87.0> accounting, heap 62.0M". It
 * may contain names from the node. out: VM_EVENT_TEXT_BYTES. */
void vm_event_text(const struct snap_vm_event *e, char *out);

#endif
