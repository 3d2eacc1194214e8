/* The distribution handshake, by libei over a socket of ours, so that it can be told how far it
 * came. For src/erl only; blocks, at most until the deadline. */
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
    HANDSHAKE_CLOSED, /* closed as soon as it had our name */
    HANDSHAKE_STATUS, /* refused; its own word in status */
    HANDSHAKE_COOKIE,
    HANDSHAKE_UNKNOWN_PROTOCOL, /* does not speak the protocol, or not one that libei speaks */
    HANDSHAKE_LOCAL             /* libei would not start */
};

struct handshake {
    struct in_addr host;
    uint16_t port;
    const char *alive, *our_host, *our_name; /* kp, vm, kp@vm */
    const char *cookie;
    uint32_t creation;
    uint64_t deadline_ns;

    int fd;          /* HANDSHAKE_OK: connected, the caller's now; libei has forgotten it */
    int why;         /* errno value */
    char status[32]; /* what it said of us: letters, digits, '_' and '?' */
    char peer[256];  /* its name for itself; "" if it had none that can be one */
    /* how far we came */
    int sent, read; /* packets */
    bool connected, tls, closed, keep;
    uint8_t head[2];
};

enum handshake_result handshake_run(struct handshake *s);

#endif
