/* A connection's inside, for the file that opens it and the file that uses it. For src/erl only. */
#ifndef KPROF_ERL_CONN_IMPL_H
#define KPROF_ERL_CONN_IMPL_H

#include <kprof/erl/conn.h>
#include <pthread.h>
#include <stdatomic.h>

struct conn {
    int fd, timeout_ms;
    uint32_t creation;
    char node[256], self[256];

    /* the receiver's */
    uint8_t *in;
    size_t cap, begin, end; /* bytes; [begin, end) of in are received and not yet given out */

    /* the senders' */
    pthread_mutex_t sending; /* what follows */
    struct buf head;

    atomic_uint_least64_t sent_ns; /* when something last went out */
    atomic_bool shut;              /* by us */
    atomic_bool send_failed;       /* a packet went out in part: nothing may follow */
};

/* Takes the socket. */
struct conn *conn_new(int fd, int timeout_ms, uint32_t creation, const char *node,
                      const char *self);

#endif
