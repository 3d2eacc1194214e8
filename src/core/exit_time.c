/* Which processes may have ended inside a call, and when. The VM sends no event for this: the node
 * is asked. */
#include "state.h"

#include <kprof/core/core.h>

/* A process that is alive is asked for again after an eighth of the age of its call. */
#define AGAIN_LEAST_NS 100000000u
#define AGAIN_MOST_NS  1000000000u

static bool is_open_call(const struct call *f)
{
    return f->flags & CALL_ON_STACK && f->kind != CALL_ACCOUNTED;
}

static bool asked_lately(const struct core *c, const struct proc *p, const struct call *f)
{
    uint64_t age = c->now_ns > f->start_ns ? (c->now_ns - f->start_ns) / 8 : 0;
    uint64_t again = age < AGAIN_LEAST_NS  ? AGAIN_LEAST_NS
                     : age < AGAIN_MOST_NS ? age
                                           : AGAIN_MOST_NS;

    return p->alive_ns && after(p->alive_ns, again) > c->now_ns;
}

size_t core_open_pids(const struct core *c, uint64_t age_ns, uint32_t *from, uint64_t *pids,
                      size_t max)
{
    size_t n = 0;
    uint32_t high = c->calls.proc_high, at_proc = *from < high ? *from : 0;

    for (uint32_t i = 0; i < high && n < max; i++) {
        const struct proc *p = &c->calls.proc[at_proc];
        at_proc = at_proc + 1 < high ? at_proc + 1 : 0;
        if (p->depth == 0 || p->dead_ns)
            continue;
        for (uint32_t at = p->top; at != CALL_NIL; at = c->calls.call[at].below) {
            const struct call *f = &c->calls.call[at];
            if (!is_open_call(f) || after(f->start_ns, age_ns) > c->now_ns)
                continue;
            if (age_ns == 0 || !asked_lately(c, p, f))
                pids[n++] = f->pid;
            break;
        }
    }
    *from = at_proc;
    return n;
}

void core_alive(struct core *c, uint64_t pid, uint64_t ts_ns)
{
    struct proc *p = calls_proc(&c->calls, pid);

    if (p && !p->dead_ns && ts_ns > p->alive_ns)
        p->alive_ns = ts_ns;
}

bool core_dead(struct core *c, uint64_t pid, uint64_t ts_ns)
{
    struct proc *p = calls_proc(&c->calls, pid);

    if (!p || p->dead_ns)
        return false;
    p->dead_ns = ts_ns;
    return true;
}

/* The newest sign of life of the process's request: it may have waited for calls in other
 * processes. */
static uint64_t last_of_request(const struct core *c, const struct proc *p)
{
    uint64_t last = p->last_ns;
    uint32_t req = p->top == CALL_NIL ? CALL_NIL : c->calls.call[p->top].req;

    if (req == CALL_NIL)
        return last;
    for (uint32_t at = c->requests.req[req].first; at != CALL_NIL; at = c->calls.call[at].next) {
        const struct call *f = &c->calls.call[at];
        if (!(f->flags & CALL_ON_STACK) && f->end_ns > last && f->end_ns <= p->dead_ns)
            last = f->end_ns;
    }
    return last;
}

uint64_t core_exit_ns(struct core *c, uint64_t pid)
{
    const struct proc *p = calls_proc(&c->calls, pid);

    if (!p)
        return c->now_ns;
    uint64_t last = last_of_request(c, p);
    if (p->alive_ns > last && p->dead_ns > p->alive_ns)
        return p->alive_ns + (p->dead_ns - p->alive_ns) / 2;
    return last;
}
