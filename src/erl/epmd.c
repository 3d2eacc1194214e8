#include "epmd.h"
#include "net.h"

#include <kprof/base/likeness.h>
#include <kprof/base/text.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EPMD_PORT          4369
#define PORT_PLEASE2_REQ   'z'
#define PORT2_RESP         'w'
#define NAMES_REQ          'n'
#define NAMES_MAX_BYTES    (64 * 1024)
#define NAMES_SHOWN_BYTES  200
#define NAME_SHOWN_COLUMNS 40
#define NAMES_SHOWN        64
#define NAME_BYTES         64 /* more are not shown */

uint16_t epmd_own_port(void)
{
    const char *s = getenv("ERL_EPMD_PORT");
    char *end = NULL;
    long v = s != NULL ? strtol(s, &end, 10) : 0;

    return s != NULL && *s != 0 && *end == 0 && v > 0 && v < 65536 ? (uint16_t)v : EPMD_PORT;
}

/* Connects and sends one request. Returns the socket, or negative errno. */
static int ask(const struct net_addresses *at, uint16_t port, char what, const char *arg,
               uint64_t deadline_ns, size_t *which)
{
    size_t n = strlen(arg), sent;
    char head[3] = {(char)((n + 1) >> 8), (char)(n + 1), what};
    struct iovec iov[2] = {{head, sizeof head}, {(char *)(uintptr_t)arg, n}};
    int fd = net_connect(at, port, deadline_ns, which), rc;

    if (fd < 0)
        return fd;
    rc = net_write_all(fd, iov, 2, deadline_ns, &sent);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

/* After "w" and 0: port (2), kind of node, protocol, highest version (2), and more. */
static enum epmd_answer take_node(int fd, uint64_t deadline_ns, struct epmd_node *out)
{
    unsigned char body[6];
    ssize_t n = net_read_full(fd, body, sizeof body, deadline_ns);

    if (n < 0) {
        out->why = (int)-n;
        return EPMD_NO_CONNECTION;
    }
    if (n < 2)
        return EPMD_UNKNOWN_PROTOCOL;
    out->port = (uint16_t)(body[0] << 8 | body[1]);
    if (n == sizeof body)
        out->highest = (uint16_t)(body[4] << 8 | body[5]);
    return out->port != 0 ? EPMD_FOUND : EPMD_UNKNOWN_PROTOCOL;
}

enum epmd_answer epmd_port(const struct net_addresses *at, const char *name, uint64_t deadline_ns,
                           struct epmd_node *out)
{
    unsigned char head[2] = {0};
    *out = (struct epmd_node){.port = 0};
    int fd = ask(at, epmd_own_port(), PORT_PLEASE2_REQ, name, deadline_ns, &out->which);
    enum epmd_answer answer = EPMD_UNKNOWN_PROTOCOL;
    ssize_t n;

    if (fd < 0) {
        out->why = -fd;
        return EPMD_NO_CONNECTION;
    }
    n = net_read_full(fd, head, sizeof head, deadline_ns);
    if (n < 0) {
        out->why = (int)-n;
        answer = EPMD_NO_CONNECTION;
    } else if (n == sizeof head && head[0] == PORT2_RESP) {
        answer = head[1] == 0 ? take_node(fd, deadline_ns, out) : EPMD_NOT_REGISTERED;
    }
    close(fd);
    return answer;
}

/* One line is "name NAME at port PORT". */
static void read_line(const char *line, size_t n, epmd_name *each, void *arg)
{
    static const char before[] = "name ", after[] = " at port ";
    const char *end;
    uint32_t port = 0;

    if (n <= strlen(before) || memcmp(line, before, strlen(before)) != 0)
        return;
    line += strlen(before);
    n -= strlen(before);
    end = memmem(line, n, after, strlen(after));
    if (end == NULL || end == line)
        return;
    for (const char *d = end + strlen(after); d < line + n && *d >= '0' && *d <= '9'; d++)
        port = port > UINT16_MAX ? port : port * 10 + (uint32_t)(*d - '0');
    each(arg, line, (size_t)(end - line), port > UINT16_MAX ? 0 : (uint16_t)port);
}

void epmd_parse_names(const char *s, size_t n, epmd_name *each, void *arg)
{
    while (n > 0) {
        const char *newline = memchr(s, '\n', n);
        size_t line = newline != NULL ? (size_t)(newline - s) : n, used = line + (newline != NULL);

        read_line(s, line, each, arg);
        s += used;
        n -= used;
    }
}

bool epmd_each_name(const struct net_addresses *at, uint16_t port, uint64_t deadline_ns,
                    epmd_name *each, void *arg)
{
    size_t which;
    int fd = ask(at, port, NAMES_REQ, "", deadline_ns, &which);
    char *bytes;
    ssize_t n;
    bool ok;

    if (fd < 0)
        return false;
    bytes = malloc(NAMES_MAX_BYTES);
    if (bytes == NULL)
        abort();
    /* It closes the connection after the last name. Its own port comes first, in 4 bytes. */
    n = net_read_full(fd, bytes, NAMES_MAX_BYTES, deadline_ns);
    ok = n >= 4 && bytes[0] == 0 && bytes[1] == 0 && (n == 4 || memcmp(bytes + 4, "n", 1) == 0);
    if (ok)
        epmd_parse_names(bytes + 4, (size_t)n - 4, each, arg);
    free(bytes);
    close(fd);
    return ok;
}

/* The names most similar to `like`, the most similar first; equal ones in the order of the answer.
 */
struct nearest {
    const char *like;
    struct {
        char text[NAME_BYTES];
        size_t n;
        unsigned distance;
    } at[NAMES_SHOWN];
    size_t n;
    bool more; /* not all are here */
};

static void add_near(void *arg, const char *name, size_t n, uint16_t port)
{
    struct nearest *s = arg;
    unsigned distance = likeness_distance(s->like, strlen(s->like), name, n);
    size_t i = s->n;

    (void)port;
    s->more = s->more || s->n == NAMES_SHOWN;
    while (i > 0 && s->at[i - 1].distance > distance) {
        if (i < NAMES_SHOWN)
            s->at[i] = s->at[i - 1];
        i--;
    }
    if (i == NAMES_SHOWN)
        return;
    s->at[i].n = n < NAME_BYTES ? n : NAME_BYTES;
    memcpy(s->at[i].text, name, s->at[i].n);
    s->at[i].distance = distance;
    s->n += s->n < NAMES_SHOWN;
}

bool epmd_names(const struct net_addresses *at, uint16_t port, uint64_t deadline_ns,
                const char *like, struct buf *out)
{
    struct nearest s = {.like = like};
    size_t start = out->len;
    bool ok = epmd_each_name(at, port, deadline_ns, add_near, &s);

    for (size_t i = 0; i < s.n; i++) {
        if (out->len - start > NAMES_SHOWN_BYTES) {
            s.more = true;
            break;
        }
        buf_adds(out, i > 0 ? ", " : "");
        text_safe(out, s.at[i].text, s.at[i].n, NAME_SHOWN_COLUMNS, true);
    }
    buf_adds(out, s.more ? ", ..." : "");
    return ok;
}
