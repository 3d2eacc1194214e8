#include <kprof/app/control.h>

#include "control_look.h"

#include <errno.h>
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASKS           64
#define PING_MS        2000 /* at most: three a lease */
#define DELAY_FIRST_MS 500
#define DELAY_MOST_MS  30000
#define CALM_NS        UINT64_C(60000000000) /* a connection that stood so long was a good one */
#define ALIVE_NS       UINT64_C(1500000000)  /* the core thread looks in far more often */

struct ask {
    enum control_ask what;
    uint16_t ix;
    char text[256];
    uint64_t pids[ASK_PIDS];
    size_t n;
    char *lines; /* of control_look; owned, or NULL */
};

struct node { /* of the result queue */
    struct result r;
    struct node *next;
};

struct control {
    struct session_opts o;
    pthread_t thread;
    _Atomic uint64_t alive_ns; /* when the core thread looked in last; 0: never yet */
    pthread_mutex_t lock;      /* what follows */
    pthread_cond_t work;
    bool stop;
    struct wish wish;
    uint64_t gen;
    struct ask *ask[ASKS];
    size_t ask_first, asks;
    struct node *first, *last;
    /* the thread's own */
    struct session_receipt receipt;
    struct wish applied;
    uint64_t applied_gen;
    uint64_t pinged_ns;
    uint32_t seed;
};

static void ask_free(struct ask *a)
{
    free(a->lines);
    free(a);
}

static struct result *result_new(enum result_kind kind)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        abort();
    n->r.kind = kind;
    return &n->r;
}

void result_release(struct result *r)
{
    if (!r)
        return;
    free(r->text);
    free(r->pids);
    shape_free(r->capture.set);
    free(r); /* r is the first member of its node */
}

static void give(struct control *c, struct result *r)
{
    struct node *n = (struct node *)r;

    pthread_mutex_lock(&c->lock);
    if (c->last)
        c->last->next = n;
    else
        c->first = n;
    c->last = n;
    pthread_mutex_unlock(&c->lock);
    c->o.wake(c->o.wake_arg);
}

static void give_text(struct control *c, enum result_kind kind, const char *text, int delay_ms)
{
    struct result *r = result_new(kind);
    r->text = buf_dup(text);
    r->delay_ms = delay_ms;
    give(c, r);
}

struct result *control_take(struct control *c)
{
    pthread_mutex_lock(&c->lock);
    struct node *n = c->first;
    if (n) {
        c->first = n->next;
        if (!c->first)
            c->last = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    return n ? &n->r : NULL;
}

/* Waits for work or the deadline; lock is held. */
static void wait_ms(struct control *c, int ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&c->work, &c->lock, &t);
}

static bool apply_tracing(struct control *c, struct session *s, bool on, struct err *e)
{
    if (ask_tracing(s, on, e) < 0)
        return false;
    struct result *r = result_new(RESULT_TRACING);
    r->on = on;
    give(c, r);
    c->applied.tracing = on;
    return true;
}

/* Brings the target to the wish. False: it could not be asked. */
static bool apply(struct control *c, struct session *s, const struct wish *w, uint64_t gen,
                  struct err *e)
{
    bool fresh = c->applied_gen == 0;

    if (fresh || !wish_same_limits(&c->applied, w)) {
        if (ask_limits(s, w, e) < 0)
            return false;
        wish_take_limits(&c->applied, w); /* they stand, whatever becomes of the rest */
    }
    if (fresh || !wish_same_config(&c->applied, w)) {
        struct result *r = result_new(RESULT_CONFIGURED);
        r->gen = gen;
        if (ask_config(s, w, &r->config, e) < 0) {
            result_release(r);
            return false;
        }
        if (!r->config.rule_refused) {
            bool tracing = c->applied.tracing;
            c->applied = *w;
            c->applied.tracing = tracing;
        }
        give(c, r);
    } else if (c->applied.sample != w->sample) {
        if (ask_sample(s, w->sample, e) < 0)
            return false;
        c->applied.sample = w->sample;
    }
    if (c->applied.tracing != w->tracing && !apply_tracing(c, s, w->tracing, e))
        return false;
    c->applied_gen = gen;
    return true;
}

/* Whoever waits for a capture is told when it fails, too. */
static void answer_capture(struct control *c, struct session *s, const struct ask *a)
{
    struct result *r = result_new(RESULT_CAPTURE);
    struct err e = {{0}};
    int rc = a->what == CONTROL_CAPTURE ? point_begin(s, a->ix, &r->capture, &e)
                                        : point_look(s, &r->capture, &e);

    r->ix = a->ix;
    if (rc < 0) {
        r->capture.state = CAPTURE_FAILED;
        err_copy(r->capture.why, sizeof r->capture.why, e.text);
    }
    give(c, r);
}

/* The processes that were asked about, with room for as many. */
static void take_pids(struct result *r, const struct ask *a, size_t n)
{
    r->pids = calloc(n + 1, sizeof *r->pids);
    if (!r->pids)
        abort();
    memcpy(r->pids, a->pids, n * sizeof *r->pids);
}

static bool answer(struct control *c, struct session *s, const struct ask *a, struct err *e)
{
    struct result *r = NULL;
    struct buf lines;
    int rc = 0;

    buf_init(&lines, (size_t)1 << 20);
    switch (a->what) {
    case CONTROL_COMPLETE:
        r = result_new(RESULT_COMPLETIONS);
        memcpy(r->typed, a->text, sizeof r->typed);
        rc = ask_completions(s, a->text, &lines, e);
        r->text = buf_dup(lines.data);
        break;
    case CONTROL_WHY:
        r = result_new(RESULT_WHY);
        r->ix = a->ix;
        rc = ask_why(s, a->ix, &r->called, e);
        break;
    case CONTROL_WHO:
        r = result_new(RESULT_WHO);
        take_pids(r, a, a->n);
        r->n = a->n;
        rc = ask_who(s, a->pids, a->n, &lines, e);
        r->text = buf_dup(lines.data);
        break;
    case CONTROL_STACK:
        r = result_new(RESULT_STACK);
        take_pids(r, a, 1);
        rc = ask_stack(s, a->pids[0], &lines, &r->on, e);
        r->text = buf_dup(rc < 0 ? e->text : lines.data);
        break;
    case CONTROL_DEAD:
        r = result_new(RESULT_DEAD);
        take_pids(r, a, a->n);
        rc = ask_dead(s, a->pids, a->n, r->pids, &r->n, e);
        break;
    case CONTROL_TRIP:
        r = result_new(RESULT_NONE);
        rc = ask_trip(s, a->text, e);
        break;
    case CONTROL_PAGE:
    case CONTROL_EXIST:
    case CONTROL_RATES:
    case CONTROL_RATES_TAKE:
        r = result_new(RESULT_LOOK);
        r->ix = a->ix;
        rc = control_look_answer(s, a->what, a->lines, r, e);
        break;
    case CONTROL_CAPTURE:
    case CONTROL_CAPTURED:
        answer_capture(c, s, a);
        break;
    case CONTROL_NO_CAPTURE:
        rc = point_give_up(s, e);
        break;
    }
    buf_release(&lines);
    if (r &&
        (rc == 0 || a->what == CONTROL_STACK)) /* its pane says that it waits: also for why not */
        give(c, r);
    else
        result_release(r);
    return rc == 0;
}

void control_alive(struct control *c)
{
    atomic_store_explicit(&c->alive_ns, clock_mono_ns(), memory_order_relaxed);
}

/* Nobody looks at what a core thread that hangs in a write (a terminal, a pipe that takes nothing)
 * would show: the lease is renewed as of when it looked in last, and not at all after a while. */
static int ping(struct control *c, struct session *s, struct err *e)
{
    uint64_t at = atomic_load_explicit(&c->alive_ns, memory_order_relaxed);
    uint64_t now = clock_mono_ns(), age_ns = at && now > at ? now - at : 0;
    c->pinged_ns = now;
    return age_ns < ALIVE_NS ? ask_ping(s, age_ns / 1000000u, e) : 0;
}

static int ping_every_ms(const struct control *c)
{
    return c->o.pause_ms && c->o.pause_ms / 3 < PING_MS ? (int)c->o.pause_ms / 3 : PING_MS;
}

/* Questions renew the lease, too, but tell nothing of the clocks: no stream of them holds up a
 * ping. */
static bool ping_overdue(const struct control *c)
{
    return clock_mono_ns() - c->pinged_ns > 2 * (uint64_t)ping_every_ms(c) * 1000000u;
}

/* One piece of work, lock held at entry and exit. False: nothing more with this session. */
static bool work(struct control *c, struct session *s)
{
    struct err e = {{0}};
    bool ok = true;

    if (c->gen != c->applied_gen) {
        struct wish w = c->wish;
        uint64_t gen = c->gen;
        pthread_mutex_unlock(&c->lock);
        ok = apply(c, s, &w, gen, &e);
        if (!ok)
            c->applied_gen = gen; /* said below; not tried for ever */
    } else if (ping_overdue(c)) {
        pthread_mutex_unlock(&c->lock);
        ok = ping(c, s, &e) == 0;
    } else if (c->asks) {
        struct ask *a = c->ask[c->ask_first];
        c->ask_first = (c->ask_first + 1) % ASKS;
        c->asks--;
        pthread_mutex_unlock(&c->lock);
        ok = answer(c, s, a, &e);
        ask_free(a);
    } else {
        wait_ms(c, ping_every_ms(c));
        bool idle = !c->stop && !c->asks && c->gen == c->applied_gen;
        pthread_mutex_unlock(&c->lock);
        if (idle)
            ok = ping(c, s, &e) == 0;
    }
    if (!ok && !session_lost(s))
        give_text(c, RESULT_TROUBLE, e.text, 0);
    pthread_mutex_lock(&c->lock);
    return !session_lost(s);
}

static struct session *attach(struct control *c, bool first, int delay_ms)
{
    struct session_info info;
    struct err e = {{0}};
    struct session_opts o = c->o;

    o.again = !first;
    c->seed =
        c->seed * 1664525u + 1013904223u; /* another epoch each time: old labels stay strangers */
    o.epoch = (uint16_t)((c->seed >> 16) % 65535 + 1);
    struct session *s = session_open(&o, &info, &e);
    if (!s) {
        give_text(c, first ? RESULT_FAILED : RESULT_LOST, e.text, delay_ms);
        return NULL;
    }
    struct result *r = result_new(RESULT_CONNECTED);
    r->info = info;
    give(c, r);
    return s;
}

/* why: set when it was lost */
static void serve(struct control *c, struct session *s, struct err *why)
{
    struct err e = {{0}};

    memset(&c->applied, 0, sizeof c->applied);
    c->applied_gen = 0;
    pthread_mutex_lock(&c->lock);
    while (!c->stop && work(c, s))
        ;
    bool stop = c->stop;
    pthread_mutex_unlock(&c->lock);
    if (stop) {
        if (c->applied.tracing)
            ask_tracing(s, false, &e);
        session_close(s, &c->receipt);
    } else {
        session_why(s, why);
        session_close(s, NULL);
    }
}

static void *run(void *arg)
{
    struct control *c = arg;
    struct err why = {{0}};
    bool first = true;
    int delay_ms = DELAY_FIRST_MS;

    for (;;) {
        struct session *s = attach(c, first, delay_ms);
        if (!s && first)
            return NULL;
        if (s) {
            uint64_t begun_ns = clock_mono_ns();
            first = false;
            serve(c, s, &why);
            if (clock_mono_ns() - begun_ns > CALM_NS)
                delay_ms = DELAY_FIRST_MS;
        }
        pthread_mutex_lock(&c->lock);
        if (!c->stop && s) {
            pthread_mutex_unlock(&c->lock);
            give_text(c, RESULT_LOST, why.text, delay_ms);
            pthread_mutex_lock(&c->lock);
        }
        uint64_t until = clock_mono_ns() + (uint64_t)delay_ms * 1000000u, now;
        while (!c->stop && (now = clock_mono_ns()) < until)
            wait_ms(c, (int)((until - now) / 1000000u) + 1);
        bool stop = c->stop;
        pthread_mutex_unlock(&c->lock);
        if (stop)
            return NULL;
        delay_ms = delay_ms * 2 > DELAY_MOST_MS ? DELAY_MOST_MS : delay_ms * 2;
    }
}

struct control *control_start(const struct session_opts *o)
{
    struct control *c = calloc(1, sizeof *c);
    pthread_condattr_t at;

    if (!c)
        abort();
    c->o = *o;
    c->seed = (uint32_t)(clock_wall_ns() ^ clock_mono_ns() >> 7);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&at);
    pthread_condattr_setclock(&at, CLOCK_MONOTONIC);
    pthread_cond_init(&c->work, &at);
    pthread_condattr_destroy(&at);
    if (pthread_create(&c->thread, NULL, run, c) != 0)
        abort();
    return c;
}

uint64_t control_wish(struct control *c, const struct wish *w)
{
    pthread_mutex_lock(&c->lock);
    c->wish = *w;
    uint64_t gen = ++c->gen;
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
    return gen;
}

static struct ask *waiting_completion(struct control *c)
{
    for (size_t i = 0; i < c->asks; i++) {
        struct ask *a = c->ask[(c->ask_first + i) % ASKS];
        if (a->what == CONTROL_COMPLETE)
            return a;
    }
    return NULL;
}

static void put_ask(struct control *c, struct ask *a)
{
    pthread_mutex_lock(&c->lock);
    struct ask *same = a->what == CONTROL_COMPLETE ? waiting_completion(c) : NULL;
    if (same) { /* a person types faster than the node answers: only the newest text matters */
        memcpy(same->text, a->text, sizeof same->text);
        ask_free(a);
    } else if (c->asks == ASKS) {
        ask_free(a);
    } else if (a->what == CONTROL_TRIP) {
        c->ask_first = (c->ask_first + ASKS - 1) % ASKS;
        c->ask[c->ask_first] = a;
        c->asks++;
        pthread_cond_signal(&c->work);
    } else {
        c->ask[(c->ask_first + c->asks++) % ASKS] = a;
        pthread_cond_signal(&c->work);
    }
    pthread_mutex_unlock(&c->lock);
}

void control_ask(struct control *c, enum control_ask what, uint16_t ix, const char *text,
                 const uint64_t *pids, size_t n)
{
    struct ask *a = calloc(1, sizeof *a);

    if (!a)
        abort();
    a->what = what;
    a->ix = ix;
    a->n = n < ASK_PIDS ? n : ASK_PIDS;
    if (pids)
        memcpy(a->pids, pids, a->n * sizeof *pids);
    if (text)
        snprintf(a->text, sizeof a->text, "%s", text);
    put_ask(c, a);
}

void control_look(struct control *c, enum control_ask what, uint16_t tag, const char *lines)
{
    struct ask *a = calloc(1, sizeof *a);

    if (!a)
        abort();
    a->lines = buf_dup(lines);
    a->what = what;
    a->ix = tag;
    put_ask(c, a);
}

void control_finish(struct control *c, struct session_receipt *receipt)
{
    struct result *r;

    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    *receipt = c->receipt;
    while ((r = control_take(c)))
        result_release(r);
    while (c->asks--) {
        ask_free(c->ask[c->ask_first]);
        c->ask_first = (c->ask_first + 1) % ASKS;
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->work);
    free(c);
}
