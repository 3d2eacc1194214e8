/* The distribution handshake, by libei over a socket of ours, so that it can be told how far it
 * came. For src/erl only; blocks, at most until the deadline. */
#ifndef KPROF_ERL_SHAKE_H
#define KPROF_ERL_SHAKE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum shake_end {
    SHAKE_OK,
    SHAKE_NO_CONNECTION, /* errno value in why */
    SHAKE_TIMEOUT,
    SHAKE_TLS,    /* it answered with a TLS record */
    SHAKE_CLOSED, /* closed as soon as it had our name */
    SHAKE_STATUS, /* refused; its own word in status */
    SHAKE_COOKIE,
    SHAKE_STRANGE, /* does not speak the protocol, or not one that libei speaks */
    SHAKE_LOCAL    /* libei would not start */
};

struct shake {
    struct in_addr host;
    uint16_t port;
    const char *alive, *our_host, *our_name; /* kp, vm, kp@vm */
    const char *cookie;
    uint32_t creation;
    uint64_t deadline_ns;

    int fd;          /* SHAKE_OK: connected, the caller's now; libei has forgotten it */
    int why;         /* errno value */
    char status[32]; /* what it said of us: letters, digits, '_' and '?' */
    char peer[256];  /* its name for itself; "" if it had none that can be one */
    /* how far we came */
    int sent, read; /* packets */
    bool connected, tls, closed, keep;
    uint8_t head[2];
};

enum shake_end shake_hands(struct shake *s);

#endif
