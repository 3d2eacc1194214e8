/* TLS over a connected non-blocking socket, by OpenSSL. For src/erl only.
 *
 * Invariant: no function blocks, except tls_conn_open, which blocks at most until its deadline. One
 * thread may receive while another one sends: OpenSSL allows only one call at a time for a
 * connection, so a lock is held around each call of it, and never while a thread waits; callers
 * wait with poll, for tls_conn_recv_events or tls_conn_send_events. After a failure every call
 * fails. No SIGPIPE. */
#ifndef KPROF_ERL_TLS_CONN_H
#define KPROF_ERL_TLS_CONN_H

#include "tls_context.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tls_conn;

/* The TLS handshake. Takes ownership of the context, but not of the socket. host: of the node's
 * name; the certificate must be for it. Returns NULL with err: "cannot connect to NODE over TLS:
 * ...". */
struct tls_conn *tls_conn_open(struct tls_context *c, int fd, const char *node, const char *host,
                               uint64_t deadline_ns, struct err *e);
void tls_conn_free(struct tls_conn *t); /* NULL is allowed */

/* The bytes that are there, at most n: > 0; 0: the node has ended the connection; -EAGAIN: none
 * yet; -EPROTO: TLS failed (tls_conn_why); else negative errno. One thread at a time. */
ssize_t tls_conn_recv(struct tls_conn *t, void *bytes, size_t n);
/* Sends some of the bytes. Returns their number, -EAGAIN or a failure as above. After -EAGAIN the
 * caller must send the same bytes again; nothing else may be sent before. One thread at a time. */
ssize_t tls_conn_send(struct tls_conn *t, const void *bytes, size_t n);
/* The events for poll after -EAGAIN; by the thread that received it. */
short tls_conn_recv_events(const struct tls_conn *t);
short tls_conn_send_events(const struct tls_conn *t);

/* Tells the node that no more bytes will follow, if this is possible without waiting. Any thread.
 */
void tls_conn_bye(struct tls_conn *t);
/* Appends why TLS failed, as a part of a sentence whose subject is the node. Any thread. */
void tls_conn_why(struct tls_conn *t, struct buf *out);
/* True: the node asked for a certificate of kprof-top, which has none. */
bool tls_conn_misses_cert(struct tls_conn *t);

#endif
