/* The event record: a decoder makes one of each trace message. Core gets all data about a node as
 * event records.
 *
 * Invariant: plain data, 64 bytes, copied by value through the ring; names are ids of the interner
 * of the session. Times are in ns: the monotonic clock of the node since its VM started; after a
 * restart of the node they continue (trace/timeline). */
#ifndef KPROF_CORE_EVENT_H
#define KPROF_CORE_EVENT_H

#include <stdint.h>

#define EVENT_TIERS 64 /* tier numbers are below this */

enum event_kind {
    EVENT_ENTRY = 1, /* call of the entry tier: starts a request (or is nested in one) */
    EVENT_CALL,      /* call of any other tier */
    EVENT_RETURN_TO, /* lean: the call returned to function `fn` */
    EVENT_RETURN,    /* full: function `fn` returned */
    EVENT_EXCEPTION, /* full: an exception ended function `fn` */
    EVENT_EXIT,      /* the process is dead (from the answer to {alive, ...}) */
    EVENT_FLUSH,     /* tracing was switched off at ts: calls that are open will have no end */
    EVENT_GAP,       /* from ts on nothing is traced: ident = enum gap_reason. GAP_NONE:
                        calls are traced (reported twice a second). prev: up to this time all
                        events have arrived, except very late ones; 0: not known */
    EVENT_MARK,      /* a traced module was loaded again: ident = interned name */
    EVENT_DROPPED,   /* events were dropped before ts: open calls may have ended */
    EVENT_COUNTED,   /* nothing is traced, calls are counted: label = calls of the tier. tier
                        UINT16_MAX comes first: label = ns before ts that the counts cover */
    EVENT_SENT,      /* pid is about to send the message of a call to the process `prev` */
    /* Of the processes of requests that are followed in detail (label & EVENT_LABEL_DETAIL): */
    EVENT_OUT,      /* the process leaves scheduler `tier` (0: a dirty one), in function `fn` */
    EVENT_IN,       /* it is on a scheduler again */
    EVENT_GC,       /* a garbage collection begins */
    EVENT_GC_END,   /* ... and ends */
    EVENT_RECEIVES, /* function `fn` waits for messages itself (tier 1), or it does not (0) */
    EVENT_UNKNOWN,  /* what the process does from ts on is not known. pid UINT64_MAX: of all
                       processes, since their last events */
    EVENT_QUEUE,    /* of a process to which such a process has sent a message: label = the number
                       of messages in its mailbox */
    /* An event of the VM (core/vm_event.h) ended, or was noticed, at ts: tier = enum vm_event_kind,
     * prev = its duration in ns (0: not known, or it has none), label = its value
     * (VM_EVENT_LONG_QUEUE with label 0: the queue is short again), fn = its detail, interned; pid
     * 0: no process */
    EVENT_VM,
};

/* Set in the label of a request that is followed in detail (not in a label that is a pid). */
#define EVENT_LABEL_DETAIL (UINT64_C(1) << 48)
/* The ticket of a label that is not a pid: the next request has the next one, after the last one 0.
 */
#define EVENT_LABEL_TICKET ((UINT32_C(1) << 27) - 1)
static inline int event_in_detail(uint64_t label)
{
    return !(label >> 63) && (label & EVENT_LABEL_DETAIL) != 0;
}

/* Why nothing was traced. The agent uses the same numbers for the first four. */
enum gap_reason {
    GAP_NONE,
    GAP_OFF,      /* switched off, slow start, or paused for a capture or a full trace */
    GAP_OVERLOAD, /* the breaker was open */
    GAP_LEASE,    /* kprof-top sent nothing: it was suspended, or its connection was blocked */
    GAP_LOST,     /* the connection was lost */
    GAP_SILENT,   /* nothing came from the node */
    GAP_COUNT
};

struct event {
    uint64_t ts_ns;
    uint64_t pid;    /* traced process: serial << 32 | id; 0 never occurs */
    uint64_t label;  /* request label; 0: none. A label that is a pid has bit 63 set */
    uint64_t prev;   /* ENTRY: label of the process before the call; 0: none. SENT: a process */
    uint32_t fn;     /* interned M:F/A: the called function, or the one returned to/from */
    uint32_t caller; /* CALL/ENTRY/SENT under lean returns: interned M:F/A of the caller; 0:
                        undefined */
    uint32_t ident;  /* interned identity; 0: the rule gave undefined, or there is no rule */
    uint16_t tier;   /* CALL/ENTRY: tier number */
    uint8_t kind;    /* enum event_kind */
    uint32_t weight; /* number of requests (no entry: calls) that it represents; 0 means 1 */
    uint32_t pad;
    uint64_t args; /* CALL/ENTRY: handle of the text of its arguments; 0: not known */
};

_Static_assert(sizeof(struct event) == 64, "one cache line");

#endif
