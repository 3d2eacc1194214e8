#include "handshake.h"
#include "net.h"
#include "tls_conn.h"

#include <ei.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* With EI_SCLBK_FLG_FULL_IMPL libei leaves waiting to these functions; the deadline replaces its
 * time-outs. libei reads the bytes of a length, then the whole packet. */

#define HEAD_BYTES       2
#define HEAD_TLS_BYTES   4
#define STATUS_MAX_BYTES 300u /* a longer first packet is not from a node */
#define PACKET_MAX_BYTES 65535u
#define REST_WAIT_MS     200

enum { SENT_NAME = 1, SENT_REPLY = 2 };                     /* packets sent, in order */
enum { READ_STATUS = 1, READ_CHALLENGE = 2, READ_ACK = 3 }; /* packets received */

static int cb_socket(void **ctx, void *setup)
{
    *ctx = setup;
    return 0;
}

static int cb_close(void *ctx)
{
    struct handshake *s = ctx;

    if (!s->keep)
        sock_close(&s->sock);
    return 0;
}

static int cb_connect(void *ctx, void *addr, int len, unsigned tmo)
{
    (void)ctx; /* the socket is connected */
    (void)addr;
    (void)len;
    (void)tmo;
    return 0;
}

static size_t head_bytes(const struct handshake *s)
{
    return s->sock.tls != NULL ? HEAD_TLS_BYTES : HEAD_BYTES;
}

static bool no_head(const struct handshake *s)
{
    static const uint8_t none[sizeof s->head];

    return memcmp(s->head, none, sizeof none) == 0;
}

/* libei closes the socket after a failure, so what TLS knows about it is stored now. With TLS 1.3
 * the node checks our certificate only after the handshake of TLS. */
static void note_tls(struct handshake *s)
{
    struct buf why;
    char rest;

    if (s->sock.tls == NULL || s->failed_tls)
        return;
    if (s->why != EPROTO && sock_recv(&s->sock, &rest, 1) == -EPROTO) /* why sending failed */
        s->why = EPROTO;
    if (s->why != EPROTO && (s->read > 0 || !s->closed || !tls_conn_misses_cert(s->sock.tls)))
        return;
    buf_init(&why, sizeof s->no_tls.text);
    sock_why(&s->sock, &why);
    (void)err_set(&s->no_tls, "cannot connect to %.100s over TLS: %s", s->node, why.data);
    buf_release(&why);
    s->failed_tls = true;
}

static int write_bytes(struct handshake *s, const void *bytes, size_t n)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, n};
    bool began;
    int rc = sock_send_all(&s->sock, &iov, 1, s->deadline_ns, &began);

    if (rc < 0) {
        s->why = -rc;
        s->closed = s->why == ECONNRESET || s->why == EPIPE;
        note_tls(s);
    }
    return -rc;
}

static int cb_write(void *ctx, const char *bytes, ssize_t *len, unsigned tmo)
{
    struct handshake *s = ctx;

    (void)tmo;
    s->sent++;
    return write_bytes(s, bytes, (size_t)*len);
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("_-.@+:%", c) != NULL);
}

/* 's' and the status. */
static int take_status(struct handshake *s, char *body, size_t n)
{
    static const char go_on[] = {0, 0, 0, 5, 's', 't', 'r', 'u', 'e'};
    size_t skip = HEAD_TLS_BYTES - head_bytes(s);
    size_t word = n < sizeof s->status ? n - 1 : sizeof s->status - 1;

    if (body[0] != 's')
        return 0;
    for (size_t i = 0; i < word; i++)
        s->status[i] = name_char(body[1 + i]) ? body[1 + i] : '?';
    s->status[word] = 0;
    if (strcmp(s->status, "alive") != 0 || n != 6 || !s->replace)
        return 0;
    /* The protocol can replace the dead connection; libei does not support this. */
    memcpy(body, "sok", 3);
    return write_bytes(s, go_on + skip, sizeof go_on - skip);
}

/* 'N', flags (8), challenge (4), creation (4), name's length (2), name. */
static void take_challenge(struct handshake *s, const char *body, size_t n)
{
    const size_t before = 1 + 8 + 4 + 4 + 2;
    size_t len;

    if (n <= before || body[0] != 'N')
        return;
    len = (size_t)((unsigned char)body[before - 2] << 8 | (unsigned char)body[before - 1]);
    if (len > n - before || len >= sizeof s->peer)
        return;
    for (size_t i = 0; i < len; i++)
        if (!name_char(body[before + i]))
            return;
    memcpy(s->peer, body + before, len);
    s->peer[len] = 0;
}

static int take_packet(struct handshake *s, char *body, size_t n)
{
    s->read++;
    if (s->read == READ_STATUS)
        return take_status(s, body, n);
    if (s->read == READ_CHALLENGE) {
        take_challenge(s, body, n);
        s->other_name = s->peer[0] != 0 && strcmp(s->peer, s->node) != 0;
        return strcmp(s->peer, s->node) == 0 ? 0 : EPROTO;
    }
    return 0;
}

/* The length of the first packet cannot be from a node: the bytes show what kind of server it
 * is. */
static void take_unknown(struct handshake *s)
{
    uint8_t bytes[HEAD_BYTES + 14] = {s->head[0], s->head[1]};
    ssize_t n = 0;

    if (s->sock.tls != NULL)
        return;
    if (net_wait(s->sock.fd, POLLIN, net_sooner(s->deadline_ns, REST_WAIT_MS)) == 0)
        n = recv(s->sock.fd, bytes + HEAD_BYTES, sizeof bytes - HEAD_BYTES, 0);
    s->server = probe_bytes(bytes, HEAD_BYTES + (n > 0 ? (size_t)n : 0));
}

/* libei allocates as many bytes as the length says. */
static int take_head(struct handshake *s, const char *bytes)
{
    size_t n = 0;

    memcpy(s->head, bytes, head_bytes(s));
    for (size_t i = 0; i < head_bytes(s); i++)
        n = n << 8 | s->head[i];
    if (n > 0 && n <= (s->read > 0 ? PACKET_MAX_BYTES : STATUS_MAX_BYTES))
        return 0;
    if (s->read == 0)
        take_unknown(s);
    return EPROTO;
}

static int cb_read(void *ctx, char *bytes, ssize_t *len, unsigned tmo)
{
    struct handshake *s = ctx;
    size_t want = (size_t)*len;
    ssize_t n = sock_recv_full(&s->sock, bytes, want, s->deadline_ns);

    (void)tmo;
    if (n < 0) {
        s->why = (int)-n;
        s->closed = s->why == ECONNRESET || s->why == EPIPE;
        note_tls(s);
        return s->why;
    }
    *len = n;
    if ((size_t)n < want) {
        s->closed = true;
        note_tls(s);
        return 0;
    }
    if (no_head(s))
        return take_head(s, bytes);
    memset(s->head, 0, sizeof s->head);
    return take_packet(s, bytes, want);
}

static int cb_head_size(void *ctx, int *bytes)
{
    *bytes = (int)head_bytes(ctx);
    return 0;
}

static int cb_complete(void *ctx)
{
    (void)ctx;
    return 0;
}

static int cb_fd(void *ctx, int *fd)
{
    *fd = ((struct handshake *)ctx)->sock.fd;
    return 0;
}

static void start_libei(void)
{
    (void)ei_init();
}

static enum handshake_result verdict(const struct handshake *s)
{
    if (s->failed_tls)
        return HANDSHAKE_TLS;
    if (s->other_name)
        return HANDSHAKE_NAME;
    if (s->why == ETIMEDOUT)
        return HANDSHAKE_TIMEOUT;
    /* The node closes the connection on a wrong digest; a wrong digest of the node has the same
     * cause. */
    if (s->sent >= SENT_REPLY && (s->closed || s->why == EPIPE || s->read >= READ_ACK))
        return HANDSHAKE_COOKIE;
    if (s->read == READ_STATUS && s->status[0] != 0 && strncmp(s->status, "ok", 2) != 0)
        return HANDSHAKE_STATUS;
    if (s->read == 0 && (s->closed || s->why == EPIPE) && no_head(s))
        return HANDSHAKE_CLOSED;
    return HANDSHAKE_UNKNOWN_PROTOCOL;
}

enum handshake_result handshake_run(struct handshake *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* libei must be initialized once per process */
    ei_socket_callbacks callbacks = {.flags = EI_SCLBK_FLG_FULL_IMPL,
                                     .socket = cb_socket,
                                     .close = cb_close,
                                     .connect = cb_connect,
                                     .write = cb_write,
                                     .read = cb_read,
                                     .handshake_packet_header_size = cb_head_size,
                                     .connect_handshake_complete = cb_complete,
                                     .accept_handshake_complete = cb_complete,
                                     .get_fd = cb_fd};
    struct in_addr none = {.s_addr = 0}; /* libei only hands it to cb_connect */
    enum handshake_result end = HANDSHAKE_OK;
    ei_cnode node;
    int fd;

    (void)pthread_once(&once, start_libei);
    memset(&node, 0, sizeof node);
    if (ei_connect_xinit_ussi(&node, s->our_host, s->alive, s->our_name, &none, s->cookie,
                              s->creation, &callbacks, sizeof callbacks, s) < 0) {
        end = HANDSHAKE_LOCAL;
        goto out;
    }
    s->creation = node.creation; /* libei adds to a creation that is too small */
    ei_set_tracelevel(
        0); /* an environment variable may have set it, and it would write to stderr */
    fd = ei_xconnect_host_port_tmo(&node, &none, 1, (unsigned)net_left_ms(s->deadline_ns));
    if (fd >= 0) {
        s->keep = true; /* libei regards the socket as closed; it stays open for the caller */
        (void)ei_close_connection(fd);
        goto out;
    }
    end = verdict(s);
out:
    if (end != HANDSHAKE_OK)
        (void)cb_close(s); /* libei has done it, except if it could not be initialized */
    explicit_bzero(&node, sizeof node);
    return end;
}
