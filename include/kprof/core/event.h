/* The event record: what a decoder makes of one trace message, and all that core knows of a target.
 *
 * Invariant: plain data, 64 bytes, copied by value through the ring; names are ids of the session's
 * interner. Stamps are the target's monotonic clock in ns since its VM started. */
#ifndef KPROF_CORE_EVENT_H
#define KPROF_CORE_EVENT_H

#include <stdint.h>

#define EVENT_TIERS 64 /* tier numbers are below this */

enum event_kind {
    EVENT_ENTRY = 1, /* call of the entry tier: starts a request (or is nested in one) */
    EVENT_CALL,      /* call of any other tier */
    EVENT_RETURN_TO, /* lean: control came back to function `fn` */
    EVENT_RETURN,    /* full: function `fn` returned */
    EVENT_EXCEPTION, /* full: function `fn` left by an exception */
    EVENT_EXIT,      /* the process is dead (asked of the target in bulk) */
    EVENT_FLUSH,     /* tracing went off at ts: nothing that is open will ever end */
    EVENT_GAP,       /* from ts on: ident = enum gap_reason; GAP_NONE: it traces (twice a second) */
    EVENT_MARK,      /* a traced module was loaded again: ident = interned name */
    EVENT_DROPPED,   /* before ts events were dropped: what is open may have ended */
    EVENT_COUNTED,   /* nothing is traced, calls are counted: label = calls of the tier. tier
                        UINT16_MAX: such counts follow, label = ns before ts that they tell of */
};

/* Why nothing was traced for a while. The first four are the agent's numbers, too. */
enum gap_reason {
    GAP_NONE,
    GAP_OFF,      /* switched off by hand */
    GAP_OVERLOAD, /* the breaker was open */
    GAP_LEASE,    /* kprof-top was silent: stopped, or its link frozen */
    GAP_LOST,     /* the connection was lost */
    GAP_SILENT,   /* no word from the node */
    GAP_COUNT
};

struct event {
    uint64_t ts_ns;
    uint64_t pid;    /* traced process: serial << 32 | id; 0 never occurs */
    uint64_t label;  /* request label; 0: none. A label that is a pid has bit 63 set */
    uint64_t prev;   /* ENTRY: the label the process carried before; 0: none */
    uint32_t fn;     /* interned M:F/A: the called function, or the one returned to/from */
    uint32_t caller; /* CALL/ENTRY under lean returns: interned M:F/A of the caller; 0: undefined */
    uint32_t ident;  /* interned identity; 0: the rule said undefined, or there is none */
    uint16_t tier;   /* CALL/ENTRY: tier number */
    uint8_t kind;    /* enum event_kind */
    uint32_t weight; /* stands for so many requests (no entry: calls); 0 reads as 1 */
    uint32_t pad;
    uint64_t args; /* CALL/ENTRY: handle of the text of its arguments; 0: not told */
};

_Static_assert(sizeof(struct event) == 64, "one cache line");

#endif
