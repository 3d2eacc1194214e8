/* Which traced call each process was in, for the last seconds: stack samples arrive later than the
 * events of their time. Private to core; core_inside_at reads it.
 *
 * Invariant: while it is on, every change of the innermost call of a process is a step here, in the
 * order of arrival; the newest INSIDE_STEPS are kept. A step never changes. An answer is what core
 * knew about the process at that time, or "not known": a process without a step has not changed
 * since `whole_ns`. Labels of merged requests lead to the request that they turned out to be part
 * of, for the last INSIDE_MERGES. Memory is reserved when it is switched on. One thread. */
#ifndef KPROF_CORE_INSIDE_H
#define KPROF_CORE_INSIDE_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

struct core;
struct proc;

enum { INSIDE_STEPS = 1 << 16, INSIDE_MERGES = 1 << 12 };

struct inside_step {
    uint64_t ts_ns, pid;
    uint64_t label;  /* of the request; 0: outside of requests */
    uint64_t before; /* number of the process's step before; 0: none */
    uint32_t name;   /* name id, of a call that is counted separately */
    uint16_t tier;   /* of the innermost call; TIER_NONE: no call is open */
    bool begins;     /* before it, no call was open */
};

struct inside {
    struct inside_step *step; /* a ring, by number; NULL: off */
    uint64_t n;               /* steps so far; they are numbered 1..n */
    uint64_t whole_ns;        /* all steps from then on are stored */
    uint64_t flush_ns;        /* time at which all calls were last forgotten */
    struct map newest;        /* pid -> slot of its newest step */
    struct inside_merge {
        uint64_t from, into; /* labels */
    } * merge;               /* a ring */
    uint64_t merges;
    struct map merged; /* label -> slot */
};

void inside_init(struct inside *n);
void inside_release(struct inside *n);
void inside_on(struct inside *n, uint64_t now_ns);
/* Forgets all open calls: what the processes are in from now on is not known. */
void inside_flush(struct inside *n, uint64_t now_ns);

/* The stack of a process has changed at ts. p: NULL or without a call: no call is open. pushed: a
 * call was added. */
void inside_changed(struct core *c, uint64_t pid, const struct proc *p, uint64_t ts_ns,
                    bool pushed);
/* The request `from` has turned out to be part of the request `into`. Both are labels. */
void inside_merged(struct core *c, uint64_t into, uint64_t from);
/* The label of the request that `label` was merged into, or label itself. */
uint64_t inside_label(const struct inside *n, uint64_t label);

#endif
