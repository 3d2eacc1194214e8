#include "handshake.h"
#include "net.h"

#include <ei.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* With EI_SCLBK_FLG_FULL_IMPL libei leaves waiting to these functions; the deadline replaces its
 * time-outs. Reads come as the two bytes of a length, then the whole packet. */

#define HEAD_BYTES 2
#define TLS_ALERT  0x15
#define TLS_MAJOR  0x03

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

    if (!s->keep && s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
    return 0;
}

static int cb_connect(void *ctx, void *addr, int len, unsigned tmo)
{
    struct handshake *s = ctx;

    (void)addr; /* the address is s->host and s->port */
    (void)len;
    (void)tmo;
    s->fd = net_connect(s->host, s->port, s->deadline_ns);
    if (s->fd < 0) {
        s->why = -s->fd;
        return s->why;
    }
    s->connected = true;
    return 0;
}

static int write_bytes(struct handshake *s, const void *bytes, size_t n)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, n};
    size_t sent;
    int rc = net_write_all(s->fd, &iov, 1, s->deadline_ns, &sent);

    if (rc < 0)
        s->why = -rc;
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
           (c != 0 && strchr("_-.@", c) != NULL);
}

/* 's' and the status. */
static int take_status(struct handshake *s, char *body, size_t n)
{
    static const char go_on[] = {0, 5, 's', 't', 'r', 'u', 'e'};
    size_t word = n < sizeof s->status ? n - 1 : sizeof s->status - 1;

    if (body[0] != 's')
        return 0;
    for (size_t i = 0; i < word; i++)
        s->status[i] = name_char(body[1 + i]) ? body[1 + i] : '?';
    s->status[word] = 0;
    if (strcmp(s->status, "alive") != 0 || n != 6)
        return 0;
    /* The node still has a connection from this name. That connection is dead, because the name
     * contains the pid of this process. The protocol allows to replace it; libei does not support
     * this. */
    memcpy(body, "sok", 3);
    return write_bytes(s, go_on, sizeof go_on);
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
    if (s->read == READ_CHALLENGE)
        take_challenge(s, body, n);
    return 0;
}

static int cb_read(void *ctx, char *bytes, ssize_t *len, unsigned tmo)
{
    struct handshake *s = ctx;
    size_t want = (size_t)*len;
    ssize_t n = net_read_full(s->fd, bytes, want, s->deadline_ns);
    bool is_head = s->head[0] == 0 && s->head[1] == 0;

    (void)tmo;
    if (n < 0) {
        s->why = (int)-n;
        s->closed = s->why == ECONNRESET || s->why == EPIPE;
        return s->why;
    }
    *len = n;
    if ((size_t)n < want) {
        s->closed = true;
        return 0;
    }
    if (!is_head) {
        memset(s->head, 0, sizeof s->head);
        return take_packet(s, bytes, want);
    }
    memcpy(s->head, bytes, HEAD_BYTES);
    s->tls = s->read == 0 && s->head[0] == TLS_ALERT && s->head[1] == TLS_MAJOR;
    return s->tls || (s->head[0] == 0 && s->head[1] == 0) ? EPROTO : 0;
}

static int cb_head_size(void *ctx, int *bytes)
{
    (void)ctx;
    *bytes = HEAD_BYTES;
    return 0;
}

static int cb_complete(void *ctx)
{
    (void)ctx;
    return 0;
}

static int cb_fd(void *ctx, int *fd)
{
    *fd = ((struct handshake *)ctx)->fd;
    return 0;
}

static void start_libei(void)
{
    (void)ei_init();
}

static enum handshake_result verdict(const struct handshake *s)
{
    if (!s->connected)
        return s->why == ETIMEDOUT ? HANDSHAKE_TIMEOUT : HANDSHAKE_NO_CONNECTION;
    if (s->tls)
        return HANDSHAKE_TLS;
    if (s->why == ETIMEDOUT)
        return HANDSHAKE_TIMEOUT;
    /* The node closes the connection on a wrong digest; a wrong digest of the node has the same
     * cause. */
    if (s->sent >= SENT_REPLY && (s->closed || s->why == EPIPE || s->read >= READ_ACK))
        return HANDSHAKE_COOKIE;
    if (s->read == READ_STATUS && s->status[0] != 0 && strncmp(s->status, "ok", 2) != 0)
        return HANDSHAKE_STATUS;
    if (s->read == 0 && (s->closed || s->why == EPIPE) && s->head[0] == 0 && s->head[1] == 0)
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
    enum handshake_result end = HANDSHAKE_OK;
    ei_cnode node;
    int fd;

    s->fd = -1;
    (void)pthread_once(&once, start_libei);
    memset(&node, 0, sizeof node);
    if (ei_connect_xinit_ussi(&node, s->our_host, s->alive, s->our_name, &s->host, s->cookie,
                              s->creation, &callbacks, sizeof callbacks, s) < 0) {
        end = HANDSHAKE_LOCAL;
        goto out;
    }
    s->creation = node.creation; /* libei adds to a small one */
    ei_set_tracelevel(
        0); /* an environment variable may have set it, and it would write to stderr */
    fd = ei_xconnect_host_port_tmo(&node, &s->host, s->port, (unsigned)net_left_ms(s->deadline_ns));
    if (fd >= 0) {
        s->keep = true; /* libei regards the socket as closed; it stays open for the caller */
        (void)ei_close_connection(fd);
        goto out;
    }
    end = verdict(s);
out:
    explicit_bzero(&node, sizeof node);
    return end;
}
