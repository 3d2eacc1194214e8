#include "control.h"

#include "control_answer.h"

#include <errno.h>
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PING_MS 2000 /* the longest time between two pings: at least three per lease */
/* While the offset of the node's clock is uncertain, because it is new and the first answers were
 * slow, pings are sent at this interval, up to this many. */
#define PING_SOON_MS   250
#define PING_SOON_MOST 8
#define RETRIES        5 /* of a configuration without an answer, each after a ping that had one */
#define DELAY_FIRST_MS 500
#define DELAY_MOST_MS  30000
#define CALM_NS        UINT64_C(10000000000) /* a connection that lasted this long was stable */
#define ALIVE_NS       UINT64_C(1500000000)  /* the core thread reports far more often */

struct control {
    struct session_opts o;
    pthread_t thread;
    _Atomic uint64_t alive_ns; /* last report of the core thread; 0: none yet */
    pthread_mutex_t lock;      /* protects the following fields */
    pthread_cond_t work;
    bool stop;
    struct trace_config trace_config;
    uint64_t gen;
    struct control_queue queue;
    struct session *up; /* the session for requests; NULL: none */
    uint64_t up_number; /* its number, from 1 on; 0: none */
    struct result *first, *last;
    /* of the control thread */
    struct session_receipt receipt;
    struct trace_config applied;
    uint64_t applied_gen;
    bool unsure;    /* the last configuration failed: the node may have some of it */
    bool refused;   /* its identity rule was refused: the node has what it had */
    bool switching; /* a request to switch tracing failed */
    unsigned tries; /* that are left for it */
    bool retry;
    uint64_t pinged_ns;
    unsigned soon; /* pings in a row that were sent while the offset of the clock was uncertain */
    uint32_t seed;
    uint16_t epoch; /* of the last session */
    uint64_t sessions;
    /* of the core thread: the session that it knows (0: none), and the number of its requests */
    uint64_t known, question_ids;
};

#define TOO_MUCH "too many requests to the node are waiting: try again"
#define GONE     "the connection was lost before the node answered: try again when it is back"

/* call with the lock */
static void add_result(struct control *c, struct result *r)
{
    if (c->last)
        c->last->next = r;
    else
        c->first = r;
    c->last = r;
}

static void give(struct control *c, struct result *r)
{
    if (r->kind == RESULT_NONE) {
        result_release(r);
        return;
    }
    pthread_mutex_lock(&c->lock);
    add_result(c, r);
    pthread_mutex_unlock(&c->lock);
    c->o.wake(c->o.wake_arg);
}

static void give_lost(struct control *c, const char *text, int delay_ms)
{
    struct result *r = result_new(RESULT_LOST);
    r->text = buf_dup(text);
    r->delay_ms = delay_ms;
    give(c, r);
}

struct result *control_take(struct control *c)
{
    pthread_mutex_lock(&c->lock);
    struct result *r = c->first;
    if (r) {
        c->first = r->next;
        if (!c->first)
            c->last = NULL;
        r->next = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (r && r->kind == RESULT_CONNECTED)
        c->known = r->session;
    else if (r && r->kind == RESULT_LOST)
        c->known = 0;
    return r;
}

/* Waits for work or the deadline; call with the lock. */
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

/* Sends one request; lock held at entry, not at exit. */
static void work_ask(struct control *c, struct session *s)
{
    struct control_job *a = control_queue_take(&c->queue);

    pthread_mutex_unlock(&c->lock);
    give(c, control_answer(s, a));
    control_job_free(a);
}

static bool apply_tracing(struct control *c, struct session *s, bool on, struct err *e)
{
    c->switching = true;
    if (agent_request_tracing(s, on, e) < 0)
        return false;
    c->switching = false;
    struct result *r = result_new(RESULT_TRACING);
    r->on = on;
    give(c, r);
    c->applied.tracing = on;
    return true;
}

/* Between two requests of a configuration. */
static void pass_trip(struct control *c, struct session *s)
{
    pthread_mutex_lock(&c->lock);
    if (c->queue.trip)
        work_ask(c, s);
    else
        pthread_mutex_unlock(&c->lock);
}

/* Sends the configuration to the node. False: the request failed. True: a result has its number.
 */
static bool apply(struct control *c, struct session *s, const struct trace_config *w, uint64_t gen,
                  struct err *e)
{
    bool fresh = c->applied_gen == 0 || c->unsure;
    bool same = !fresh && trace_config_same_config(&c->applied, w);

    if (fresh || !trace_config_same_limits(&c->applied, w)) {
        if (agent_request_limits(s, w, e) < 0)
            return false;
        trace_config_take_limits(&c->applied, w); /* the limits are set, even if the rest fails */
    }
    pass_trip(c, s);
    if (!same) {
        struct result *r = result_new(RESULT_CONFIGURED);
        r->gen = gen;
        if (agent_request_config(s, w, &r->config, e) < 0) {
            result_release(r);
            return false;
        }
        c->refused = r->config.rule_refused;
        if (!c->refused) {
            bool tracing = c->applied.tracing;
            c->applied = *w;
            c->applied.tracing = tracing;
            r->text = buf_dup(w->identity);
        }
        give(c, r);
    } else if (c->applied.sample != w->sample) {
        if (agent_request_sample(s, w->sample, e) < 0)
            return false;
        c->applied.sample = w->sample;
    }
    pass_trip(c, s);
    bool tracing = w->tracing && w->n > 0; /* no process gets a flag while there is no tier */
    if ((c->switching || c->applied.tracing != tracing) && !apply_tracing(c, s, tracing, e))
        return false;
    if (same) {
        struct result *r = result_new(RESULT_SAME);
        r->gen = gen;
        give(c, r);
    }
    return true;
}

/* After a failure, what the node has is not known: the next configuration is sent as a whole. If no
 * answer came, this one is sent again. */
static bool configure(struct control *c, struct session *s, const struct trace_config *w,
                      uint64_t gen, struct err *e)
{
    bool again = c->applied_gen == gen, before = c->unsure;

    c->retry = c->refused = false;
    bool ok = apply(c, s, w, gen, e);
    c->unsure = !ok || (before && c->refused);
    c->applied_gen = gen;
    c->tries = ok || !session_unanswered(s) ? 0 : again ? c->tries - 1 : RETRIES;
    return ok;
}

void control_alive(struct control *c)
{
    atomic_store_explicit(&c->alive_ns, clock_mono_ns(), memory_order_relaxed);
}

static bool clock_is_precise(const struct control *c)
{
    struct stream_figures f;

    stream_figures(c->o.stream, &f);
    return clock_reading_precise(&f.clock);
}

/* If the core thread hangs in a write (a terminal or pipe that accepts nothing), nobody sees its
 * output: the lease is renewed only as of its last report, and not at all if that is
 * older than ALIVE_NS. */
static int ping(struct control *c, struct session *s, struct err *e)
{
    uint64_t at = atomic_load_explicit(&c->alive_ns, memory_order_relaxed);
    uint64_t now = clock_mono_ns(), age_ns = at && now > at ? now - at : 0;
    c->pinged_ns = now;
    c->soon = clock_is_precise(c) ? 0 : c->soon + (c->soon < PING_SOON_MOST);
    if (age_ns >= ALIVE_NS)
        return 0;
    if (agent_request_ping(s, age_ns / 1000000u, e) < 0)
        return -1;
    c->retry = c->unsure && c->tries > 0;
    return 0;
}

static int ping_every_ms(const struct control *c)
{
    bool soon = c->soon < PING_SOON_MOST && !clock_is_precise(c);
    int most = soon ? PING_SOON_MS : PING_MS;
    return c->o.pause_ms && c->o.pause_ms / 3 < (unsigned)most ? (int)c->o.pause_ms / 3 : most;
}

/* Requests renew the lease, too, but have no time stamps, so a ping is sent even if there are many
 * requests. */
static bool ping_overdue(const struct control *c)
{
    return clock_mono_ns() - c->pinged_ns > 2 * (uint64_t)ping_every_ms(c) * 1000000u;
}

static void give_trouble(struct control *c, uint64_t gen, const char *text)
{
    struct result *r = result_new(RESULT_TROUBLE);

    r->text = buf_dup(text);
    r->gen = gen;
    r->on = gen && c->tries > 0;
    give(c, r);
}

/* One piece of work, lock held at entry and exit. False: the session has ended. */
static bool work(struct control *c, struct session *s)
{
    struct err e = {{0}};
    uint64_t gen = 0; /* of the configuration that was sent */
    bool ok = true;

    if (c->queue.trip) { /* before everything else in the queue, even a configuration */
        work_ask(c, s);
    } else if (c->gen != c->applied_gen || c->retry) {
        struct trace_config w = c->trace_config;
        gen = c->gen;
        pthread_mutex_unlock(&c->lock);
        ok = configure(c, s, &w, gen, &e); /* an error is reported below */
    } else if (ping_overdue(c)) {
        pthread_mutex_unlock(&c->lock);
        ok = ping(c, s, &e) == 0;
    } else if (control_queue_any(&c->queue)) {
        work_ask(c, s);
    } else {
        wait_ms(c, ping_every_ms(c));
        bool idle = !c->stop && !control_queue_any(&c->queue) && c->gen == c->applied_gen;
        pthread_mutex_unlock(&c->lock);
        if (idle)
            ok = ping(c, s, &e) == 0;
    }
    if (!ok && !session_lost(s))
        give_trouble(c, gen, e.text);
    pthread_mutex_lock(&c->lock);
    return !session_lost(s);
}

static void give_failure(struct control *c, enum result_kind kind, const struct session_info *info,
                         const char *text, int delay_ms)
{
    struct result *r = result_new(kind);

    r->info = *info;
    r->text = buf_dup(text);
    r->delay_ms = delay_ms;
    give(c, r);
}

static struct session *attach(struct control *c, bool first, int delay_ms)
{
    struct session_info info;
    struct err e = {{0}};
    struct session_opts o = c->o;

    o.reconnected = !first;
    c->seed = c->seed * 1664525u + 1013904223u; /* a new epoch for each session, so that labels of
                                                   old sessions are recognized */
    uint16_t epoch = (uint16_t)((c->seed >> 16) % 65535 + 1);
    c->epoch = epoch == c->epoch ? (uint16_t)(epoch % 65535 + 1) : epoch;
    o.epoch = c->epoch;
    struct session *s = session_open(&o, &info, &e);
    if (!s) {
        give_failure(c, first ? RESULT_FAILED : RESULT_LOST, &info, e.text, delay_ms);
        return NULL;
    }
    struct result *r = result_new(RESULT_CONNECTED);
    r->info = info;
    r->session = ++c->sessions;
    pthread_mutex_lock(&c->lock);
    c->up = s;
    c->up_number = c->sessions;
    pthread_mutex_unlock(&c->lock);
    give(c, r);
    return s;
}

/* Lock held; frees a. */
static void refuse(struct control *c, struct control_job *a, const char *why)
{
    add_result(c, control_refuse(a, why));
    control_job_free(a);
}

/* The same for a request whose session has ended. If that was a trip, or the end of a capture, of
 * the process table or of a full trace, nothing is reported: these have ended, too. */
static void gone(struct control *c, struct control_job *a)
{
    struct result *r = control_refuse(a, GONE);

    if (r->kind == RESULT_TROUBLE)
        result_release(r);
    else
        add_result(c, r);
    control_job_free(a);
}

/* Lock held. Requests of this session are not sent to another one. */
static void down(struct control *c)
{
    struct control_job *a;

    c->up = NULL;
    c->up_number = 0;
    while ((a = control_queue_take_old(&c->queue)))
        gone(c, a);
}

/* False: the session was lost; why is set. True: control_finish has ended it. */
static bool serve(struct control *c, struct session *s, struct err *why)
{
    struct err e = {{0}};

    memset(&c->applied, 0, sizeof c->applied);
    c->applied_gen = 0;
    c->unsure = c->retry = c->switching = false;
    pthread_mutex_lock(&c->lock);
    while (!c->stop && work(c, s))
        ;
    bool stop = c->stop;
    down(c);
    pthread_mutex_unlock(&c->lock);
    if (stop) {
        if (c->applied.tracing || c->switching)
            agent_request_tracing(s, false, &e);
        session_close(s, &c->receipt);
    } else {
        session_why(s, why);
        session_close(s, NULL);
    }
    return stop;
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
            first = c->receipt.lost = false;
            if (serve(c, s, &why))
                return NULL;
            c->receipt.lost = true;
            if (clock_mono_ns() - begun_ns > CALM_NS)
                delay_ms = DELAY_FIRST_MS;
        }
        pthread_mutex_lock(&c->lock);
        if (!c->stop && s) {
            pthread_mutex_unlock(&c->lock);
            give_lost(c, why.text, delay_ms);
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

uint64_t control_configure(struct control *c, const struct trace_config *w)
{
    pthread_mutex_lock(&c->lock);
    c->trace_config = *w;
    uint64_t gen = ++c->gen;
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
    return gen;
}

static uint64_t put_ask(struct control *c, struct control_job *a)
{
    uint64_t question_id = a->question_id = ++c->question_ids;
    bool taken = false;

    a->session = c->known;
    pthread_mutex_lock(&c->lock);
    if (a->session && a->session != c->up_number) {
        gone(c, a);
    } else if (a->what == CONTROL_TRIP && c->up && agent_request_trip_urged(c->up, a->text)) {
        control_job_free(a); /* the thread waits for another answer, and sends this at once */
        taken = true;
    } else if (control_queue_put(&c->queue, a, &question_id)) {
        pthread_cond_signal(&c->work);
        taken = true;
    } else {
        refuse(c, a, TOO_MUCH);
    }
    pthread_mutex_unlock(&c->lock);
    if (!taken)
        c->o.wake(c->o.wake_arg);
    return question_id;
}

uint64_t control_ask(struct control *c, enum control_ask what, uint16_t ix, const char *text,
                     const uint64_t *pids, size_t n)
{
    struct control_job *a = control_job_new(what, ix);

    a->n = n < AGENT_REQUEST_PIDS ? n : AGENT_REQUEST_PIDS;
    if (pids)
        memcpy(a->pids, pids, a->n * sizeof *pids);
    if (text)
        snprintf(a->text, sizeof a->text, "%s", text);
    return put_ask(c, a);
}

void control_code_query(struct control *c, enum control_ask what, uint16_t tag, const char *lines)
{
    struct control_job *a = control_job_new(what, tag);

    a->lines = buf_dup(lines);
    put_ask(c, a);
}

uint64_t control_stacks(struct control *c, const struct stack_request *r)
{
    struct control_job *a = control_job_new(r ? CONTROL_STACKS : CONTROL_NO_STACKS, 0);

    if (r)
        a->stacks = *r;
    return put_ask(c, a);
}

uint64_t control_processes(struct control *c, const struct process_request *r)
{
    struct control_job *a = control_job_new(r ? CONTROL_PROCESSES : CONTROL_NO_PROCESSES, 0);

    if (r)
        a->processes = *r;
    return put_ask(c, a);
}

uint64_t control_full(struct control *c, const struct full_request *r)
{
    struct control_job *a = control_job_new(r ? CONTROL_FULL : CONTROL_NO_FULL, 0);

    if (r)
        a->full = full_request_copy(r);
    return put_ask(c, a);
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
    control_queue_clear(&c->queue);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->work);
    free(c);
}
