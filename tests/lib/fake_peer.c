#include "fake_peer.h"

#include "../../src/erl/conn_impl.h"
#include <trace/session_impl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <kprof/base/clock.h>
#include <kprof/base/ring.h>
#include <kprof/core/event.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/stream.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PASS_THROUGH 112
#define PACKET_MAX   ((size_t)16 << 20)
#define LATE_NS      UINT64_C(60000000000) /* only to end a test that hangs */

struct peer {
    int fd;
    pthread_t thread;
    pthread_mutex_t sending;
    hear_fn *hear;
    void *arg;
    struct ring *ring;
    struct intern *names;
    struct stream *stream;
    struct session *s;
    struct buf self; /* the session's pid */
};

static bool read_all(int fd, void *to, size_t n)
{
    for (char *at = to; n > 0;) {
        ssize_t got = read(fd, at, n);
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static void write_all(int fd, const void *from, size_t n)
{
    for (const char *at = from; n > 0;) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the session has ended */
        at += sent;
        n -= (size_t)sent;
    }
}

void peer_send(struct peer *p, const struct buf *term)
{
    struct buf m;

    buf_init(&m, 0);
    buf_add(&m, "\0\0\0\0", 4);
    buf_addch(&m, PASS_THROUGH);
    enc_version(&m);
    enc_tuple(&m, 3);
    enc_u64(&m, 2); /* SEND */
    enc_atom(&m, "");
    buf_add(&m, p->self.data, p->self.len);
    enc_version(&m);
    buf_add(&m, term->data, term->len);
    for (unsigned i = 0; i < 4; i++)
        m.data[i] = (char)((m.len - 4) >> (8 * (3 - i)));
    pthread_mutex_lock(&p->sending);
    write_all(p->fd, m.data, m.len);
    pthread_mutex_unlock(&p->sending);
    buf_release(&m);
}

void peer_answer(struct peer *p, bool rpc, uint64_t ref, const struct buf *answer)
{
    struct buf m;

    buf_init(&m, 0);
    enc_tuple(&m, rpc ? 2 : 3);
    if (!rpc)
        enc_atom(&m, "kr");
    enc_u64(&m, ref);
    buf_add(&m, answer->data, answer->len);
    peer_send(p, &m);
    buf_release(&m);
}

void peer_error(struct buf *out, const char *kind, const char *text)
{
    enc_tuple(out, 3);
    enc_atom(out, "error");
    enc_atom(out, kind);
    enc_str(out, text);
}

bool heard_is(const struct heard *h, const char *request, struct etf *rest)
{
    struct etf c = h->what;
    uint32_t arity;

    if (h->rpc)
        return false;
    bool is = etf_is_atom(&c, request) || (etf_tuple(&c, &arity) && etf_is_atom(&c, request));
    if (rest)
        *rest = c;
    return is;
}

/* {'$gen_call', {Pid, Ref}, Call} or {kp, Key, Ref, Request}, after the control message. */
static bool understand(const char *bytes, size_t n, struct heard *h)
{
    struct etf c;
    uint32_t arity;

    etf_init(&c, bytes, n);
    if (!etf_version(&c) || !etf_skip(&c) || !etf_version(&c) || !etf_tuple(&c, &arity))
        return false;
    h->rpc = arity == 3 && etf_is_atom(&c, "$gen_call");
    if (!h->rpc && !(arity == 4 && etf_is_atom(&c, "kp")))
        return false;
    if (h->rpc && !etf_tuple(&c, &arity))
        return false;
    if (!etf_skip(&c) || !etf_u64(&c, &h->ref)) /* the pid; the key */
        return false;
    h->what = c;
    return true;
}

static void *serve(void *arg)
{
    struct peer *p = arg;
    unsigned char len[4];

    while (read_all(p->fd, len, 4)) {
        size_t n = (size_t)len[0] << 24 | (size_t)len[1] << 16 | (size_t)len[2] << 8 | len[3];
        if (n == 0)
            continue; /* a tick */
        char *bytes = n < PACKET_MAX ? malloc(n) : NULL;
        struct buf out;
        struct heard h;
        if (!bytes || !read_all(p->fd, bytes, n)) {
            free(bytes);
            break;
        }
        buf_init(&out, 0);
        if (understand(bytes + 1, n - 1, &h) && p->hear(p->arg, p, &h, &out))
            peer_answer(p, h.rpc, h.ref, &out);
        buf_release(&out);
        free(bytes);
    }
    return NULL;
}

struct peer *peer_new(hear_fn *hear, void *arg)
{
    struct peer *p = calloc(1, sizeof *p);
    struct err e;
    int fd[2];

    if (!p || socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
        abort();
    p->fd = fd[1];
    p->hear = hear;
    p->arg = arg;
    p->names = intern_new(100, 10000);
    p->ring = ring_new(64, sizeof(struct event));
    p->stream = stream_new(p->ring, p->names);
    pthread_mutex_init(&p->sending, NULL);
    struct session_opts o = {.to.node = "n@h", .timeout_ms = 5000, .stream = p->stream};
    p->s = session_new(&o);
    p->s->conn = conn_new((struct sock){.fd = fd[0]}, 5000, 7, "n@h", "kprof_top_1@h");
    agent_module_make(AGENT_MAIN, 0, &p->s->agent); /* as if loaded */
    buf_init(&p->self, 0);
    conn_self_pid(p->s->conn, &p->self);
    conn_self_pid(p->s->conn, &p->s->controller); /* any pid */
    if (session_listen(p->s, &e) < 0 || pthread_create(&p->thread, NULL, serve, p) != 0)
        abort();
    return p;
}

struct session *peer_session(struct peer *p)
{
    return p->s;
}

void peer_hang_up(struct peer *p)
{
    (void)shutdown(p->fd, SHUT_RDWR);
}

void peer_free(struct peer *p, bool closed)
{
    if (!closed)
        session_free(p->s);
    peer_hang_up(p);
    pthread_join(p->thread, NULL);
    close(p->fd);
    pthread_mutex_destroy(&p->sending);
    stream_free(p->stream);
    ring_free(p->ring);
    intern_free(p->names);
    buf_release(&p->self);
    free(p);
}

/* The program calls peers_open without an argument of the test: hence one set for the process. */
static struct {
    hear_fn *hear;
    unsigned most;
    struct peer *peer[PEERS_MAX];
    _Atomic unsigned opened; /* counted when the peer is there */
} peers;

void peers_begin(hear_fn *hear, unsigned most)
{
    if (most > PEERS_MAX)
        abort();
    memset(&peers, 0, sizeof peers);
    peers.hear = hear;
    peers.most = most;
}

struct session *peers_open(const struct session_opts *o, struct session_info *info, struct err *e)
{
    unsigned i = peers.opened;

    (void)o;
    memset(info, 0, sizeof *info);
    if (i == peers.most) {
        err_set(e, "no more");
        return NULL;
    }
    peers.peer[i] = peer_new(peers.hear, NULL);
    peers.opened++;
    return peer_session(peers.peer[i]);
}

unsigned peers_opened(void)
{
    return peers.opened;
}

struct peer *peers_at(unsigned i)
{
    if (i >= peers.opened)
        abort();
    return peers.peer[i];
}

void peers_end(void)
{
    for (unsigned i = 0; i < peers.opened; i++)
        peer_free(peers.peer[i], true);
    memset(&peers, 0, sizeof peers);
}

uint64_t peers_late_ns(void)
{
    return clock_mono_ns() + LATE_NS;
}

void peers_not_late(uint64_t late_ns, const char *cond, const char *file, int line)
{
    if (clock_mono_ns() <= late_ns)
        return;
    print_error("ERROR: waits in vain for: %s\n", cond);
    _fail(file, line);
}
