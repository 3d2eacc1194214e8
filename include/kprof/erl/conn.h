/* A distribution connection to one node, as a hidden node. libei does the handshake; this unit does
 * the framing.
 *
 * Invariant: incoming packets have at most CONN_MAX_PACKET bytes (a larger packet ends the
 * connection). The connection answers ticks itself. One thread may receive while one other thread
 * sends; conn_open and conn_close require that no other thread uses the connection. The cookie
 * never appears in an error. */
#ifndef KPROF_ERL_CONN_H
#define KPROF_ERL_CONN_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <kprof/erl/tls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONN_MAX_PACKET (64u << 20)

struct conn;

enum conn_fail { /* why conn_open failed; err has a sentence for each */
                 CONN_OK,
                 CONN_BAD_NAME,
                 CONN_HOST_UNKNOWN,
                 CONN_NO_EPMD,
                 CONN_NOT_REGISTERED,
                 CONN_REFUSED,
                 CONN_WRONG_NAME,
                 CONN_COOKIE,
                 CONN_HANDSHAKE,
                 CONN_TLS,
                 CONN_TIMEOUT,
                 CONN_LOCAL
};

struct conn_target {     /* a node and the way to it; the caller owns the strings */
    const char *node;    /* as node_name_parse accepts it */
    const char *connect; /* ADDR:PORT instead of host and port; NULL: not given */
    const char *cookie;
    const char *cookie_from; /* for error messages: where the cookie was found; NULL: not known */
    struct tls_opts tls;
};

struct conn_opts {
    struct conn_target to;
    const char *self_name; /* name of this node without host; NULL: kprof_top_<pid> */
    bool returning; /* if the node still has a connection from this name, it is ours: replace it */
    int timeout_ms; /* for the whole of conn_open */
    uint16_t *port; /* gets the port of the node, even if it cannot be reached; 0: not known. NULL:
                       not wanted */
};

/* Connects and does the handshake; tries again for a second while the node still has a connection
 * from this name. The node must have the name in opts. A dot or a colon in its host selects long
 * names. */
enum conn_fail conn_open(struct conn **out, const struct conn_opts *o, struct err *e);
void conn_close(struct conn *c);    /* NULL is allowed */
void conn_shutdown(struct conn *c); /* wakes a blocked conn_recv; any thread */

/* Reports whether the node runs on this machine: both ends of the socket have the same address. */
bool conn_is_local(const struct conn *c);

const char *conn_node(const struct conn *c); /* full name of the node */
const char *conn_self(const struct conn *c); /* full name of this node */
/* Appends the pid of this node as ETF (no version byte), for use inside messages. */
void conn_self_pid(const struct conn *c, struct buf *out);

/* Waits up to timeout_ms for the next message to this node. Returns 1 with *payload (ETF with
 * version byte, valid until the next call), 0 on timeout, -1 when the connection is lost (err has
 * the reason). */
int conn_recv(struct conn *c, int timeout_ms, const uint8_t **payload, size_t *n, struct err *e);

/* Sends an ETF term (with version byte) to a registered name or to an encoded pid (no version
 * byte). Returns 0, or -1 with err. Blocks for at most timeout_ms of conn_opts. */
int conn_send_name(struct conn *c, const char *name, const void *term, size_t n, struct err *e);
int conn_send_pid(struct conn *c, const void *pid, size_t pid_n, const void *term, size_t n,
                  struct err *e);

struct conn_cookie {
    char text[256];
    char from[256]; /* the option, variable or file, for error messages */
};

/* Finds the cookie: the first one of --setcookie, --cookie-file, KPROF_COOKIE, RELEASE_COOKIE,
 * RELEASE_ROOT/releases/COOKIE, ~/.erlang.cookie. Returns 0, or -1 with err. The caller overwrites
 * it after use. */
int conn_find_cookie(const char *setcookie, const char *cookie_file, struct conn_cookie *out,
                     struct err *e);

#endif
