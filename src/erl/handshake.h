/* The distribution handshake, by libei over a socket of this unit, so that an error can say which
 * step failed. For src/erl only; blocks, at most until the deadline. */
#ifndef KPROF_ERL_HANDSHAKE_H
#define KPROF_ERL_HANDSHAKE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum handshake_result {
    HANDSHAKE_OK,
    HANDSHAKE_NO_CONNECTION, /* errno value in why */
    HANDSHAKE_TIMEOUT,
    HANDSHAKE_TLS,    /* it answered with a TLS record */
    HANDSHAKE_CLOSED, /* closed after it received the name of this node */
    HANDSHAKE_STATUS, /* refused; status has the reply */
    HANDSHAKE_COOKIE,
    HANDSHAKE_UNKNOWN_PROTOCOL, /* unknown protocol, or a version that libei does not support */
    HANDSHAKE_LOCAL             /* libei could not be initialized */
};

struct handshake {
    struct in_addr host;
    uint16_t port;
    const char *alive, *our_host, *our_name; /* kp, vm, kp@vm */
    const char *cookie;
    uint32_t creation;
    uint64_t deadline_ns;

    int fd;  /* HANDSHAKE_OK: the connected socket, owned by the caller; libei no longer uses it */
    int why; /* errno value */
    char status[32]; /* the status that it sent: letters, digits, '_' and '?' */
    char peer[256];  /* name that the node sent; "" if it was not a valid name */
    /* progress of the handshake */
    int sent, read; /* packets */
    bool connected, tls, closed, keep;
    uint8_t head[2];
};

enum handshake_result handshake_run(struct handshake *s);

#endif
