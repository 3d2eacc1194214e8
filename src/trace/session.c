#include <kprof/trace/session.h>

#include <errno.h>
#include <kprof/base/clock.h>
#include <kprof/erl/conn.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/term.h>
#include <kprof/trace/agent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES ((size_t)8 << 20)

struct session {
    struct session_opts o;
    struct conn *conn;
    pthread_t reader;
    bool reading;
    char keeper_name[64];
    struct agent_module module[AGENT_MODULES_MAX];
    size_t modules;
    struct buf keeper; /* its pid, encoded */

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t came;
    struct buf answer;
    uint64_t want, got; /* reference of the request under way; of the answer in `answer` */
    bool got_rpc, lost;
    struct err why;
    uint64_t refs;
};

static void hand_over(struct session *s, enum stream_kind kind, const struct etf *rest,
                      uint64_t ref)
{
    pthread_mutex_lock(&s->lock);
    if (kind == STREAM_RPC || ref == s->want) {
        buf_clear(&s->answer);
        buf_add(&s->answer, rest->p, (size_t)(rest->end - rest->p));
        s->got_rpc = kind == STREAM_RPC;
        s->got = ref;
        pthread_cond_broadcast(&s->came);
    }
    pthread_mutex_unlock(&s->lock);
}

static void *read_loop(void *arg)
{
    struct session *s = arg;
    struct err e = {{0}};
    const uint8_t *bytes;
    size_t n;
    int r;

    while ((r = conn_recv(s->conn, 1000, &bytes, &n, &e)) >= 0) {
        struct etf rest;
        uint64_t ref, now = clock_mono_ns();

        if (r == 0)
            continue;
        enum stream_kind kind = stream_feed(s->o.stream, bytes, n, now, &rest, &ref);
        if (kind == STREAM_REPLY || kind == STREAM_RPC)
            hand_over(s, kind, &rest, ref);
        else if (kind != STREAM_BAD)
            recorder_write(s->o.recorder, RECORD_EVENTS, now, bytes, n);
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

bool session_lost(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    bool lost = s->lost;
    pthread_mutex_unlock(&s->lock);
    return lost;
}

/* Waits for the answer; lock is held. */
static int wait_answer(struct session *s, bool rpc, uint64_t ref, struct buf *answer,
                       int timeout_ms, const char *what, struct err *e)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!s->lost && !(rpc ? s->got_rpc : s->got == ref)) {
        if (pthread_cond_timedwait(&s->came, &s->lock, &until) == ETIMEDOUT)
            return err_set(e,
                           "%s did not answer %s within %d ms: the node may be too busy; try again "
                           "or raise its priority",
                           s->o.node, what, timeout_ms);
    }
    if (s->lost)
        return err_set(e, "lost the connection to %s while asking for %s: %.200s", s->o.node, what,
                       s->why.text);
    buf_clear(answer);
    buf_add(answer, s->answer.data, s->answer.len);
    return 0;
}

/* Begins to wait; must come before the request is sent. */
static uint64_t expect(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    s->got_rpc = false;
    s->got = 0;
    s->want = ++s->refs;
    uint64_t ref = s->want;
    pthread_mutex_unlock(&s->lock);
    return ref;
}

int session_ask(struct session *s, const struct buf *request, struct buf *answer, int timeout_ms,
                struct err *e)
{
    struct buf m;
    uint64_t ref = expect(s);
    int rc;

    buf_init(&m, 0);
    enc_version(&m);
    enc_tuple(&m, 3);
    enc_atom(&m, "kp");
    enc_u64(&m, ref);
    buf_add(&m, request->data, request->len);
    rc = conn_send_pid(s->conn, s->keeper.data, s->keeper.len, m.data, m.len, e);
    buf_release(&m);
    if (rc == 0) {
        pthread_mutex_lock(&s->lock);
        rc = wait_answer(s, false, ref, answer, timeout_ms, "the agent", e);
        pthread_mutex_unlock(&s->lock);
    }
    return rc;
}

/* rpc through rex: {Self, {call, M, F, Args, user}} -> {rex, Result}. args: an encoded list. */
static int rpc(struct session *s, const char *mod, const char *fun, const struct buf *args,
               struct buf *answer, struct err *e)
{
    struct buf m;
    char what[160];
    int rc;

    snprintf(what, sizeof what, "%s:%s", mod, fun);
    buf_init(&m, 0);
    enc_version(&m);
    enc_tuple(&m, 2);
    conn_self_pid(s->conn, &m);
    enc_tuple(&m, 5);
    enc_atom(&m, "call");
    enc_atom(&m, mod);
    enc_atom(&m, fun);
    buf_add(&m, args->data, args->len);
    enc_atom(&m, "user");
    expect(s);
    rc = conn_send_name(s->conn, "rex", m.data, m.len, e);
    buf_release(&m);
    if (rc == 0) {
        pthread_mutex_lock(&s->lock);
        rc = wait_answer(s, true, 0, answer, s->o.timeout_ms, what, e);
        pthread_mutex_unlock(&s->lock);
    }
    return rc;
}

/* rpc with one atom as its argument. */
static int rpc_atom(struct session *s, const char *mod, const char *fun, const char *atom,
                    struct buf *answer, struct err *e)
{
    struct buf args;
    int rc;

    buf_init(&args, 0);
    enc_list(&args, 1);
    enc_atom(&args, atom);
    enc_nil(&args);
    rc = rpc(s, mod, fun, &args, answer, e);
    buf_release(&args);
    return rc;
}

static bool answer_is(const struct buf *a, const char *atom)
{
    struct etf c;
    etf_init(&c, a->data, a->len);
    return etf_is_atom(&c, atom);
}

static void answer_text(const struct buf *a, struct buf *out)
{
    struct etf c;
    etf_init(&c, a->data, a->len);
    buf_clear(out);
    if (!term_print(&c, out, 240))
        buf_adds(out, "(unreadable)");
}

static int find_slot(struct session *s, struct err *e)
{
    struct buf answer;
    unsigned at = (unsigned)(getpid() % AGENT_SLOTS);
    int rc = -1;

    buf_init(&answer, ANSWER_BYTES);
    for (unsigned i = 0; i < AGENT_SLOTS; i++, at = (at + 1) % AGENT_SLOTS) {
        agent_modules_release(s->module, s->modules);
        s->modules = agent_modules(at, s->module);
        snprintf(s->keeper_name, sizeof s->keeper_name, "kprof_keeper_%02u", at);
        if (rpc_atom(s, "erlang", "module_loaded", s->keeper_name, &answer, e) < 0)
            goto out;
        if (answer_is(&answer, "false")) {
            rc = 0;
            goto out;
        }
    }
    err_set(
        e,
        "cannot load the agent on %s: all %d slots are taken; is something left from earlier runs?",
        s->o.node, AGENT_SLOTS);
out:
    buf_release(&answer);
    return rc;
}

static int load_module(struct session *s, const struct agent_module *m, struct err *e)
{
    struct buf args, answer, text;
    struct etf c;
    uint32_t arity;
    int rc;

    buf_init(&args, 0);
    buf_init(&answer, ANSWER_BYTES);
    buf_init(&text, 4096);
    enc_list(&args, 3);
    enc_atom(&args, m->name);
    enc_nil(&args);
    enc_binary(&args, m->bytes, m->len);
    enc_nil(&args);
    rc = rpc(s, "code", "load_binary", &args, &answer, e);
    if (rc < 0)
        goto out;
    etf_init(&c, answer.data, answer.len);
    if (!etf_tuple(&c, &arity) || arity != 2 || !etf_is_atom(&c, "module")) {
        answer_text(&answer, &text);
        rc = err_set(e,
                     "cannot load the agent on %s: %s; it was compiled for another Erlang: build "
                     "kprof-top with an OTP no newer than the node's",
                     s->o.node, text.data);
    }
out:
    buf_release(&args);
    buf_release(&answer);
    buf_release(&text);
    return rc;
}

static void copy_text(struct etf *c, char *out, size_t cap)
{
    const uint8_t *b;
    size_t n;

    if (etf_string(c, &b, &n)) {
        n = n < cap - 1 ? n : cap - 1;
        memcpy(out, b, n);
        out[n] = 0;
    }
}

static void read_others(struct etf *c, char *out, size_t cap)
{
    uint32_t n;

    if (!etf_list(c, &n))
        return;
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen(out);
        if (len && len + 3 < cap)
            strcat(out, ", ");
        len = strlen(out);
        copy_text(c, out + len, cap - len);
    }
}

static void read_info(struct etf *c, struct session_info *info)
{
    uint32_t pairs;
    uint64_t u;

    if (!etf_map(c, &pairs))
        return;
    for (uint32_t i = 0; i < pairs && !c->bad; i++) {
        const char *k;
        size_t n;
        if (!etf_atom(c, &k, &n))
            return;
        struct etf value = *c;
#define IS(s) (n == sizeof s - 1 && memcmp(k, s, n) == 0)
        if (IS("otp"))
            copy_text(&value, info->otp, sizeof info->otp);
        else if (IS("start_time"))
            etf_i64(&value, &info->start_native);
        else if (IS("time_unit"))
            etf_i64(&value, &info->units_per_s);
        else if (IS("schedulers") && etf_u64(&value, &u))
            info->schedulers = (uint32_t)u;
        else if (IS("session"))
            info->own_session = etf_is_atom(&value, "true");
        else if (IS("lean"))
            info->lean = etf_is_atom(&value, "true");
        else if (IS("elixir"))
            info->elixir = etf_is_atom(&value, "true");
        else if (IS("others"))
            read_others(&value, info->others, sizeof info->others);
#undef IS
        etf_skip(c);
    }
}

static void start_args(struct session *s, struct buf *args)
{
    enc_list(args, 1);
    enc_map(args, 5);
    enc_atom(args, "pid");
    conn_self_pid(s->conn, args);
    enc_atom(args, "node");
    enc_atom(args, conn_self(s->conn));
    enc_atom(args, "who");
    enc_str(args, s->o.who);
    enc_atom(args, "force");
    enc_atom(args, s->o.force ? "true" : "false");
    enc_atom(args, "epoch");
    enc_u64(args, s->o.epoch);
    enc_nil(args);
}

static int start_keeper(struct session *s, struct session_info *info, struct err *e)
{
    struct buf args, answer, text;
    struct etf c;
    uint32_t arity;
    int rc;

    buf_init(&args, 0);
    buf_init(&answer, ANSWER_BYTES);
    buf_init(&text, 4096);
    start_args(s, &args);
    rc = rpc(s, s->keeper_name, "start", &args, &answer, e);
    if (rc < 0)
        goto out;
    rc = -1;
    etf_init(&c, answer.data, answer.len);
    if (etf_tuple(&c, &arity) && arity == 3 && etf_is_atom(&c, "ok")) {
        const uint8_t *from = c.p;
        if (etf_skip(&c)) {
            buf_add(&s->keeper, from, (size_t)(c.p - from));
            read_info(&c, info);
            rc = 0;
            goto out;
        }
    } else if (!c.bad && arity == 3 && etf_is_atom(&c, "error") && etf_skip(&c)) {
        char why[400] = "";
        copy_text(&c, why, sizeof why);
        err_set(e, "cannot trace on %s: %s", s->o.node, why);
        goto out;
    }
    answer_text(&answer, &text);
    err_set(e, "cannot start the agent on %s: %s", s->o.node, text.data);
out:
    buf_release(&args);
    buf_release(&answer);
    buf_release(&text);
    return rc;
}

/* Takes our modules off the target; the keeper has ended by then. */
static void unload(struct session *s)
{
    struct buf answer;
    struct err ignored;

    buf_init(&answer, ANSWER_BYTES);
    for (size_t i = 0; i < s->modules; i++) {
        if (rpc_atom(s, "code", "purge", s->module[i].name, &answer, &ignored) < 0 ||
            rpc_atom(s, "code", "delete", s->module[i].name, &answer, &ignored) < 0 ||
            rpc_atom(s, "code", "purge", s->module[i].name, &answer, &ignored) < 0)
            break;
    }
    buf_release(&answer);
}

static struct session *session_alloc(const struct session_opts *o)
{
    struct session *s = calloc(1, sizeof *s);
    pthread_condattr_t at;

    if (!s)
        abort();
    s->o = *o;
    buf_init(&s->keeper, 4096);
    buf_init(&s->answer, ANSWER_BYTES);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&at);
    pthread_condattr_setclock(&at, CLOCK_MONOTONIC);
    pthread_cond_init(&s->came, &at);
    pthread_condattr_destroy(&at);
    return s;
}

static void session_free(struct session *s)
{
    if (s->reading) {
        conn_shutdown(s->conn);
        pthread_join(s->reader, NULL);
    }
    conn_close(s->conn);
    agent_modules_release(s->module, s->modules);
    buf_release(&s->keeper);
    buf_release(&s->answer);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->came);
    free(s);
}

struct session *session_open(const struct session_opts *o, struct session_info *info, struct err *e)
{
    struct session *s = session_alloc(o);
    struct conn_opts co = {.node = o->node,
                           .cookie = o->cookie,
                           .self_name = o->self_name,
                           .timeout_ms = o->timeout_ms};
    bool loaded = false;

    memset(info, 0, sizeof *info);
    if (conn_open(&s->conn, &co, e) != CONN_OK)
        goto fail;
    snprintf(info->node, sizeof info->node, "%s", conn_node(s->conn));
    stream_clock(o->stream, 0, 0);
    if (pthread_create(&s->reader, NULL, read_loop, s) != 0) {
        err_set(e, "cannot start a thread: %s", strerror(errno));
        goto fail;
    }
    s->reading = true;
    if (find_slot(s, e) < 0)
        goto fail;
    loaded = true;
    for (size_t i = 0; i < s->modules; i++) {
        if (load_module(s, &s->module[i], e) < 0)
            goto fail;
    }
    if (start_keeper(s, info, e) < 0)
        goto fail;
    stream_clock(o->stream, info->start_native, info->units_per_s);
    return s;
fail:
    if (loaded && !session_lost(s))
        unload(s);
    session_free(s);
    return NULL;
}

static void read_detach(struct buf *answer, struct session_receipt *r)
{
    struct etf c;
    uint32_t pairs;

    etf_init(&c, answer->data, answer->len);
    if (!etf_map(&c, &pairs))
        return;
    for (uint32_t i = 0; i < pairs && !c.bad; i++) {
        const char *k, *v;
        size_t n, vn;
        if (!etf_atom(&c, &k, &n))
            return;
        struct etf value = c;
        if (n == 8 && memcmp(k, "patterns", n) == 0)
            etf_u64(&value, &r->patterns);
        else if (n == 5 && memcmp(k, "flags", n) == 0)
            etf_u64(&value, &r->flags);
        else if (n == 6 && memcmp(k, "tokens", n) == 0 && etf_atom(&value, &v, &vn))
            memcpy(r->tokens, v, vn < sizeof r->tokens - 1 ? vn : sizeof r->tokens - 1);
        etf_skip(&c);
    }
    r->asked = !c.bad;
}

/* Asks the target itself what is left of us. */
static void count_left(struct session *s, struct session_receipt *r)
{
    struct buf answer;
    struct err ignored;

    buf_init(&answer, ANSWER_BYTES);
    for (size_t i = 0; i < s->modules; i++) {
        if (rpc_atom(s, "erlang", "module_loaded", s->module[i].name, &answer, &ignored) < 0)
            r->asked = false;
        else if (!answer_is(&answer, "false"))
            r->modules++;
        if (rpc_atom(s, "erlang", "whereis", s->module[i].name, &answer, &ignored) < 0)
            r->asked = false;
        else if (!answer_is(&answer, "undefined"))
            r->processes++;
    }
    buf_release(&answer);
}

void session_close(struct session *s, struct session_receipt *receipt)
{
    struct session_receipt mine = {.asked = false};
    struct session_receipt *r = receipt ? receipt : &mine;
    struct buf ask, answer;
    struct err ignored;

    if (!s)
        return;
    memset(r, 0, sizeof *r);
    buf_init(&ask, 64);
    buf_init(&answer, ANSWER_BYTES);
    enc_atom(&ask, "detach");
    if (!session_lost(s) && session_ask(s, &ask, &answer, s->o.timeout_ms, &ignored) == 0) {
        read_detach(&answer, r);
        unload(s);
        count_left(s, r);
    }
    buf_release(&ask);
    buf_release(&answer);
    session_free(s);
}
