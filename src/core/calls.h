/* The calls, and their shadow stacks, one stack per process. Private to core.
 *
 * Invariant: a call is in use while it is on a stack or in the list of a request; the code that
 * takes it off the last of the two frees it. A process is in the table exactly while its stack has
 * a call. This unit does not use requests or counters. All memory is reserved at the start (touched
 * when first used). One thread. */
#ifndef KPROF_CORE_CALLS_H
#define KPROF_CORE_CALLS_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

#define CALL_NIL UINT32_MAX

enum call_kind {
    CALL_FREE,     /* on the free list */
    CALL_MEMBER,   /* member of a request; on a stack, or held until the request is finalized */
    CALL_OWN,      /* no entry: counted separately */
    CALL_LATE,     /* began after its request had closed */
    CALL_ASYNC,    /* was still running when its request was finalized */
    CALL_ACCOUNTED /* accounted for; stays only to keep stack and list in order */
};

enum {
    CALL_ON_STACK = 1,
    CALL_ERROR = 2,
    CALL_EXIT = 4,
    CALL_DETAIL = 8,  /* its request is followed in detail, from this call on at the latest */
    CALL_ARRIVED = 16 /* the first call of a request in a process other than that of its entry */
};

struct call {
    uint64_t start_ns, end_ns; /* end: valid once the call is off the stack */
    uint64_t child_ns; /* time in calls directly above it; finalized: its share of the request */
    uint64_t self_ns;  /* self time from self_time so far; LATE: end of its request */
    uint64_t pid;      /* serial << 32 | id */
    uint32_t caller;   /* lean: the calling function; full: the called function */
    uint32_t req;      /* MEMBER: its request; else CALL_NIL */
    uint32_t below;    /* the call under it on the stack */
    union {
        uint32_t next;   /* in a request's list, or the free list */
        uint32_t weight; /* of a call without a request */
    };
    uint16_t fold;  /* open calls to itself that were folded into it */
    uint16_t ident; /* identity index, of a call without a request */
    uint8_t tier, kind, flags;
};

_Static_assert(sizeof(struct call) == 64, "one cache line");

struct proc {
    uint64_t pid;
    uint32_t top, depth; /* on the free list: top is the next free entry */
    uint64_t caught_ns;  /* a function that is not on the stack caught an exception then, so calls
                            that began earlier may have ended; 0: none */
    uint64_t
        unknown_ns;    /* the last call that is not on this stack, but may return later; 0: none */
    uint64_t returned; /* a bit for each function that calls have returned to, by its hash */
    uint64_t left_ns;  /* a call was left open then, because of `nested`; 0: none */
    uint64_t last_ns;  /* the newest start or end of a call */
    uint64_t alive_ns; /* the node reported that it was alive then; 0: it was not asked */
    uint64_t dead_ns;  /* the node reported then that it was dead; 0: it did not */
};

struct calls {
    struct call *call;
    uint32_t cap, high, free; /* calls below `high` have been used */
    struct proc *proc;
    uint32_t proc_cap, proc_high, proc_free, depth_max;
    struct map by_pid;
    uint64_t *args; /* handle of the arguments of each call; NULL until the first arrives */
    uint64_t *wait; /* time of its message in the mailbox, plus 1; NULL until the first is known */
};

void calls_init(struct calls *k, uint32_t calls, uint32_t processes, uint32_t depth_max);
void calls_release(struct calls *k);

struct proc *calls_proc(struct calls *k, uint64_t pid); /* NULL: the process has no open calls */
/* Makes room for one more call on the stack of pid. Returns the process, or NULL when a table is
 * full. p: the result of calls_proc. */
struct proc *calls_room(struct calls *k, struct proc *p, uint64_t pid);
/* Puts a new call on top; there must be room. Fields not set here are zero. */
uint32_t calls_push(struct calls *k, struct proc *p);
/* Takes the top call off the stack and returns it. The caller calls calls_trim afterwards. */
uint32_t calls_pop(struct calls *k, struct proc *p);
void calls_trim(struct calls *k, struct proc *p); /* forgets p when its stack is empty */
void calls_unlink(struct calls *k, uint32_t at);  /* takes a call off its stack at any position */
void calls_free(struct calls *k, uint32_t at);
void calls_clear(struct calls *k);                                  /* everything */
void calls_set_args(struct calls *k, uint32_t at, uint64_t handle); /* of base/text_ring */
void calls_set_wait(struct calls *k, uint32_t at, uint64_t ns);

/* The time for which the message of a call was in the mailbox, in ns, plus 1; 0: not known. */
static inline uint64_t calls_wait(const struct calls *k, uint32_t at)
{
    return k->wait ? k->wait[at] : 0;
}

#endif
