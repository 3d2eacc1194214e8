#include "scheduling.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 65536, MOMENT_NS = 100000 };

void scheduling_init(struct scheduling *s)
{
    memset(s, 0, sizeof *s);
    map_init(&s->newest, SCHEDULING_POINTS);
    map_init(&s->receives, FUNCTIONS);
}

void scheduling_release(struct scheduling *s)
{
    map_release(&s->newest);
    map_release(&s->receives);
    free(s->point);
    free(s->walk);
    free(s->queue);
    memset(s, 0, sizeof *s);
}

/* ---- points ---- */

static struct scheduling_point *at_number(const struct scheduling *s, uint64_t seq)
{
    struct scheduling_point *p = &s->point[seq % SCHEDULING_POINTS];

    return seq && p->seq == seq ? p : NULL;
}

static struct scheduling_point *newest_of(const struct scheduling *s, uint64_t pid)
{
    uint32_t at = s->point ? map_get(&s->newest, pid) : MAP_EMPTY;

    return at == MAP_EMPTY ? NULL : &s->point[at];
}

static void reserve(struct scheduling *s)
{
    s->point = calloc(SCHEDULING_POINTS, sizeof *s->point);
    s->walk = calloc(SCHEDULING_CALL_POINTS, sizeof *s->walk);
    if (!s->point || !s->walk)
        abort();
}

/* The oldest point makes room. */
static struct scheduling_point *take(struct scheduling *s)
{
    struct scheduling_point *p = &s->point[++s->seq % SCHEDULING_POINTS];

    if (p->seq && newest_of(s, p->pid) == p)
        map_del(&s->newest, p->pid);
    return p;
}

/* Adds the point behind those of its process that are not later. */
static void add(struct scheduling *s, struct scheduling_point new)
{
    if (!s->point)
        reserve(s);
    struct scheduling_point *to = take(s);
    struct scheduling_point *later = NULL, *older = newest_of(s, new.pid);

    while (older && older->ts_ns > new.ts_ns) {
        later = older;
        older = at_number(s, older->older);
    }
    /* The points before it are no longer stored: points between them and this one may be
     * missing. */
    if (later && !older && later->older)
        new.kind = EVENT_UNKNOWN;
    new.seq = s->seq;
    new.older = older ? older->seq : later ? later->older : 0;
    *to = new;
    if (later)
        later->older = new.seq;
    else
        map_put(&s->newest, new.pid, (uint32_t)(new.seq % SCHEDULING_POINTS));
}

/* Events were lost: nothing is known since the last point of each process. */
static void all_unknown(struct scheduling *s)
{
    for (size_t i = 0; s->point && i < SCHEDULING_POINTS; i++) {
        struct scheduling_point *p = &s->point[i];
        if (p->seq && newest_of(s, p->pid) == p)
            p->kind = EVENT_UNKNOWN;
    }
}

static void add_queue(struct scheduling *s, const struct event *ev)
{
    if (!s->queue && !(s->queue = calloc(SCHEDULING_QUEUES, sizeof *s->queue)))
        abort();
    s->queue[s->queues++ % SCHEDULING_QUEUES] =
        (struct scheduling_queue){ev->ts_ns, ev->pid, ev->label};
}

uint32_t scheduling_queue_length(const struct scheduling *s, uint64_t pid, uint64_t from_ns,
                                 uint64_t to_ns)
{
    const struct scheduling_queue *first = NULL;

    for (size_t i = 0; i < SCHEDULING_QUEUES && i < s->queues; i++) {
        const struct scheduling_queue *q = &s->queue[i];
        if (q->pid == pid && q->ts_ns >= from_ns && q->ts_ns <= to_ns &&
            (!first || q->ts_ns < first->ts_ns))
            first = q;
    }
    if (!first)
        return 0;
    return first->length < UINT32_MAX ? (uint32_t)first->length + 1 : UINT32_MAX;
}

void scheduling_event(struct scheduling *s, const struct event *ev)
{
    if (ev->kind == EVENT_RECEIVES)
        map_put(&s->receives, ev->fn, ev->tier != 0);
    else if (ev->kind == EVENT_QUEUE)
        add_queue(s, ev);
    else if (ev->pid == UINT64_MAX)
        all_unknown(s);
    else
        add(s, (struct scheduling_point){.ts_ns = ev->ts_ns,
                                         .pid = ev->pid,
                                         .fn = ev->fn,
                                         .kind = ev->kind,
                                         .dirty = ev->tier == 0});
}

void scheduling_runs(struct scheduling *s, uint64_t pid, uint64_t ts_ns)
{
    add(s, (struct scheduling_point){.ts_ns = ts_ns, .pid = pid, .kind = EVENT_CALL});
}

void scheduling_sent(struct scheduling *s, uint64_t pid, uint64_t to, uint64_t ts_ns)
{
    add(s, (struct scheduling_point){.ts_ns = ts_ns, .pid = pid, .other = to, .kind = EVENT_SENT});
}

/* ---- functions ---- */

enum function { RECEIVES, COMPUTES, USES_PORT, NOT_KNOWN };

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The function that sends the message of a call to a server, and waits for the answer. */
static bool calls_server(const struct intern *names, uint32_t fn)
{
    return fn && begins(intern_str(names, fn), "gen:do_call/");
}

static enum function function_of(const struct scheduling *s, const struct intern *names,
                                 uint32_t fn)
{
    static const char *const ports[] = {"erlang:port_", "erts_internal:port_",
                                        "erts_internal:await_port", "prim_inet:"};
    static const char *const waits[] = {
        "gen:do_call/",     "gen_server:loop/",  "timer:sleep/",         "gen_statem:loop_receive/",
        "gen_event:fetch_", "erlang:hibernate/", "erts_internal:await_", "erts_internal:gather_"};
    const char *name = fn ? intern_str(names, fn) : "";
    uint32_t told = fn ? map_get(&s->receives, fn) : MAP_EMPTY;

    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
        if (begins(name, ports[i]))
            return USES_PORT;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (begins(name, waits[i]))
            return RECEIVES;
    return told == MAP_EMPTY ? NOT_KNOWN : told ? RECEIVES : COMPUTES;
}

/* ---- dividing one call ---- */

struct cutting {
    const struct scheduling *s;
    const struct intern *names;
    const struct scheduling_call *call, *all;
    size_t n_all;
    struct scheduling_cut *out;
    uint64_t at_ns; /* divided up to here */
    enum { RUNS, IS_OUT, UNKNOWN } state;
    bool gc, dirty, dirty_gc;
    uint32_t fn;           /* IS_OUT: where; dirty: the job */
    uint64_t runs_from_ns; /* the process was put on a scheduler */
    uint64_t waits_to_ns;  /* IS_OUT: end of the wait, in which it may check its mailbox */
    uint64_t server;       /* it has sent the message of a call to this process; 0: not known */
};

static void piece_to(struct cutting *k, uint64_t to_ns, enum time_part part, uint32_t what,
                     uint64_t other)
{
    struct scheduling_cut *o = k->out;
    struct scheduling_piece *last = o->n ? &o->piece[o->n - 1] : NULL;
    uint64_t ns = to_ns - k->at_ns;

    if (to_ns <= k->at_ns)
        return;
    o->parts.ns[part] += ns;
    if (last && last->to_ns == k->at_ns && last->part == part && last->what == what &&
        last->other == other)
        last->to_ns = to_ns;
    else if (o->n < SCHEDULING_PIECES - PART_COUNT)
        o->piece[o->n++] = (struct scheduling_piece){k->at_ns, to_ns, other, what, (uint8_t)part};
    else
        o->rest.ns[part] += ns;
    k->at_ns = to_ns;
}

/* A process that gets a signal, or a message that it does not wait for, runs for a moment and waits
 * again. walk[i] is an EVENT_IN that ends a part of a wait. Returns the end of the whole wait. */
static uint64_t end_of_wait(const struct scheduling *s, size_t i, uint32_t fn)
{
    while (i >= 2 && s->walk[i - 1]->kind == EVENT_OUT && s->walk[i - 1]->fn == fn &&
           s->walk[i - 1]->ts_ns - s->walk[i]->ts_ns < MOMENT_NS &&
           s->walk[i - 2]->kind == EVENT_IN)
        i -= 2;
    return s->walk[i]->ts_ns;
}

/* A wait for a message, or a part of it, that ended at to_ns. The first call of the same request
 * that began in another process since this one last ran (if there is none: since this call began)
 * shows where the message went, if that is not known; the last one that ended shows when the answer
 * came. */
static bool waits_for_call(struct cutting *k, uint64_t to_ns, uint32_t fn, bool is_wait)
{
    const struct scheduling_call *first = NULL;
    uint64_t woken_ns = 0, server = calls_server(k->names, fn) ? k->server : 0;

    for (size_t i = 0; i < k->n_all && k->all[i].start_ns < k->waits_to_ns; i++) {
        const struct scheduling_call *c = &k->all[i];
        /* Calls that began before this one are its callers. */
        if (c->pid == k->call->pid || (server && c->pid != server) ||
            (c->end_ns && c->end_ns <= k->at_ns) ||
            c->start_ns < (is_wait ? k->call->start_ns : k->runs_from_ns))
            continue;
        if (!first || first->start_ns < k->runs_from_ns) { /* prefer one that began since */
            first = c;
            woken_ns = 0;
        }
        if (c->end_ns && c->end_ns <= to_ns && c->end_ns > woken_ns)
            woken_ns = c->end_ns;
    }
    if (!first && !is_wait)
        return false;
    if (first && first->start_ns > k->at_ns)
        piece_to(k, first->start_ns < to_ns ? first->start_ns : to_ns, PART_MAILBOX, fn,
                 first->pid);
    piece_to(k, woken_ns ? woken_ns : to_ns, PART_WAIT, fn, first ? first->pid : server);
    piece_to(k, to_ns, PART_RUN_QUEUE, 0, 0);
    return true;
}

/* The process was off its scheduler until to_ns, when it ran again (on_dirty: on a dirty
 * scheduler). */
static void was_out(struct cutting *k, uint64_t to_ns, bool on_dirty)
{
    if (on_dirty)
        piece_to(k, to_ns, k->dirty_gc ? PART_GC : PART_DIRTY, k->dirty_gc ? 0 : k->fn, 0);
    else if (k->dirty)
        piece_to(k, to_ns, PART_RUN_QUEUE, 0, 0); /* back from a dirty scheduler */
    else
        switch (function_of(k->s, k->names, k->fn)) {
        case USES_PORT:
            piece_to(k, to_ns, PART_PORT, k->fn, 0);
            break;
        case COMPUTES:
            piece_to(k, to_ns, PART_RUN_QUEUE, 0, 0);
            break;
        case RECEIVES:
            waits_for_call(k, to_ns, k->fn, true);
            break;
        case NOT_KNOWN:
            if (!waits_for_call(k, to_ns, k->fn, false))
                piece_to(k, to_ns, PART_UNKNOWN, k->fn, 0);
            break;
        }
}

static void ran(struct cutting *k, uint64_t to_ns)
{
    if (k->gc || (k->dirty && k->dirty_gc))
        piece_to(k, to_ns, PART_GC, 0, 0);
    else
        piece_to(k, to_ns, k->dirty ? PART_DIRTY : PART_RUN, k->dirty ? k->fn : 0, 0);
}

/* Divides the time before the point walk[i]. False: the point contradicts the state before it:
 * events are missing. */
static bool before(struct cutting *k, size_t i)
{
    const struct scheduling_point *p = k->s->walk[i];

    if (k->state == IS_OUT && p->kind == EVENT_IN) {
        k->dirty_gc = p->dirty && i > 0 && k->s->walk[i - 1]->kind == EVENT_GC;
        k->waits_to_ns = end_of_wait(k->s, i, k->fn);
        was_out(k, p->ts_ns, p->dirty);
        return true;
    }
    bool fits = k->state == RUNS && p->kind != EVENT_IN &&
                !((p->kind == EVENT_CALL || p->kind == EVENT_SENT) && (k->gc || k->dirty)) &&
                k->gc == (p->kind == EVENT_GC_END || (k->gc && p->kind == EVENT_UNKNOWN));
    if (fits)
        ran(k, p->ts_ns);
    else
        piece_to(k, p->ts_ns, PART_UNKNOWN, 0, 0);
    return fits;
}

static void point(struct cutting *k, size_t i)
{
    const struct scheduling_point *p = k->s->walk[i];
    bool known = before(k, i);

    if (!known)
        k->gc = k->dirty = k->dirty_gc = false;
    switch (p->kind) {
    case EVENT_OUT:
        k->state = IS_OUT;
        k->fn = k->dirty ? k->fn : p->fn;
        k->dirty = p->dirty;
        k->gc = false;
        break;
    case EVENT_IN:
        k->state = RUNS;
        k->dirty = p->dirty;
        if (k->waits_to_ns <= p->ts_ns) { /* else it still waits */
            k->runs_from_ns = p->ts_ns;
            k->server = calls_server(k->names, k->fn) ? 0 : k->server;
        }
        k->fn = k->dirty && !known ? p->fn : k->fn;
        break;
    case EVENT_UNKNOWN:
        k->state = UNKNOWN;
        break;
    default:
        k->state = RUNS;
        k->gc = p->kind == EVENT_GC;
        k->server = p->kind == EVENT_SENT ? p->other : k->server;
        break;
    }
}

/* The points inside of the call, newest first. *whole: the point before them is known, too. */
static size_t points_of(const struct scheduling *s, const struct scheduling_call *c, bool *whole)
{
    const struct scheduling_point *p = newest_of(s, c->pid);
    size_t n = 0;

    *whole = false;
    while (p && p->ts_ns > c->start_ns && n < SCHEDULING_CALL_POINTS) {
        if (p->ts_ns < c->end_ns)
            s->walk[n++] = p;
        p = at_number(s, p->older);
    }
    *whole = p && p->ts_ns <= c->start_ns;
    return n;
}

static void finish(struct cutting *k)
{
    struct scheduling_cut *o = k->out;
    uint64_t end_ns = k->call->end_ns;

    if (k->state == RUNS && !k->gc && !k->dirty)
        ran(k, end_ns);
    else if (k->state == IS_OUT && !k->dirty &&
             function_of(k->s, k->names, k->fn) == RECEIVES) { /* it died there */
        k->waits_to_ns = end_ns;
        was_out(k, end_ns, false);
    }
    piece_to(k, end_ns, PART_UNKNOWN, 0, 0);
    uint64_t at_ns = o->n ? o->piece[o->n - 1].to_ns : k->call->start_ns;
    for (int i = 0; i < PART_COUNT; i++) {
        if (!o->rest.ns[i])
            continue;
        o->piece[o->n++] =
            (struct scheduling_piece){at_ns, at_ns + o->rest.ns[i], 0, 0, (uint8_t)i};
        at_ns += o->rest.ns[i];
    }
    assert(at_ns == (end_ns > k->call->start_ns ? end_ns : k->call->start_ns));
}

void scheduling_cut(const struct scheduling *s, const struct intern *names,
                    const struct scheduling_call *call, const struct scheduling_call *all, size_t n,
                    struct scheduling_cut *out)
{
    struct cutting k = {.s = s,
                        .names = names,
                        .call = call,
                        .all = all,
                        .n_all = n,
                        .out = out,
                        .at_ns = call->start_ns,
                        .runs_from_ns = call->start_ns};
    bool whole = false;

    memset(&out->parts, 0, sizeof out->parts);
    memset(&out->rest, 0, sizeof out->rest);
    out->n = 0;
    size_t points = s->point ? points_of(s, call, &whole) : 0;
    k.state = s->point && whole ? RUNS : UNKNOWN;
    for (size_t i = points; i-- > 0;)
        point(&k, i);
    finish(&k);
}
