/* The private state of a connection, for the files that open and use it. For src/erl only. Threads:
 * conn.h. */
#ifndef KPROF_ERL_CONN_IMPL_H
#define KPROF_ERL_CONN_IMPL_H

#include "sock.h"

#include <kprof/erl/conn.h>
#include <pthread.h>
#include <stdatomic.h>

struct conn {
    struct sock sock;
    int timeout_ms;
    uint32_t creation;
    char node[256], self[256];

    /* of the receiver */
    uint8_t *in;
    size_t cap, begin, end; /* bytes; [begin, end) of in are received but not yet parsed */

    /* of the senders */
    pthread_mutex_t sending; /* protects the following fields */
    struct buf head;

    atomic_uint_least64_t sent_ns; /* time of the last send */
    atomic_bool shut;              /* by conn_shutdown */
    atomic_int send_failed; /* errno value: a packet was sent only in part, and nothing more may be
                               sent; 0: no failure */
};

/* Takes ownership of the socket. */
struct conn *conn_new(struct sock sock, int timeout_ms, uint32_t creation, const char *node,
                      const char *self);

#endif
