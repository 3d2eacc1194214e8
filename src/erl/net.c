#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <kprof/base/clock.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

uint64_t net_deadline(int timeout_ms)
{
    return clock_mono_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000u;
}

int net_left_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_mono_ns();

    return now >= deadline_ns ? 0 : (int)((deadline_ns - now + 999999u) / 1000000u);
}

int net_resolve(const char *host, struct in_addr *out)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *list = NULL;
    int rc = getaddrinfo(host, NULL, &hints, &list);

    if (rc == 0) {
        struct sockaddr_in a;

        memcpy(&a, list->ai_addr, sizeof a);
        *out = a.sin_addr;
        freeaddrinfo(list);
    }
    return rc;
}

int net_wait(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = events};

    for (;;) {
        int ms = net_left_ms(deadline_ns), rc = poll(&p, 1, ms);

        if (rc > 0)
            return 0; /* the next call reports an error, too */
        if (rc == 0 && ms == 0)
            return -ETIMEDOUT;
        if (rc < 0 && errno != EINTR)
            return -errno;
    }
}

/* A dead peer (cable, power) must be detected even if there is nothing to send. */
static void set_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 10}, {IPPROTO_TCP, TCP_KEEPINTVL, 5},
        {IPPROTO_TCP, TCP_KEEPCNT, 4},   {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

int net_connect(struct in_addr host, uint16_t port, uint64_t deadline_ns)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = host};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0, pending = 0;
    socklen_t n = sizeof pending;

    if (fd < 0)
        return -errno;
    set_options(fd);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    if (errno != EINPROGRESS && errno != EINTR)
        rc = -errno;
    if (rc == 0)
        rc = net_wait(fd, POLLOUT, deadline_ns);
    if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &pending, &n) < 0)
        rc = -errno;
    if (rc == 0)
        rc = -pending;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

ssize_t net_read_full(int fd, void *bytes, size_t n, uint64_t deadline_ns)
{
    size_t got = 0;

    while (got < n) {
        ssize_t r = recv(fd, (char *)bytes + got, n - got, 0);

        if (r > 0) {
            got += (size_t)r;
        } else if (r == 0) {
            break;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int rc = net_wait(fd, POLLIN, deadline_ns);

            if (rc < 0)
                return rc;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return (ssize_t)got;
}

/* Drops the bytes that were sent from the front of iov. Returns the number of entries left. */
static int advance(struct iovec *iov, int n, size_t sent)
{
    int used = 0;

    while (used < n && sent >= iov[used].iov_len)
        sent -= iov[used++].iov_len;
    if (used < n) {
        iov[used].iov_base = (char *)iov[used].iov_base + sent;
        iov[used].iov_len -= sent;
    }
    memmove(iov, iov + used, sizeof *iov * (size_t)(n - used));
    return n - used;
}

int net_write_all(int fd, struct iovec *iov, int n, uint64_t deadline_ns, size_t *sent)
{
    *sent = 0;
    n = advance(iov, n, 0);
    while (n > 0) {
        struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t w = sendmsg(fd, &m, MSG_NOSIGNAL);

        if (w >= 0) {
            *sent += (size_t)w;
            n = advance(iov, n, (size_t)w);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int rc = net_wait(fd, POLLOUT, deadline_ns);

            if (rc < 0)
                return rc;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

void net_local_address(struct in_addr host, char out[INET_ADDRSTRLEN])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(4369), .sin_addr = host}, us;
    socklen_t n = sizeof us;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* connecting it sends nothing */

    out[0] = 0;
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
        getsockname(fd, (struct sockaddr *)&us, &n) == 0)
        (void)inet_ntop(AF_INET, &us.sin_addr, out, INET_ADDRSTRLEN);
    close(fd);
}
