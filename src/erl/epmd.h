/* Asks an epmd for a node's port and for the names it has. Everything it answers is hostile. For
 * src/erl only; blocks, at most until the deadline. Format: erts "Distribution Protocol". */
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
    EPMD_UNKNOWN_PROTOCOL /* somebody, who does not speak epmd */
};
enum epmd_answer epmd_port(struct in_addr host, const char *name, uint64_t deadline_ns,
                           uint16_t *port, int *why);

/* Appends the names as "a, b, c": printable, each cut, at most about 200 bytes. Nothing on failure.
 */
void epmd_names(struct in_addr host, uint64_t deadline_ns, struct buf *out);

#endif
