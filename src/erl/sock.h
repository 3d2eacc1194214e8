/* The socket of a connection to a node, plain or with TLS. For src/erl only.
 *
 * Invariant: non-blocking; owned by one struct. One thread may receive while another one sends;
 * sock_shutdown may be called by any thread. Deadlines and failures as in net.h; -EPROTO: TLS
 * failed (sock_why). */
#ifndef KPROF_ERL_SOCK_H
#define KPROF_ERL_SOCK_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct tls_conn;

struct sock {
    int fd;               /* -1: none */
    struct tls_conn *tls; /* NULL: plain */
};

void sock_close(struct sock *s);    /* fd becomes -1; without an open socket it does nothing */
void sock_shutdown(struct sock *s); /* ends both directions, and wakes a thread that waits */

/* The bytes that are there: > 0; 0: the other side has closed; -EAGAIN: none yet. */
ssize_t sock_recv(struct sock *s, void *bytes, size_t n);
int sock_wait_recv(struct sock *s, uint64_t deadline_ns); /* after -EAGAIN; 0: try again */
/* Receives n bytes, or fewer if the other side has closed. Returns the number. */
ssize_t sock_recv_full(struct sock *s, void *bytes, size_t n, uint64_t deadline_ns);
/* Sends all bytes, or fails; *began: some of them may have been sent, so that nothing else may
 * follow. Changes iov. */
int sock_send_all(struct sock *s, struct iovec *iov, int n, uint64_t deadline_ns, bool *began);

/* Appends why TLS failed, as a part of a sentence whose subject is the node; plain: nothing. */
void sock_why(struct sock *s, struct buf *out);

#endif
