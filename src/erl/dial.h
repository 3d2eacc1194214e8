/* Opens the socket to a node, and describes its remote address for error messages. For src/erl
 * only.
 *
 * The address is that of --connect, else that of the host in the name. The port is that of
 * --connect, else the one after the name, else the one that the environment gives (fixed_port),
 * else the one that epmd gives. All addresses of the host are tried. Blocks, at most until the
 * deadline. The strings are borrowed; the caller owns the socket. Any thread. */
#ifndef KPROF_ERL_DIAL_H
#define KPROF_ERL_DIAL_H

#include "net.h"
#include <kprof/base/err.h>
#include <kprof/erl/conn.h>
#include <kprof/erl/node_name.h>

struct dial_to {
    const struct node_name *name;
    const char *connect; /* ADDR:PORT; NULL: not given */
    uint64_t deadline_ns;
    int timeout_ms; /* for error messages */
};

struct dialed {
    int fd; /* non-blocking; owned by the caller */
    union net_address address;
    uint16_t port;   /* on failure, too; 0: not known */
    char where[200]; /* "port 9100 of vm (127.0.1.1, from epmd)" */
};

/* Returns CONN_OK, or the kind of failure, with the error message in e. */
enum conn_fail dial_open(const struct dial_to *to, struct dialed *out, struct err *e);

#endif
