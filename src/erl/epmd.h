/* Asks an epmd for the port of a node and for its names. The answers are not trusted. For src/erl
 * only; blocks, at most until the deadline. Format: erts "Distribution Protocol". */
#ifndef KPROF_ERL_EPMD_H
#define KPROF_ERL_EPMD_H

#include <kprof/base/buf.h>
#include <netinet/in.h>
#include <stdint.h>

uint16_t epmd_own_port(void); /* ERL_EPMD_PORT, else 4369 */

enum epmd_answer {
    EPMD_FOUND,
    EPMD_NOT_REGISTERED,
    EPMD_NO_CONNECTION,   /* no connection; errno value in *why */
    EPMD_UNKNOWN_PROTOCOL /* the server does not speak the epmd protocol */
};
enum epmd_answer epmd_port(struct in_addr host, const char *name, uint64_t deadline_ns,
                           uint16_t *port, int *why);

/* Appends the names as "a, b, c": printable, each shortened, at most about 200 bytes. Appends
 * nothing on failure. */
void epmd_names(struct in_addr host, uint64_t deadline_ns, struct buf *out);

#endif
