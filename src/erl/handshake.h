/* The distribution handshake, by libei over a connected socket, so that an error can say which step
 * failed. For src/erl only; blocks, at most until the deadline. Nothing that depends on the cookie
 * is sent before the node has given the expected name. Any thread; one at a time for one struct. */
#ifndef KPROF_ERL_HANDSHAKE_H
#define KPROF_ERL_HANDSHAKE_H

#include "probe.h"
#include "sock.h"

#include <kprof/base/err.h>
#include <stdbool.h>
#include <stdint.h>

enum handshake_result {
    HANDSHAKE_OK,
    HANDSHAKE_TIMEOUT,
    HANDSHAKE_CLOSED, /* closed after it received the name of this node */
    HANDSHAKE_NAME,   /* it has another name; peer has it */
    HANDSHAKE_STATUS, /* refused; status has the reply */
    HANDSHAKE_COOKIE,
    HANDSHAKE_UNKNOWN_PROTOCOL, /* unknown protocol (server: a guess of its kind), or a version that
                                   libei does not support */
    HANDSHAKE_TLS,              /* TLS failed; no_tls has the sentence */
    HANDSHAKE_LOCAL             /* libei could not be initialized */
};

struct handshake {
    /* Connected; the handshake takes ownership. After HANDSHAKE_OK the caller owns it again, and
     * libei no longer uses it; otherwise it is closed. */
    struct sock sock;
    const char *node;                        /* the name that the node must have */
    const char *alive, *our_host, *our_name; /* kp, vm, kp@vm */
    bool replace; /* a connection that the node still has from our name is dead; replace it */
    const char *cookie;
    uint32_t creation;
    uint64_t deadline_ns;

    int why;         /* errno value */
    char status[32]; /* its status; '?' replaces characters that a name cannot contain */
    char peer[256];  /* name that the node sent; "" if it was not a valid name */
    /* progress of the handshake */
    int sent, read; /* packets */
    bool other_name, closed, keep, failed_tls;
    uint8_t head[4]; /* length of the packet, in the first bytes; all 0: not yet read */
    struct err no_tls;
    enum probe_server server; /* HANDSHAKE_UNKNOWN_PROTOCOL */
};

enum handshake_result handshake_run(struct handshake *s);

#endif
