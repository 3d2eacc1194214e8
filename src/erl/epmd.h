/* Asks an epmd for the port of a node and for its names. The answers are not trusted. For src/erl
 * only. Every call opens its own socket and closes it; blocks, at most until the deadline. Any
 * thread. Format: erts "Distribution Protocol". */
#ifndef KPROF_ERL_EPMD_H
#define KPROF_ERL_EPMD_H

#include "net.h"
#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stdint.h>

uint16_t epmd_own_port(void); /* ERL_EPMD_PORT, else 4369 */

enum epmd_answer {
    EPMD_FOUND,
    EPMD_NOT_REGISTERED,
    EPMD_NO_CONNECTION,   /* no connection, or no answer; errno value in why */
    EPMD_UNKNOWN_PROTOCOL /* the server does not speak the epmd protocol */
};

struct epmd_node {
    uint16_t port;
    uint16_t highest; /* version of the distribution protocol; 6 from OTP 23 on */
    size_t which;     /* the address whose epmd answered, or did not */
    int why;          /* errno value */
};

/* The first address with an epmd is asked. */
enum epmd_answer epmd_port(const struct net_addresses *at, const char *name, uint64_t deadline_ns,
                           struct epmd_node *out);

/* A name of an epmd: not NUL-terminated, not trusted. */
typedef void epmd_name(void *arg, const char *name, size_t n_bytes, uint16_t port);
/* Calls `each` for every name; false: the answer is not from an epmd, or there is none. */
bool epmd_each_name(const struct net_addresses *at, uint16_t port, uint64_t deadline_ns,
                    epmd_name *each, void *arg);
/* Reads the lines of an answer, after its first four bytes. */
void epmd_parse_names(const char *s, size_t n, epmd_name *each, void *arg);

/* Appends the names as "a, b, c": printable, each shortened, at most about 200 bytes; those most
 * like `like` first. False: the answer is not from an epmd, or there is none; nothing is
 * appended. */
bool epmd_names(const struct net_addresses *at, uint16_t port, uint64_t deadline_ns,
                const char *like, struct buf *out);

#endif
