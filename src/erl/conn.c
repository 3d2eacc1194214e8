#include "conn_impl.h"
#include "net.h"

#include <assert.h>
#include <errno.h>
#include <kprof/base/clock.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_BYTES   4u /* length of the packet, big-endian */
#define PASS_THROUGH  112
#define START_BYTES   ((size_t)256 << 10)
#define KEEP_BYTES    ((size_t)4 << 20) /* a buffer grown beyond it shrinks when it is empty */
#define READ_BYTES    ((size_t)64 << 10)
#define TICK_EVERY_NS UINT64_C(5000000000)

enum op { /* control messages with a payload for kprof-top; a hidden node ignores all others */
          OP_SEND = 2,
          OP_REG_SEND = 6,
          OP_SEND_TT = 12,
          OP_REG_SEND_TT = 16,
          OP_SEND_SENDER = 22,
          OP_SEND_SENDER_TT = 23
};

struct conn *conn_new(struct sock sock, int timeout_ms, uint32_t creation, const char *node,
                      const char *self)
{
    struct conn *c = calloc(1, sizeof *c);

    if (c == NULL || (c->in = malloc(START_BYTES)) == NULL)
        abort();
    c->cap = START_BYTES;
    c->sock = sock;
    c->timeout_ms = timeout_ms;
    c->creation = creation;
    assert(strlen(node) < sizeof c->node && strlen(self) < sizeof c->self);
    memcpy(c->node, node, strlen(node));
    memcpy(c->self, self, strlen(self));
    pthread_mutex_init(&c->sending, NULL);
    buf_init(&c->head, 4096);
    atomic_init(&c->sent_ns, clock_mono_ns());
    atomic_init(&c->shut, false);
    atomic_init(&c->send_failed, 0);
    return c;
}

void conn_close(struct conn *c)
{
    if (c == NULL)
        return;
    sock_close(&c->sock);
    pthread_mutex_destroy(&c->sending);
    buf_release(&c->head);
    free(c->in);
    free(c);
}

void conn_shutdown(struct conn *c)
{
    atomic_store(&c->shut, true);
    sock_shutdown(&c->sock);
}

bool conn_is_local(const struct conn *c)
{
    struct sockaddr_storage here, there;
    socklen_t here_n = sizeof here, there_n = sizeof there;

    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    if (getsockname(c->sock.fd, (struct sockaddr *)&here, &here_n) < 0 ||
        getpeername(c->sock.fd, (struct sockaddr *)&there, &there_n) < 0 ||
        here.ss_family != there.ss_family)
        return false;
    if (here.ss_family == AF_INET)
        return ((struct sockaddr_in *)&here)->sin_addr.s_addr ==
               ((struct sockaddr_in *)&there)->sin_addr.s_addr;
    return here.ss_family == AF_INET6 &&
           memcmp(&((struct sockaddr_in6 *)&here)->sin6_addr,
                  &((struct sockaddr_in6 *)&there)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

const char *conn_node(const struct conn *c)
{
    return c->node;
}

const char *conn_self(const struct conn *c)
{
    return c->self;
}

static void put32(struct buf *b, uint32_t v)
{
    unsigned char p[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 8), (unsigned char)v};

    buf_add(b, p, sizeof p);
}

void conn_self_pid(const struct conn *c, struct buf *out)
{
    buf_addch(out, 88); /* NEW_PID_EXT: node, id, serial, creation */
    enc_atom(out, c->self);
    put32(out, 0);
    put32(out, 0);
    put32(out, c->creation);
}

static int lost(struct conn *c, int why, struct err *e)
{
    int failed = atomic_load(&c->send_failed);
    struct buf text;

    if (atomic_load(&c->shut))
        return err_set(e, "the connection to %s was closed", c->node);
    if (failed == ETIMEDOUT)
        return err_set(e, "lost %s: it accepted no data for %d ms", c->node, c->timeout_ms);
    if (failed != 0)
        why = failed;
    if (why == 0 || why == ECONNRESET || why == EPIPE)
        return err_set(e,
                       "lost %s: it closed the connection; the node has stopped or has "
                       "disconnected kprof-top",
                       c->node);
    if (why != EPROTO)
        return err_set(e, "lost %s: %s", c->node, strerror(why));
    buf_init(&text, sizeof e->text);
    sock_why(&c->sock, &text);
    (void)err_set(e, "lost %s: %s", c->node, text.data);
    buf_release(&text);
    return -1;
}

/* rc: why a packet was sent only in part */
static void mark_broken(struct conn *c, int rc)
{
    atomic_store(&c->send_failed, -rc);
    sock_shutdown(&c->sock);
}

static void went_out(struct conn *c)
{
    atomic_store_explicit(&c->sent_ns, clock_mono_ns(), memory_order_relaxed);
}

/* Four zero bytes, a tick. If a packet is being sent, or the socket is full, the node receives
 * bytes anyway. */
static void tick(struct conn *c)
{
    static const char zeros[FRAME_BYTES] = {0};
    struct pollfd p = {.fd = c->sock.fd, .events = POLLOUT};
    struct iovec iov = {(void *)(uintptr_t)zeros, sizeof zeros};
    bool began;

    if (pthread_mutex_trylock(&c->sending) != 0)
        return;
    if (atomic_load(&c->send_failed) == 0 && poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0) {
        int rc = sock_send_all(&c->sock, &iov, 1, net_deadline(c->timeout_ms), &began);

        if (rc < 0 && began)
            mark_broken(c, rc);
        went_out(c);
    }
    pthread_mutex_unlock(&c->sending);
}

/* Sends c->head, whose first four bytes will be the length, and the term. */
static int send_packet(struct conn *c, const void *term, size_t n, struct err *e)
{
    size_t length = c->head.len - FRAME_BYTES + n;
    struct iovec iov[2] = {{c->head.data, c->head.len}, {(void *)(uintptr_t)term, n}};
    bool began;
    int rc;

    if (atomic_load(&c->send_failed) != 0 || atomic_load(&c->shut))
        return lost(c, 0, e);
    if (c->head.truncated || length > CONN_MAX_PACKET)
        return err_set(e, "a message of %zu bytes to %s is too long to send", n, c->node);
    for (unsigned i = 0; i < FRAME_BYTES; i++)
        c->head.data[i] = (char)(length >> (8 * (FRAME_BYTES - 1 - i)));
    rc = sock_send_all(&c->sock, iov, 2, net_deadline(c->timeout_ms), &began);
    if (rc == 0) {
        went_out(c);
        return 0;
    }
    if (began)
        mark_broken(c, rc);
    if (rc == -ETIMEDOUT)
        return err_set(e, "%s accepted no data for %d ms: it is overloaded or out of reach",
                       c->node, c->timeout_ms);
    return lost(c, -rc, e);
}

static void begin_packet(struct conn *c, uint32_t arity, int64_t op)
{
    buf_clear(&c->head);
    put32(&c->head, 0);
    buf_addch(&c->head, PASS_THROUGH);
    enc_version(&c->head);
    enc_tuple(&c->head, arity);
    enc_i64(&c->head, op);
}

int conn_send_name(struct conn *c, const char *name, const void *term, size_t n, struct err *e)
{
    int rc;

    pthread_mutex_lock(&c->sending);
    begin_packet(c, 4, OP_REG_SEND);
    conn_self_pid(c, &c->head);
    enc_atom(&c->head, ""); /* unused; in old versions the cookie */
    enc_atom(&c->head, name);
    rc = send_packet(c, term, n, e);
    pthread_mutex_unlock(&c->sending);
    return rc;
}

int conn_send_pid(struct conn *c, const void *pid, size_t pid_n, const void *term, size_t n,
                  struct err *e)
{
    int rc;

    pthread_mutex_lock(&c->sending);
    begin_packet(c, 3, OP_SEND);
    enc_atom(&c->head, "");
    buf_add(&c->head, pid, pid_n);
    rc = send_packet(c, term, n, e);
    pthread_mutex_unlock(&c->sending);
    return rc;
}

/* True: a pid of this node, not one of an earlier node with the same name. */
static bool is_us(const struct conn *c, const uint8_t *pid, const uint8_t *end)
{
    uint32_t creation;

    if (end - pid < 5 || *pid != 88)
        return true;
    creation = (uint32_t)end[-4] << 24 | (uint32_t)end[-3] << 16 | (uint32_t)end[-2] << 8 | end[-1];
    return creation == c->creation;
}

enum kind { KIND_MESSAGE, KIND_OTHER, KIND_BAD };

/* A packet after its length: 'p', control tuple, message. */
static enum kind read_packet(const struct conn *c, const uint8_t *p, size_t n,
                             const uint8_t **payload, size_t *payload_n)
{
    struct etf in;
    const uint8_t *pid = NULL, *pid_end = NULL;
    uint32_t arity;
    uint64_t op;

    if (*p != PASS_THROUGH)
        return KIND_BAD;
    etf_init(&in, p + 1, n - 1);
    if (!etf_version(&in) || !etf_tuple(&in, &arity) || arity == 0 || !etf_u64(&in, &op))
        return KIND_BAD;
    for (uint32_t i = 1; i < arity; i++) {
        if (i == 2)
            pid = in.p;
        if (!etf_skip(&in))
            return KIND_BAD;
        if (i == 2)
            pid_end = in.p;
    }
    *payload = in.p;
    *payload_n = (size_t)(in.end - in.p);
    switch (op) {
    case OP_REG_SEND:
    case OP_REG_SEND_TT:
        return etf_peek(&in) == 131 ? KIND_MESSAGE : KIND_BAD;
    case OP_SEND:
    case OP_SEND_TT:
    case OP_SEND_SENDER:
    case OP_SEND_SENDER_TT:
        if (pid == NULL || etf_peek(&in) != 131)
            return KIND_BAD;
        return is_us(c, pid, pid_end) ? KIND_MESSAGE : KIND_OTHER;
    default:
        return KIND_OTHER;
    }
}

/* The next message from the buffer: 1; 0 if more bytes are needed (*need: at least this many); -1
 * if it is malformed. */
static int take(struct conn *c, const uint8_t **payload, size_t *n, size_t *need, struct err *e)
{
    while (c->end - c->begin >= FRAME_BYTES) {
        const uint8_t *p = c->in + c->begin;
        uint32_t length = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];

        if (length > CONN_MAX_PACKET)
            return err_set(e, "%s sent a packet of %u bytes, more than kprof-top accepts (%u)",
                           c->node, length, CONN_MAX_PACKET);
        *need = FRAME_BYTES + (size_t)length;
        if (c->end - c->begin < *need)
            return 0;
        c->begin += *need;
        if (length == 0) {
            tick(c);
            continue;
        }
        switch (read_packet(c, p + FRAME_BYTES, length, payload, n)) {
        case KIND_MESSAGE:
            return 1;
        case KIND_OTHER:
            break;
        case KIND_BAD:
            return err_set(e, "%s sent data that does not follow the distribution protocol",
                           c->node);
        }
    }
    *need = FRAME_BYTES;
    return 0;
}

/* Makes room at the end. Memory grows with the bytes that have arrived, not with the length that a
 * packet claims. */
static void make_room(struct conn *c, size_t need)
{
    size_t have = c->end - c->begin, cap = c->cap;

    if (have == 0) {
        c->begin = c->end = 0;
        if (cap > KEEP_BYTES)
            cap = START_BYTES;
    }
    if (c->begin > 0 && c->cap - c->end < READ_BYTES) {
        memmove(c->in, c->in + c->begin, have);
        c->begin = 0;
        c->end = have;
    }
    if (c->end == c->cap)
        cap = 2 * cap > need && need > cap ? need : 2 * cap;
    if (cap != c->cap) {
        uint8_t *in = realloc(c->in, cap);

        if (in == NULL)
            abort();
        c->in = in;
        c->cap = cap;
    }
}

/* Reads the available bytes: 1 some, 0 none, -1 the end. */
static int fill(struct conn *c, size_t need, struct err *e)
{
    ssize_t n;

    make_room(c, need);
    n = sock_recv(&c->sock, c->in + c->end, c->cap - c->end);
    if (n == -EAGAIN)
        return 0;
    if (n <= 0)
        return lost(c, (int)-n, e);
    c->end += (size_t)n;
    return 1;
}

int conn_recv(struct conn *c, int timeout_ms, const uint8_t **payload, size_t *n, struct err *e)
{
    uint64_t deadline = net_deadline(timeout_ms);
    bool late = false;
    size_t need = 0;

    for (;;) {
        int rc = take(c, payload, n, &need, e);

        if (rc != 0 || late)
            return rc;
        rc = fill(c, need, e);
        if (rc < 0)
            return -1;
        uint64_t now = clock_mono_ns();
        if (now - atomic_load_explicit(&c->sent_ns, memory_order_relaxed) > TICK_EVERY_NS)
            tick(c);
        if (rc == 0 && sock_wait_recv(&c->sock, deadline) < 0)
            return 0;
        late = rc == 1 &&
               now >= deadline; /* packets may arrive without end, and none with a message */
    }
}
