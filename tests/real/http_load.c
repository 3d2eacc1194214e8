/* http_load PORT RATE SECONDS CONNECTIONS IDS [-H HEADER]... 'METHOD /PATH'...
 *
 * Open HTTP/1.1 load on 127.0.0.1: RATE requests/s, the kinds in turn; % in a path is replaced by
 * an id of 1..IDS. A request is sent when it is due, whether earlier ones were answered or not, on
 * the next free connection; its latency is the time from when it was due. Ends when all are
 * answered, and prints
 * {"sent":[of each kind],"errors":N,"slices_us":X,"p50_us":X,"p99_us":X}; the first error on
 * stderr. Exits with 1 if it cannot continue. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "latency.h"

enum { CONNECTIONS_MAX = 256, KINDS_MAX = 32, ANSWER_BYTES = 1 << 22, HEADER_BYTES = 2048 };
#define SILENT_NS INT64_C(30000000000) /* maximum time without an answer */

struct conn {
    int fd;
    bool busy;
    int64_t due_ns;
    char *in;
    size_t n;
};

struct load {
    int port;
    uint64_t rate, total, ids, next, done, errors;
    char headers[HEADER_BYTES];
    const char *kind[KINDS_MAX];
    uint64_t sent[KINDS_MAX];
    size_t n_kinds, n_conns;
    struct conn conn[CONNECTIONS_MAX];
    struct latency latency;
    int64_t start_ns, last_ns;
};

static void die(const char *what)
{
    fprintf(stderr, "http_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void failed(struct load *l, const char *what, const struct conn *c)
{
    if (l->errors++ == 0)
        fprintf(stderr, "%s: %.200s\n", what, c->in);
}

static void connect_one(const struct load *l, struct conn *c)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)l->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof to) < 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!c->in && !(c->in = malloc(ANSWER_BYTES + 1)))
        die("malloc");
}

/* "GET /api/item/%" with the id, as a request */
static size_t make_request(struct load *l, char *to, size_t cap)
{
    const char *kind = l->kind[l->next % l->n_kinds];
    const char *hole = strchr(kind, '%');
    const uint64_t id = 1 + l->next / l->n_kinds * 7919 % l->ids;
    int n = hole ? snprintf(to, cap, "%.*s%" PRIu64 "%s", (int)(hole - kind), kind, id, hole + 1)
                 : snprintf(to, cap, "%s", kind);
    n += snprintf(to + n, cap - (size_t)n, " HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n", l->headers,
                  strncmp(kind, "GET", 3) == 0 ? "" : "Content-Length: 0\r\n");
    if ((size_t)n >= cap)
        die("a request is too long");
    return (size_t)n;
}

static void send_next(struct load *l, struct conn *c)
{
    char request[HEADER_BYTES * 2];
    const size_t n = make_request(l, request, sizeof request);
    c->busy = true;
    c->due_ns = latency_due(l->start_ns, l->next, l->rate);
    c->n = 0;
    if (write(c->fd, request, n) != (ssize_t)n)
        die("write");
    l->sent[l->next++ % l->n_kinds]++;
}

/* The value of a header, which is written as `name` here; NULL: not there. */
static const char *header(const char *in, const char *end, const char *name)
{
    for (const char *line = strstr(in, "\r\n"); line && line < end; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, strlen(name)) == 0)
            return line + strlen(name);
    }
    return NULL;
}

static bool whole(struct conn *c)
{
    c->in[c->n] = 0;
    const char *end = strstr(c->in, "\r\n\r\n");
    if (!end)
        return false;
    const size_t body = c->n - (size_t)(end + 4 - c->in);
    const char *length = header(c->in, end, "content-length:");
    if (length)
        return body >= strtoull(length, NULL, 10);
    if (header(c->in, end, "transfer-encoding: chunked"))
        return body >= 5 && memcmp(c->in + c->n - 5, "0\r\n\r\n", 5) == 0;
    return true;
}

static void answered(struct load *l, struct conn *c)
{
    if (strncmp(c->in, "HTTP/1.1 200", 12) != 0)
        failed(l, "answer", c);
    latency_add(&l->latency, latency_now() - c->due_ns);
    const char *end = strstr(c->in, "\r\n\r\n");
    const char *stay = header(c->in, end, "connection: close");
    c->busy = false;
    l->done++;
    if (stay) { /* the server closes this connection */
        close(c->fd);
        connect_one(l, c);
    }
}

static void read_some(struct load *l, struct conn *c)
{
    const ssize_t n = read(c->fd, c->in + c->n, ANSWER_BYTES - c->n);
    if (n <= 0) {
        c->in[c->n] = 0;
        if (c->busy) {
            failed(l, "closed in a request", c);
            l->done++;
        }
        c->busy = false;
        close(c->fd);
        connect_one(l, c);
        return;
    }
    c->n += (size_t)n;
    l->last_ns = latency_now();
    if (whole(c))
        answered(l, c);
    else if (c->n == ANSWER_BYTES)
        die("an answer is too long");
}

static void send_due(struct load *l)
{
    for (size_t i = 0; i < l->n_conns && l->next < l->total; i++) {
        if (latency_due(l->start_ns, l->next, l->rate) > latency_now())
            return;
        if (!l->conn[i].busy)
            send_next(l, &l->conn[i]);
    }
}

static bool all_busy(const struct load *l)
{
    for (size_t i = 0; i < l->n_conns; i++)
        if (!l->conn[i].busy)
            return false;
    return true;
}

static void wait_some(struct load *l)
{
    struct pollfd p[CONNECTIONS_MAX];
    const int64_t second = 1000000000;
    int64_t left = second;
    if (l->next < l->total && !all_busy(l))
        left = latency_due(l->start_ns, l->next, l->rate) - latency_now();
    left = left < 0 ? 0 : left > second ? second : left;
    const struct timespec t = {left / second, left % second};
    for (size_t i = 0; i < l->n_conns; i++)
        p[i] = (struct pollfd){.fd = l->conn[i].fd, .events = POLLIN};
    if (ppoll(p, l->n_conns, &t, NULL) < 0)
        die("ppoll");
    for (size_t i = 0; i < l->n_conns; i++)
        if (p[i].revents)
            read_some(l, &l->conn[i]);
}

static void run(struct load *l)
{
    for (size_t i = 0; i < l->n_conns; i++)
        connect_one(l, &l->conn[i]);
    l->start_ns = l->last_ns = latency_now();
    while (l->done < l->total) {
        send_due(l);
        wait_some(l);
        if (l->done < l->next && latency_now() - l->last_ns > SILENT_NS) {
            fprintf(stderr, "http_load: no answer for 30 s, %" PRIu64 " of %" PRIu64 "\n", l->done,
                    l->total);
            exit(1);
        }
    }
}

static void options(struct load *l, int argc, char **argv)
{
    l->port = atoi(argv[1]);
    l->rate = strtoull(argv[2], NULL, 10);
    l->total = (uint64_t)((double)l->rate * atof(argv[3]));
    l->n_conns = strtoull(argv[4], NULL, 10);
    l->ids = strtoull(argv[5], NULL, 10);
    for (int i = 6; i < argc; i++) {
        const size_t used = strlen(l->headers);
        if (strcmp(argv[i], "-H") == 0 && i + 1 < argc)
            snprintf(l->headers + used, sizeof l->headers - used, "%s\r\n", argv[++i]);
        else if (l->n_kinds < KINDS_MAX)
            l->kind[l->n_kinds++] = argv[i];
    }
}

int main(int argc, char **argv)
{
    static struct load l;

    if (argc >= 7)
        options(&l, argc, argv);
    if (!l.n_kinds || !l.rate || !l.total || !l.ids || !l.n_conns || l.n_conns > CONNECTIONS_MAX) {
        fprintf(stderr, "Usage: http_load PORT RATE SECONDS CONNECTIONS IDS [-H HEADER] KIND...\n");
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    latency_init(&l.latency, l.total);
    run(&l);
    printf("{\"sent\":[");
    for (size_t i = 0; i < l.n_kinds; i++)
        printf("%s%" PRIu64, i ? "," : "", l.sent[i]);
    const double slices_us = latency_slices_us(&l.latency, 0.99, l.rate);
    printf("],\"errors\":%" PRIu64 ",\"slices_us\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
           l.errors, slices_us, latency_quantile_us(&l.latency, 0.5),
           latency_quantile_us(&l.latency, 0.99));
    return 0;
}
