/* A hint for a host that cannot be reached directly: the command that forwards a port to it, and
 * the --connect that goes with it.
 *
 * Only a host and a node name whose characters have no meaning in a shell are written into a
 * command. Pure; any thread. */
#ifndef KPROF_APP_REACH_HINT_H
#define KPROF_APP_REACH_HINT_H

#include <kprof/base/buf.h>
#include <stdint.h>

/* Appends one line, without newline, about a node (as node_name_parse accepts it). port: that of
 * the node if it is known, else 0. Returns false and appends nothing if there is no command to
 * propose. */
bool reach_hint(const char *node, uint16_t port, struct buf *out);

#endif
