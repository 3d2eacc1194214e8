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

#define HEAD_START_MS 250

uint64_t net_deadline(int timeout_ms)
{
    return clock_mono_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000u;
}

int net_left_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_mono_ns();

    return now >= deadline_ns ? 0 : (int)((deadline_ns - now + 999999u) / 1000000u);
}

uint64_t net_sooner(uint64_t deadline_ns, int ms)
{
    uint64_t soon = net_deadline(ms);

    return soon < deadline_ns ? soon : deadline_ns;
}

/* ---- addresses ---- */

static bool same(const union net_address *a, const union net_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0 &&
           a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

void net_add(struct net_addresses *list, const struct sockaddr *a)
{
    union net_address new = {.any.sa_family = a->sa_family};

    if (a->sa_family == AF_INET)
        memcpy(&new.v4, a, sizeof new.v4);
    else if (a->sa_family == AF_INET6)
        memcpy(&new.v6, a, sizeof new.v6);
    else
        return;
    for (size_t i = 0; i < list->n; i++)
        if (same(&list->at[i], &new))
            return;
    if (list->n < NET_ADDRESSES_MAX)
        list->at[list->n++] = new;
}

void net_add_loopback(struct net_addresses *list)
{
    union net_address v4 = {.v4 = {.sin_family = AF_INET}},
                      v6 = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}};

    v4.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    net_add(list, &v4.any);
    net_add(list, &v6.any);
}

static socklen_t length_of(const union net_address *a)
{
    return a->any.sa_family == AF_INET ? sizeof a->v4 : sizeof a->v6;
}

void net_text(const union net_address *a, char out[NET_TEXT_BYTES])
{
    if (getnameinfo(&a->any, length_of(a), out, NET_TEXT_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        memcpy(out, "?", sizeof "?");
}

/* ---- connecting ---- */

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

/* A port of its own. connect() alone may choose that of a connection of this machine to another
 * port of the same host; RabbitMQ then takes the one for the other, and a process of it crashes.
 * Linux gives a port that was bound to no other connection. If none is free, connect() chooses. */
static void bind_own_port(int fd, sa_family_t family)
{
    union net_address any = {.any.sa_family = family};

    (void)bind(fd, &any.any, length_of(&any));
}

/* Begins to connect. Returns a new socket, or negative errno. */
static int begin(const union net_address *to, uint16_t port)
{
    union net_address a = *to;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc;

    if (fd < 0)
        return -errno;
    if (a.any.sa_family == AF_INET)
        a.v4.sin_port = htons(port);
    else
        a.v6.sin6_port = htons(port);
    set_options(fd);
    bind_own_port(fd, a.any.sa_family);
    if (connect(fd, &a.any, length_of(&a)) == 0 || errno == EINPROGRESS || errno == EINTR)
        return fd;
    rc = -errno;
    close(fd);
    return rc;
}

/* Attempts that run at the same time. */
struct race {
    struct pollfd p[NET_ADDRESSES_MAX]; /* fd -1: failed */
    size_t started, pending;
    int why; /* negative errno, of the most informative failure */
    size_t why_of;
};

/* This machine has no route to such an address: the least informative failure. */
static bool no_route(int why)
{
    return why == 0 || why == -ENETUNREACH || why == -EHOSTUNREACH || why == -EADDRNOTAVAIL ||
           why == -EAFNOSUPPORT;
}

static void failed(struct race *r, size_t i, int why)
{
    if (r->why == 0 || (no_route(r->why) && !no_route(why))) {
        r->why = why;
        r->why_of = i;
    }
}

static void give_up(struct race *r, size_t i, int why)
{
    close(r->p[i].fd);
    r->p[i].fd = -1;
    r->pending--;
    failed(r, i, why);
}

static void start_next(struct race *r, const struct net_addresses *to, uint16_t port)
{
    size_t i = r->started++;
    int fd = begin(&to->at[i], port);

    r->p[i] = (struct pollfd){.fd = fd < 0 ? -1 : fd, .events = POLLOUT};
    if (fd < 0)
        failed(r, i, fd);
    else
        r->pending++;
}

/* The first attempt that has succeeded; its socket no longer belongs to the race. -1: none yet. */
static int take_winner(struct race *r, size_t *which)
{
    for (size_t i = 0; i < r->started; i++) {
        int fd = r->p[i].fd, why = 0;
        socklen_t n = sizeof why;

        if (fd < 0 || r->p[i].revents == 0)
            continue;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
            why = errno;
        if (why == 0) {
            *which = i;
            r->p[i].fd = -1;
            r->pending--;
            return fd;
        }
        give_up(r, i, -why);
    }
    return -1;
}

/* Ends the attempts that still run. */
static void end_race(struct race *r, int why)
{
    for (size_t i = 0; i < r->started; i++)
        if (r->p[i].fd >= 0)
            give_up(r, i, why);
}

int net_connect(const struct net_addresses *to, uint16_t port, uint64_t deadline_ns, size_t *which)
{
    struct race r = {.pending = 0};
    uint64_t next_ns = 0;
    int fd = -1;

    while (fd < 0 && (r.started < to->n || r.pending > 0)) {
        bool all = r.started == to->n;

        if (!all && (r.pending == 0 || net_left_ms(next_ns) == 0)) {
            start_next(&r, to, port);
            next_ns = net_deadline(HEAD_START_MS);
            continue;
        }
        int rc = poll(r.p, (nfds_t)r.started,
                      net_left_ms(all || deadline_ns < next_ns ? deadline_ns : next_ns));
        if (rc > 0)
            fd = take_winner(&r, which);
        else if (rc < 0 && errno != EINTR)
            break;
        else if (net_left_ms(deadline_ns) == 0)
            break;
    }
    end_race(&r, -ETIMEDOUT);
    if (fd >= 0)
        return fd;
    *which = r.why_of;
    return r.why != 0 ? r.why : -ETIMEDOUT;
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

void net_local_text(int fd, char out[NET_TEXT_BYTES])
{
    union net_address us = {.any.sa_family = AF_UNSPEC};
    socklen_t n = sizeof us;

    out[0] = 0;
    if (getsockname(fd, &us.any, &n) < 0)
        return;
    if (us.any.sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &us.v4.sin_addr, out, NET_TEXT_BYTES);
    else if (us.any.sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &us.v6.sin6_addr, out, NET_TEXT_BYTES);
}
