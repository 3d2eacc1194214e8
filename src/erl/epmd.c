#include "epmd.h"
#include "net.h"

#include <errno.h>
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

uint16_t epmd_own_port(void)
{
    const char *s = getenv("ERL_EPMD_PORT");
    char *end = NULL;
    long v = s != NULL ? strtol(s, &end, 10) : 0;

    return s != NULL && *s != 0 && *end == 0 && v > 0 && v < 65536 ? (uint16_t)v : EPMD_PORT;
}

/* Connects and sends one request. Returns the socket, or negative errno. */
static int ask(struct in_addr host, char what, const char *arg, uint64_t deadline_ns)
{
    size_t n = strlen(arg), sent;
    char head[3] = {(char)((n + 1) >> 8), (char)(n + 1), what};
    struct iovec iov[2] = {{head, sizeof head}, {(char *)(uintptr_t)arg, n}};
    int fd = net_connect(host, epmd_own_port(), deadline_ns), rc;

    if (fd < 0)
        return fd;
    rc = net_write_all(fd, iov, 2, deadline_ns, &sent);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

enum epmd_answer epmd_port(struct in_addr host, const char *name, uint64_t deadline_ns,
                           uint16_t *port, int *why)
{
    unsigned char head[2] = {0}, body[2];
    int fd = ask(host, PORT_PLEASE2_REQ, name, deadline_ns);
    enum epmd_answer answer = EPMD_UNKNOWN_PROTOCOL;
    ssize_t n;

    *why = 0;
    if (fd < 0) {
        *why = -fd;
        return EPMD_NO_CONNECTION;
    }
    n = net_read_full(fd, head, sizeof head, deadline_ns);
    if (n < 0) {
        *why = (int)-n;
        answer = EPMD_NO_CONNECTION;
    } else if (n == sizeof head && head[0] == PORT2_RESP) {
        answer = EPMD_NOT_REGISTERED;
        if (head[1] == 0) {
            n = net_read_full(fd, body, sizeof body, deadline_ns);
            *port = (uint16_t)(body[0] << 8 | body[1]);
            answer = n == sizeof body && *port != 0 ? EPMD_FOUND : EPMD_UNKNOWN_PROTOCOL;
        }
    }
    close(fd);
    return answer;
}

/* One line is "name NAME at port PORT". */
static void add_name(struct buf *out, size_t start, const char *line, size_t n)
{
    static const char before[] = "name ", after[] = " at port ";
    const char *end;

    if (n <= strlen(before) || memcmp(line, before, strlen(before)) != 0)
        return;
    line += strlen(before);
    n -= strlen(before);
    end = memmem(line, n, after, strlen(after));
    if (end == NULL || end == line)
        return;
    if (out->len > start)
        buf_adds(out, ", ");
    text_safe(out, line, (size_t)(end - line), NAME_SHOWN_COLUMNS, true);
}

static void list_names(struct buf *out, const char *s, size_t n)
{
    size_t start = out->len;

    while (n > 0) {
        const char *newline = memchr(s, '\n', n);
        size_t line = newline != NULL ? (size_t)(newline - s) : n, used = line + (newline != NULL);

        if (out->len - start > NAMES_SHOWN_BYTES) {
            buf_adds(out, ", ...");
            return;
        }
        add_name(out, start, s, line);
        s += used;
        n -= used;
    }
}

void epmd_names(struct in_addr host, uint64_t deadline_ns, struct buf *out)
{
    int fd = ask(host, NAMES_REQ, "", deadline_ns);
    char *bytes;
    ssize_t n;

    if (fd < 0)
        return;
    bytes = malloc(NAMES_MAX_BYTES);
    if (bytes == NULL)
        abort();
    n = net_read_full(fd, bytes, NAMES_MAX_BYTES,
                      deadline_ns); /* it closes the connection after the last name */
    if (n > 4)                      /* its own port comes first */
        list_names(out, bytes + 4, (size_t)n - 4);
    free(bytes);
    close(fd);
}
