#include "mailbox.h"
#include "attribution.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <math.h>
#include <stdlib.h>

#define NIL UINT32_MAX

enum { EPOCH_S = 5 };

/* In less time, one call with a large weight, or a long one from before, would be 100 %. */
#define SEEN_LEAST_S 1.0

void mailbox_init(struct mailbox *m)
{
    *m = (struct mailbox){.free = NIL};
    map_init(&m->by_sender, MAILBOX_SENT);
    map_init(&m->by_target, MAILBOX_SENT);
    map_init(&m->by_server, MAILBOX_SERVERS);
}

void mailbox_release(struct mailbox *m)
{
    free(m->sent);
    free(m->server);
    free(m->share);
    map_release(&m->by_sender);
    map_release(&m->by_target);
    map_release(&m->by_server);
    *m = (struct mailbox){.free = NIL};
}

void mailbox_clear(struct mailbox *m)
{
    map_clear(&m->by_sender);
    map_clear(&m->by_target);
    m->high = m->hand = 0;
    m->free = NIL;
}

static void *reserve(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);
    if (!p)
        abort();
    return p;
}

/* ---- messages that were sent ---- */

/* Messages of several targets may have one key: they are compared. */
static uint64_t target_key(uint64_t to, uint64_t label)
{
    uint64_t x = to * UINT64_C(0x9e3779b97f4a7c15) + label;

    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 29;
}

static void unchain(struct mailbox *m, uint32_t at)
{
    struct mailbox_sent *s = &m->sent[at];
    uint64_t key = target_key(s->to, s->label);
    uint32_t first = map_get(&m->by_target, key);

    if (first == at) {
        if (s->next == NIL)
            map_del(&m->by_target, key);
        else
            map_put(&m->by_target, key, s->next);
    } else {
        uint32_t *link = &m->sent[first].next;
        while (*link != at)
            link = &m->sent[*link].next;
        *link = s->next;
    }
    s->waits = false;
    s->next = NIL;
}

static void drop(struct mailbox *m, uint32_t at)
{
    struct mailbox_sent *s = &m->sent[at];

    if (s->waits)
        unchain(m, at);
    if (map_get(&m->by_sender, s->from) == at)
        map_del(&m->by_sender, s->from);
    s->used = false;
    s->next = m->free;
    m->free = at;
}

/* The sender has the answer. The call may still arrive. */
static void answered(struct mailbox *m, uint32_t at, uint64_t ts_ns)
{
    struct mailbox_sent *s = &m->sent[at];

    s->answered_ns = ts_ns;
    map_del(&m->by_sender, s->from);
    if (!s->waits)
        drop(m, at);
}

/* A free slot. If all are in use, one is dropped: they are dropped in turn, so it is usually one
 * that was filled long ago. */
static uint32_t take(struct mailbox *m)
{
    if (!m->sent)
        m->sent = reserve(MAILBOX_SENT, sizeof *m->sent);
    if (m->free == NIL && m->high < MAILBOX_SENT)
        return m->high++;
    if (m->free == NIL) {
        drop(m, m->hand);
        m->hand = (m->hand + 1) % MAILBOX_SENT;
    }
    uint32_t at = m->free;
    m->free = m->sent[at].next;
    return at;
}

/* The first of a chain, without those for which no call can arrive any more. */
static uint32_t first_of(struct core *c, uint64_t key)
{
    struct mailbox *m = &c->mailbox;
    uint32_t at = m->sent ? map_get(&m->by_target, key) : MAP_EMPTY;

    while (at != MAP_EMPTY &&
           after(m->sent[at].answered_ns, c->set.limits.grace_ns) < c->complete_ns) {
        drop(m, at);
        at = map_get(&m->by_target, key);
    }
    return at == MAP_EMPTY ? NIL : at;
}

/* Adds it to the chain, behind the messages that were sent before. False: there are too many. */
static bool chain(struct core *c, uint32_t at)
{
    struct mailbox *m = &c->mailbox;
    uint64_t key = target_key(m->sent[at].to, m->sent[at].label);
    uint32_t last = first_of(c, key), n = 0;

    if (last == NIL)
        return map_put(&m->by_target, key, at);
    while (m->sent[last].next != NIL && ++n < MAILBOX_CHAIN)
        last = m->sent[last].next;
    if (m->sent[last].next != NIL)
        return false;
    m->sent[last].next = at;
    return true;
}

/* The call that the message started, if its event has arrived; else CALL_NIL. */
static uint32_t call_of(struct core *c, const struct event *ev)
{
    const struct closed_label *closed;
    uint32_t req = requests_find(&c->requests, ev->label, &closed), best = CALL_NIL;

    for (uint32_t at = req == REQ_NIL ? CALL_NIL : c->requests.req[req].first; at != CALL_NIL;
         at = c->calls.call[at].next) {
        const struct call *f = &c->calls.call[at];
        if (f->pid == ev->prev && f->flags & CALL_ARRIVED && f->start_ns >= ev->ts_ns &&
            !calls_wait(&c->calls, at) &&
            (best == CALL_NIL || f->start_ns < c->calls.call[best].start_ns))
            best = at;
    }
    return best;
}

void mailbox_sent(struct core *c, const struct event *ev)
{
    struct mailbox *m = &c->mailbox;
    uint32_t before = map_get(&m->by_sender, ev->pid);

    if (before != MAP_EMPTY)
        answered(m, before, ev->ts_ns);
    if (!ev->label || !ev->prev)
        return;
    uint32_t at = take(m), call = call_of(c, ev);
    m->sent[at] = (struct mailbox_sent){.from = ev->pid,
                                        .to = ev->prev,
                                        .label = ev->label,
                                        .ts_ns = ev->ts_ns,
                                        .answered_ns = UINT64_MAX,
                                        .returns_to = ev->caller,
                                        .next = NIL,
                                        .used = true};
    map_put(&m->by_sender, ev->pid, at);
    if (call != CALL_NIL)
        calls_set_wait(&c->calls, call, c->calls.call[call].start_ns - ev->ts_ns);
    else
        m->sent[at].waits = chain(c, at);
}

/* The message whose answer the process waits for; MAP_EMPTY: none. */
static uint32_t waits_with(const struct mailbox *m, uint64_t pid)
{
    return m->sent ? map_get(&m->by_sender, pid) : MAP_EMPTY;
}

bool mailbox_returned(struct core *c, const struct event *ev, const struct proc *p)
{
    struct mailbox *m = &c->mailbox;
    uint32_t at = waits_with(m, ev->pid);

    if (at == MAP_EMPTY || m->sent[at].returns_to != ev->fn)
        return false;
    answered(m, at, ev->ts_ns);
    /* A tier that calls the server with a tail call returns to the same function. */
    return !p || c->calls.call[p->top].caller != ev->fn;
}

bool mailbox_failed(struct core *c, const struct event *ev)
{
    struct mailbox *m = &c->mailbox;
    uint32_t at = waits_with(m, ev->pid);

    if (at == MAP_EMPTY)
        return false;
    answered(m, at, ev->ts_ns);
    return true;
}

void mailbox_exit(struct core *c, uint64_t pid)
{
    struct mailbox *m = &c->mailbox;
    uint32_t at = waits_with(m, pid);

    if (at != MAP_EMPTY)
        drop(m, at);
}

/* ---- calls that arrive ---- */

/* The label is that of a request that is still open. */
static bool is_open(struct core *c, uint64_t label, uint64_t ts_ns)
{
    const struct closed_label *closed;
    uint32_t req = requests_find(&c->requests, label, &closed);

    return req != REQ_NIL && c->requests.req[req].state == REQ_OPEN &&
           request_joinable(&c->requests.req[req], ts_ns);
}

bool mailbox_arrives(struct core *c, const struct event *ev, const struct proc *p,
                     const struct attribution *to)
{
    const struct call *top = p && p->depth > 0 ? &c->calls.call[p->top] : NULL;

    if (to->kind == TO_CLOSED)
        return !top;
    if (to->kind != TO_REQUEST)
        return false;
    const struct request *r = &c->requests.req[to->req];
    if (to->starts)
        return r->waits && !top && is_open(c, r->prev, ev->ts_ns);
    if (top && top->kind == CALL_MEMBER && top->req == to->req)
        return false;
    return r->entry == CALL_NIL || c->calls.call[r->entry].pid != ev->pid;
}

static struct mailbox_server *server_of(struct mailbox *m, uint64_t pid)
{
    uint32_t at = m->server ? map_get(&m->by_server, pid) : MAP_EMPTY;

    return at == MAP_EMPTY ? NULL : &m->server[at];
}

static void forget_servers(struct mailbox *m)
{
    map_clear(&m->by_server);
    m->servers = m->shares = 0;
}

static void serves(struct mailbox *m, uint64_t pid, uint64_t label)
{
    struct mailbox_server *s = server_of(m, pid);

    if (!m->server)
        m->server = reserve(MAILBOX_SERVERS, sizeof *m->server);
    if (!s && m->servers == MAILBOX_SERVERS) /* processes that have ended fill it */
        forget_servers(m);
    if (!s) {
        map_put(&m->by_server, pid, m->servers);
        s = &m->server[m->servers++];
        *s = (struct mailbox_server){.pid = pid, .label = label, .first = NIL};
    }
    s->serves |= s->label != label;
    s->label = label;
}

/* NULL: there are too many. */
static struct mailbox_share *share_of(struct mailbox *m, struct mailbox_server *s, uint16_t tier)
{
    uint32_t at = s->first;

    if (!m->share)
        m->share = reserve(MAILBOX_SHARES, sizeof *m->share);
    while (at != NIL && m->share[at].tier != tier)
        at = m->share[at].next;
    if (at != NIL)
        return &m->share[at];
    if (m->shares == MAILBOX_SHARES)
        return NULL;
    at = m->shares++;
    m->share[at] =
        (struct mailbox_share){.server = (uint32_t)(s - m->server), .next = s->first, .tier = tier};
    s->first = at;
    return &m->share[at];
}

void mailbox_arrived(struct core *c, uint32_t at, const struct event *ev)
{
    struct mailbox *m = &c->mailbox;
    uint64_t label = ev->kind == EVENT_ENTRY ? ev->prev : ev->label;

    c->calls.call[at].flags |= CALL_ARRIVED;
    serves(m, ev->pid, label);
    for (uint32_t s = first_of(c, target_key(ev->pid, label)); s != NIL; s = m->sent[s].next) {
        const struct mailbox_sent *k = &m->sent[s];
        if (k->to != ev->pid || k->label != label || k->ts_ns > ev->ts_ns ||
            k->answered_ns < ev->ts_ns)
            continue;
        calls_set_wait(&c->calls, at, ev->ts_ns - k->ts_ns);
        if (k->answered_ns == UINT64_MAX)
            unchain(m, s);
        else
            drop(m, s);
        return;
    }
}

/* ---- how busy they are ---- */

static uint64_t epoch_of(const struct core *c)
{
    return seconds(c->now_ns) / EPOCH_S;
}

static uint64_t part_ns(const struct call *f, uint64_t from_ns, uint64_t until_ns)
{
    uint64_t from = f->start_ns > from_ns ? f->start_ns : from_ns;
    uint64_t until = f->end_ns < until_ns ? f->end_ns : until_ns;

    return until > from ? until - from : 0;
}

uint64_t mailbox_busy_ns(struct core *c, const struct call *f, uint64_t weight)
{
    struct mailbox_server *s = f->flags & CALL_ARRIVED ? server_of(&c->mailbox, f->pid) : NULL;
    uint64_t epoch = epoch_of(c), epoch_ns = epoch * EPOCH_S * CLOCK_SEC_NS;

    if (!s || !s->serves)
        return 0;
    struct mailbox_share *k = share_of(&c->mailbox, s, f->tier);
    if (!k) {
        forget_servers(&c->mailbox);
        return (f->end_ns - f->start_ns) * weight;
    }
    if (k->epoch != epoch) {
        k->busy_before_ns = k->epoch + 1 == epoch ? k->busy_ns : 0;
        k->busy_ns = 0;
        k->epoch = epoch;
    }
    /* Only the part within the time that is shown: a call may be longer than that. */
    if (epoch)
        k->busy_before_ns += part_ns(f, epoch_ns - EPOCH_S * CLOCK_SEC_NS, epoch_ns) * weight;
    k->busy_ns += part_ns(f, epoch_ns, UINT64_MAX) * weight;
    if (!c->mailbox.since_ns)
        c->mailbox.since_ns = f->start_ns;
    return (f->end_ns - f->start_ns) * weight;
}

/* The time of this epoch and the one before in which calls of the tier could be seen. */
static double seen_s(const struct core *c, uint16_t tier)
{
    uint64_t epoch = epoch_of(c), set_ns = c->set_at[tier].since_ns;
    uint64_t from_ns = epoch ? (epoch - 1) * EPOCH_S * CLOCK_SEC_NS : 0;

    if (from_ns < c->mailbox.since_ns)
        from_ns = c->mailbox.since_ns;
    if (from_ns < set_ns)
        from_ns = set_ns;
    if (from_ns >= c->now_ns)
        return 0;
    return (double)(c->now_ns - from_ns - gaps_ns(&c->gaps, from_ns, c->now_ns, NULL)) / 1e9;
}

/* One view of the servers. The time is the same for all processes of a tier. */
struct busy_view {
    const struct core *c;
    uint64_t epoch;
    double seen_s[TIER_MAX]; /* below 0: not computed yet */
};

/* The share of the time; more than 1 is an effect of sampling. */
static double busy_with(struct busy_view *v, const struct mailbox_share *k)
{
    uint64_t ns = k->epoch == v->epoch       ? k->busy_ns + k->busy_before_ns
                  : k->epoch + 1 == v->epoch ? k->busy_ns
                                             : 0;

    if (v->seen_s[k->tier] < 0)
        v->seen_s[k->tier] = seen_s(v->c, k->tier);
    return v->seen_s[k->tier] > SEEN_LEAST_S ? fmin((double)ns / 1e9 / v->seen_s[k->tier], 1) : 0;
}

/* With calls of all tiers. A tier that was set again has a new number: its former calls would count
 * beside the new ones. */
static double busy_with_all(struct busy_view *v, const struct mailbox_server *s)
{
    const struct mailbox *m = &v->c->mailbox;
    double busy = 0;

    for (uint32_t at = s->first; at != NIL; at = m->share[at].next)
        if (v->c->tiers.tier[m->share[at].tier].active)
            busy += busy_with(v, &m->share[at]);
    return fmin(busy, 1);
}

struct mailbox_busiest mailbox_busiest(const struct core *c, uint16_t tier)
{
    const struct mailbox *m = &c->mailbox;
    struct mailbox_busiest b = {0};
    struct busy_view v = {.c = c, .epoch = epoch_of(c)};

    for (size_t i = 0; i < TIER_MAX; i++)
        v.seen_s[i] = -1;
    for (uint32_t i = 0; i < m->shares; i++) {
        const struct mailbox_share *k = &m->share[i];
        if (k->tier != tier || k->epoch + 1 < v.epoch)
            continue;
        const struct mailbox_server *s = &m->server[k->server];
        double busy = busy_with(&v, k), all = busy_with_all(&v, s);
        b.processes++;
        b.load += all;
        if (busy > b.busy) {
            b.pid = s->pid;
            b.busy = busy;
            b.all = all;
        }
    }
    return b;
}
