#include "calls.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Reserved as zero pages: unused memory is never resident. */
static void *reserve(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);
    if (!p)
        abort();
    return p;
}

void calls_init(struct calls *k, uint32_t calls, uint32_t processes, uint32_t depth_max)
{
    memset(k, 0, sizeof *k);
    k->cap = calls;
    k->proc_cap = processes;
    k->depth_max = depth_max;
    k->free = k->proc_free = CALL_NIL;
    k->call = reserve(calls, sizeof *k->call);
    k->proc = reserve(processes, sizeof *k->proc);
    map_init(&k->by_pid, processes);
}

void calls_release(struct calls *k)
{
    free(k->call);
    free(k->proc);
    free(k->args);
    free(k->wait);
    map_release(&k->by_pid);
    memset(k, 0, sizeof *k);
}

struct proc *calls_proc(struct calls *k, uint64_t pid)
{
    uint32_t at = map_get(&k->by_pid, pid);
    return at == MAP_EMPTY ? NULL : &k->proc[at];
}

static struct proc *proc_new(struct calls *k, uint64_t pid)
{
    uint32_t at = k->proc_free;

    if (at != CALL_NIL)
        k->proc_free = k->proc[at].top;
    else if (k->proc_high < k->proc_cap)
        at = k->proc_high++;
    else
        return NULL;
    k->proc[at] = (struct proc){.pid = pid, .top = CALL_NIL};
    map_put(&k->by_pid, pid, at);
    return &k->proc[at];
}

struct proc *calls_room(struct calls *k, struct proc *p, uint64_t pid)
{
    if (k->free == CALL_NIL && k->high == k->cap)
        return NULL;
    if (!p)
        return proc_new(k, pid);
    return p->depth < k->depth_max ? p : NULL;
}

uint32_t calls_push(struct calls *k, struct proc *p)
{
    uint32_t at = k->free;

    if (at != CALL_NIL)
        k->free = k->call[at].next;
    else
        at = k->high++;
    assert(at < k->cap);
    k->call[at] = (struct call){
        .pid = p->pid, .below = p->top, .req = CALL_NIL, .next = CALL_NIL, .flags = CALL_ON_STACK};
    p->top = at;
    p->depth++;
    return at;
}

uint32_t calls_pop(struct calls *k, struct proc *p)
{
    uint32_t at = p->top;
    struct call *f = &k->call[at];

    p->top = f->below;
    p->depth--;
    f->below = CALL_NIL;
    f->flags &= (uint8_t)~CALL_ON_STACK;
    return at;
}

void calls_trim(struct calls *k, struct proc *p)
{
    if (p->depth > 0)
        return;
    map_del(&k->by_pid, p->pid);
    p->top = k->proc_free;
    k->proc_free = (uint32_t)(p - k->proc);
}

void calls_unlink(struct calls *k, uint32_t at)
{
    struct call *f = &k->call[at];
    struct proc *p = calls_proc(k, f->pid);

    assert(p && f->flags & CALL_ON_STACK);
    uint32_t *link = &p->top;
    while (*link != at)
        link = &k->call[*link].below;
    *link = f->below;
    f->below = CALL_NIL;
    f->flags &= (uint8_t)~CALL_ON_STACK;
    p->depth--;
    calls_trim(k, p);
}

void calls_free(struct calls *k, uint32_t at)
{
    k->call[at].kind = CALL_FREE;
    k->call[at].flags = 0;
    k->call[at].next = k->free;
    k->free = at;
    if (k->args)
        k->args[at] = 0;
    if (k->wait)
        k->wait[at] = 0;
}

void calls_clear(struct calls *k)
{
    map_clear(&k->by_pid);
    k->high = k->proc_high = 0;
    k->free = k->proc_free = CALL_NIL;
    if (k->args)
        memset(k->args, 0, k->cap * sizeof *k->args);
    if (k->wait)
        memset(k->wait, 0, k->cap * sizeof *k->wait);
}

void calls_set_args(struct calls *k, uint32_t at, uint64_t handle)
{
    if (!k->args)
        k->args = reserve(k->cap, sizeof *k->args);
    k->args[at] = handle;
}

void calls_set_wait(struct calls *k, uint32_t at, uint64_t ns)
{
    if (!k->wait)
        k->wait = reserve(k->cap, sizeof *k->wait);
    k->wait[at] = ns + 1;
}
