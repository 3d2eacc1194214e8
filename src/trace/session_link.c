/* The connection of a session, its reader thread, and requests that wait for their answers:
 * session_impl.h. */
#include "session_impl.h"

#include <errno.h>
#include <kprof/base/clock.h>
#include <kprof/base/low_priority.h>
#include <kprof/erl/conn.h>
#include <kprof/erl/enc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* A controller sends a heartbeat every half second; one that sends nothing for this long is out of
 * reach. */
#define SILENCE_NS UINT64_C(30000000000)
#define RECV_MS    1000
#define AWAY_NS    UINT64_C(5000000000) /* an iteration of the read loop is never this long */

static void hand_over(struct session *s, enum stream_kind kind, const struct etf *rest,
                      uint64_t ref)
{
    pthread_mutex_lock(&s->lock);
    if (s->want && ref == s->want && s->want_rpc == (kind == STREAM_RPC)) {
        buf_clear(&s->answer);
        buf_add(&s->answer, rest->p, (size_t)(rest->end - rest->p));
        s->want = 0;
        s->got = ref;
        pthread_cond_broadcast(&s->came);
    }
    pthread_mutex_unlock(&s->lock);
}

/* {pong, MonotonicNative}: the node's clock at a time between the request and now. */
static void take_pong(struct session *s, struct etf c, uint64_t ref, uint64_t now_ns)
{
    uint32_t arity;
    int64_t native;

    pthread_mutex_lock(&s->lock);
    uint64_t sent_ns = ref == s->want ? s->sent_ns : 0;
    pthread_mutex_unlock(&s->lock);
    if (!sent_ns || !etf_tuple(&c, &arity) || arity != 2 || !etf_is_atom(&c, "pong") ||
        !etf_i64(&c, &native))
        return;
    stream_round_trip(s->o.stream, sent_ns, native, now_ns);
    recorder_round_trip(s->o.recorder, sent_ns, native, now_ns);
}

/* The agent reports that it has ended: {ke, gone, Text}. */
static void agent_gone(const struct session *s, struct etf *text, struct err *e)
{
    const uint8_t *b;
    size_t n;

    if (etf_string(text, &b, &n))
        err_set(e, "lost the agent on %s: %.*s", s->o.to.node, (int)(n < 300 ? n : 300),
                (const char *)b);
    else
        err_set(e, "lost the agent on %s", s->o.to.node);
}

/* The kind of a frame in a recording. */
static char frame_of(enum stream_kind kind)
{
    return kind == STREAM_STACKS      ? RECORD_STACKS
           : kind == STREAM_DETAIL    ? RECORD_DETAIL
           : kind == STREAM_VM_EVENTS ? RECORD_VM
                                      : RECORD_EVENTS;
}

static void *read_loop(void *arg)
{
    struct session *s = arg;
    struct err e = {{0}};
    const uint8_t *bytes;
    size_t n;
    int r;
    uint64_t heard = clock_mono_ns(), turned = heard;

    if (conn_is_local(s->conn))
        low_priority_begin();
    while ((r = conn_recv(s->conn, RECV_MS, &bytes, &n, &e)) >= 0) {
        struct etf rest;
        uint64_t ref, now = clock_mono_ns();

        if (now - turned > AWAY_NS) /* kprof-top did not run (^Z, a suspended machine), so the node
                                       was not silent */
            heard = now;
        turned = now;
        if (r == 0 && now - heard > SILENCE_NS && atomic_load(&s->beating)) {
            err_set(&e, "lost %s: no data from it for %d s", s->o.to.node,
                    (int)(SILENCE_NS / 1000000000u));
            break;
        }
        if (r == 0)
            continue;
        heard = now;
        enum stream_kind kind = stream_feed(s->o.stream, bytes, n, now, &rest, &ref);
        if (kind == STREAM_REPLY)
            take_pong(s, rest, ref, now);
        if (kind == STREAM_REPLY || kind == STREAM_RPC)
            hand_over(s, kind, &rest, ref);
        else if (kind != STREAM_BAD)
            recorder_write(s->o.recorder, frame_of(kind), now, bytes, n);
        if (kind == STREAM_GONE) {
            agent_gone(s, &rest, &e);
            break;
        }
        if (s->o.wake)
            s->o.wake(s->o.wake_arg);
    }
    pthread_mutex_lock(&s->lock);
    s->lost = true;
    s->why = e;
    pthread_cond_broadcast(&s->came);
    pthread_mutex_unlock(&s->lock);
    if (s->o.wake)
        s->o.wake(s->o.wake_arg);
    return NULL;
}

bool session_unanswered(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    bool unanswered = s->unanswered;
    pthread_mutex_unlock(&s->lock);
    return unanswered;
}

bool session_lost(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    bool lost = s->lost;
    pthread_mutex_unlock(&s->lock);
    return lost;
}

void session_why(struct session *s, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    *e = s->why;
    pthread_mutex_unlock(&s->lock);
}

/* Call with the lock; it is released while sending. */
static void send_urgent(struct session *s)
{
    struct buf m = s->urgent;
    struct err ignored;

    if (!m.len || s->lost)
        return;
    buf_init(&s->urgent, 0);
    pthread_mutex_unlock(&s->lock);
    (void)conn_send_pid(s->conn, s->controller.data, s->controller.len, m.data, m.len, &ignored);
    buf_release(&m);
    pthread_mutex_lock(&s->lock);
}

/* Waits for the answer; call with the lock. A later answer is ignored, because its reference is no
 * longer expected. */
static int wait_answer(struct session *s, uint64_t ref, struct buf *answer, int timeout_ms,
                       const char *what, struct err *e)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!s->lost && s->got != ref) {
        send_urgent(s);
        if (s->lost || s->got == ref)
            break; /* the answer came, or the connection was lost, while the lock was released */
        if (pthread_cond_timedwait(&s->came, &s->lock, &until) == ETIMEDOUT && s->got != ref) {
            s->want = 0;
            s->unanswered = true;
            return err_set(e,
                           "%s did not answer %s within %d ms: the node may be too busy; try again "
                           "or raise the priority of the node",
                           s->o.to.node, what, timeout_ms);
        }
    }
    if (s->lost)
        return err_set(e, "lost the connection to %s before it answered %s: %.200s", s->o.to.node,
                       what, s->why.text);
    buf_clear(answer);
    buf_add(answer, s->answer.data, s->answer.len);
    return 0;
}

/* Begins to wait; must come before the request is sent. */
static uint64_t expect(struct session *s, bool rpc)
{
    pthread_mutex_lock(&s->lock);
    s->want = ++s->refs;
    s->want_rpc = rpc;
    s->unanswered = false;
    s->sent_ns = clock_mono_ns();
    uint64_t ref = s->want;
    pthread_mutex_unlock(&s->lock);
    return ref;
}

static void begin_request(const struct session *s, uint64_t ref, const struct buf *request,
                          struct buf *m)
{
    buf_init(m, 0);
    enc_version(m);
    enc_tuple(m, 4);
    enc_atom(m, "kp");
    enc_binary(m, s->key, sizeof s->key);
    enc_u64(m, ref);
    buf_add(m, request->data, request->len);
}

int session_ask(struct session *s, const struct buf *request, struct buf *answer, int timeout_ms,
                struct err *e)
{
    struct buf m;
    uint64_t ref = expect(s, false);
    int rc;

    begin_request(s, ref, request, &m);
    rc = conn_send_pid(s->conn, s->controller.data, s->controller.len, m.data, m.len, e);
    buf_release(&m);
    if (rc == 0) {
        pthread_mutex_lock(&s->lock);
        rc = wait_answer(s, ref, answer, timeout_ms, "a request", e);
        pthread_mutex_unlock(&s->lock);
    }
    return rc;
}

void session_takes_urgent(struct session *s, bool on)
{
    pthread_mutex_lock(&s->lock);
    s->asking = on;
    if (!on)
        send_urgent(s); /* a request that arrived after the last wait */
    pthread_mutex_unlock(&s->lock);
}

bool session_request_urgent(struct session *s, const struct buf *request)
{
    pthread_mutex_lock(&s->lock);
    bool takes = s->asking && !s->lost;
    if (takes) {
        buf_release(&s->urgent);
        begin_request(s, 0, request, &s->urgent);
        pthread_cond_broadcast(&s->came);
    }
    pthread_mutex_unlock(&s->lock);
    return takes;
}

int session_rpc(struct session *s, const char *mod, const char *fun, const struct buf *args,
                struct buf *answer, int timeout_ms, struct err *e)
{
    struct buf m;
    char what[160];
    uint64_t ref = expect(s, true);
    int rc;

    snprintf(what, sizeof what, "%s:%s", mod, fun);
    buf_init(&m, 0);
    enc_version(&m);
    enc_tuple(&m, 3);
    enc_atom(&m, "$gen_call");
    enc_tuple(&m, 2);
    conn_self_pid(s->conn, &m);
    enc_u64(&m, ref);
    enc_tuple(&m, 5);
    enc_atom(&m, "call");
    enc_atom(&m, mod);
    enc_atom(&m, fun);
    buf_add(&m, args->data, args->len);
    enc_atom(&m, "user");
    rc = conn_send_name(s->conn, "rex", m.data, m.len, e);
    buf_release(&m);
    if (rc == 0) {
        pthread_mutex_lock(&s->lock);
        rc = wait_answer(s, ref, answer, timeout_ms, what, e);
        pthread_mutex_unlock(&s->lock);
    }
    return rc;
}

struct session *session_new(const struct session_opts *o)
{
    struct session *s = calloc(1, sizeof *s);
    pthread_condattr_t at;

    if (!s)
        abort();
    if (getrandom(s->key, sizeof s->key, 0) != (ssize_t)sizeof s->key)
        abort();
    s->o = *o;
    buf_init(&s->controller, 4096);
    buf_init(&s->answer, SESSION_ANSWER_BYTES);
    buf_init(&s->urgent, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&at);
    pthread_condattr_setclock(&at, CLOCK_MONOTONIC);
    pthread_cond_init(&s->came, &at);
    pthread_condattr_destroy(&at);
    return s;
}

void session_free(struct session *s)
{
    if (s->reading) {
        conn_shutdown(s->conn);
        pthread_join(s->reader, NULL);
    }
    conn_close(s->conn);
    agent_module_release(&s->agent);
    buf_release(&s->controller);
    buf_release(&s->answer);
    buf_release(&s->urgent);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->came);
    free(s);
}

int session_listen(struct session *s, struct err *e)
{
    int rc = pthread_create(&s->reader, NULL, read_loop, s);

    if (rc != 0)
        return err_set(e, "cannot start a thread: %s", strerror(rc));
    s->reading = true;
    return 0;
}
