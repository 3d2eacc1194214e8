/* A distribution connection to one node, as a hidden node, over libei's handshake and own framing.
 *
 * Invariant: packets in are at most CONN_MAX_PACKET bytes (a larger one ends the connection); ticks
 * are answered here. One thread receives, one other may send at the same time; open and close are
 * for when nobody else uses it. The cookie never appears in an error. */
#ifndef KPROF_ERL_CONN_H
#define KPROF_ERL_CONN_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONN_MAX_PACKET (64u << 20)

struct conn;

enum conn_fail { /* why conn_open failed; each has its own sentence in err */
                 CONN_OK,
                 CONN_BAD_NAME,
                 CONN_HOST_UNKNOWN,
                 CONN_NO_EPMD,
                 CONN_NOT_REGISTERED,
                 CONN_REFUSED,
                 CONN_COOKIE,
                 CONN_HANDSHAKE,
                 CONN_TIMEOUT,
                 CONN_LOCAL
};

struct conn_opts {
    const char *node; /* name@host or name@host:PORT */
    const char *cookie;
    const char *self_name; /* our name without host; NULL: kprof_top_<pid> */
    int timeout_ms;        /* for the whole of it */
};

/* One socket, one handshake. Long names by the dot in the host. */
enum conn_fail conn_open(struct conn **out, const struct conn_opts *o, struct err *e);
void conn_close(struct conn *c);    /* NULL is fine */
void conn_shutdown(struct conn *c); /* wakes a blocked conn_recv; any thread */

/* The other side is on this machine: both ends of the socket have the same address. */
bool conn_is_local(const struct conn *c);

const char *conn_node(const struct conn *c); /* full name of the other side */
const char *conn_self(const struct conn *c); /* ours */
/* Appends our pid as ETF (no version byte), for use inside messages. */
void conn_self_pid(const struct conn *c, struct buf *out);

/* Waits up to timeout_ms for the next message to us: 1 with *payload (ETF with version byte, valid
 * until the next call), 0 on timeout, -1 when the connection is gone (err says why). */
int conn_recv(struct conn *c, int timeout_ms, const uint8_t **payload, size_t *n, struct err *e);

/* Sends an ETF term (with version byte) to a registered name or to an encoded pid (no version
 * byte). 0, or -1 with err. Blocks at most timeout of opts. */
int conn_send_name(struct conn *c, const char *name, const void *term, size_t n, struct err *e);
int conn_send_pid(struct conn *c, const void *pid, size_t pid_n, const void *term, size_t n,
                  struct err *e);

/* The cookie by section 6: --setcookie, KPROF_COOKIE, --cookie-file, ~/.erlang.cookie. out is 256+
 * bytes. */
int conn_find_cookie(const char *setcookie, const char *cookie_file, char *out, size_t cap_bytes,
                     struct err *e);

#endif
