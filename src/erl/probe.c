#include "probe.h"

#include "epmd.h"
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define EPMD_PORT 4369

/* A TLS 1.2 ClientHello without extensions. A TLS server answers it with a record. The random bytes
 * begin with two line ends, so that a server that reads lines (HTTP) answers, too. */
static const uint8_t hello[] = {
    22,  3,   1,   0,   53,                                              /* record */
    1,   0,   0,   49,                                                   /* ClientHello */
    3,   3,                                                              /* TLS 1.2 */
    13,  10,  13,  10,  107, 112, 114, 111, 102, 45, 116, 111, 112, 32,  /* random: 32 bytes */
    97,  115, 107, 115, 32,  119, 104, 97,  116, 32, 105, 115, 32,  104, /* */
    101, 114, 101, 63,                                                   /* */
    0,                                                                   /* no session */
    0,   10,  192, 47,  192, 48,  192, 43,  0,   47, 0,   53,            /* cipher suites */
    1,   0,                                                              /* no compression */
};
_Static_assert(sizeof hello == 5 + 53, "the lengths are wrong");

enum probe_server probe_bytes(const void *bytes, size_t n)
{
    const uint8_t *b = bytes;

    if (n >= 3 && (b[0] == 21 || b[0] == 22) && b[1] == 3 && b[2] <= 4) /* alert, handshake */
        return PROBE_TLS;
    if ((n >= 5 && memcmp(b, "HTTP/", 5) == 0) ||
        (n >= 5 && (strncasecmp((const char *)b, "<!doc", 5) == 0 ||
                    strncasecmp((const char *)b, "<html", 5) == 0))) /* of HTTP/0.9 */
        return PROBE_HTTP;
    if (n >= 4 && memcmp(b, "SSH-", 4) == 0)
        return PROBE_SSH;
    return PROBE_UNKNOWN;
}

/* The first bytes of the answer. */
static enum probe_server listen_for(int fd, uint64_t deadline_ns)
{
    uint8_t bytes[64];
    ssize_t n;

    if (net_wait(fd, POLLIN, deadline_ns) < 0)
        return PROBE_SILENT;
    n = recv(fd, bytes, sizeof bytes, 0);
    return n > 0 ? probe_bytes(bytes, (size_t)n) : PROBE_CLOSES;
}

static enum probe_server greet(const struct net_addresses *to, uint16_t port, uint64_t deadline_ns)
{
    struct iovec iov = {(void *)(uintptr_t)hello, sizeof hello};
    enum probe_server is = PROBE_CLOSES;
    size_t which, sent;
    int fd = net_connect(to, port, deadline_ns, &which);

    if (fd < 0)
        return PROBE_UNKNOWN;
    if (net_write_all(fd, &iov, 1, deadline_ns, &sent) == 0)
        is = listen_for(fd, deadline_ns);
    close(fd);
    return is;
}

enum probe_server probe_ask(const union net_address *to, uint16_t port, uint64_t deadline_ns)
{
    struct net_addresses one = {.at = {*to}, .n = 1};
    enum probe_server is = greet(&one, port, deadline_ns);
    struct buf names;

    if ((port != EPMD_PORT && port != epmd_own_port()) || is == PROBE_TLS || is == PROBE_HTTP)
        return is;
    buf_init(&names, 400);
    if (epmd_names(&one, port, deadline_ns, "", &names))
        is = PROBE_EPMD;
    buf_release(&names);
    return is;
}
