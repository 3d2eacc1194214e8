#include "sock.h"
#include "net.h"
#include "tls_conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

void sock_close(struct sock *s)
{
    if (s->fd < 0)
        return;
    if (s->tls != NULL)
        tls_conn_bye(s->tls);
    tls_conn_free(s->tls);
    close(s->fd);
    s->tls = NULL;
    s->fd = -1;
}

void sock_shutdown(struct sock *s)
{
    if (s->tls != NULL)
        tls_conn_bye(s->tls);
    (void)shutdown(s->fd, SHUT_RDWR);
}

ssize_t sock_recv(struct sock *s, void *bytes, size_t n)
{
    if (s->tls != NULL)
        return tls_conn_recv(s->tls, bytes, n);
    for (;;) {
        ssize_t got = recv(s->fd, bytes, n, 0);

        if (got >= 0)
            return got;
        if (errno != EINTR)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
}

int sock_wait_recv(struct sock *s, uint64_t deadline_ns)
{
    return net_wait(s->fd, s->tls != NULL ? tls_conn_recv_events(s->tls) : POLLIN, deadline_ns);
}

ssize_t sock_recv_full(struct sock *s, void *bytes, size_t n, uint64_t deadline_ns)
{
    size_t got = 0;

    while (got < n) {
        ssize_t r = sock_recv(s, (char *)bytes + got, n - got);

        if (r == 0)
            break;
        if (r == -EAGAIN)
            r = sock_wait_recv(s, deadline_ns);
        if (r < 0)
            return r;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

static int send_tls(struct sock *s, const struct iovec *v, uint64_t deadline_ns, bool *began)
{
    size_t sent = 0;

    while (sent < v->iov_len) {
        ssize_t r = tls_conn_send(s->tls, (const char *)v->iov_base + sent, v->iov_len - sent);

        *began = *began || r > 0 || r == -EAGAIN; /* a part of a record may be sent */
        if (r == -EAGAIN)
            r = net_wait(s->fd, tls_conn_send_events(s->tls), deadline_ns);
        if (r < 0)
            return (int)r;
        sent += (size_t)r;
    }
    return 0;
}

int sock_send_all(struct sock *s, struct iovec *iov, int n, uint64_t deadline_ns, bool *began)
{
    size_t sent = 0;
    int rc = 0;

    *began = false;
    if (s->tls == NULL) {
        rc = net_write_all(s->fd, iov, n, deadline_ns, &sent);
        *began = sent > 0;
        return rc;
    }
    for (int i = 0; rc == 0 && i < n; i++)
        rc = send_tls(s, &iov[i], deadline_ns, began);
    return rc;
}

void sock_why(struct sock *s, struct buf *out)
{
    if (s->tls != NULL)
        tls_conn_why(s->tls, out);
}
