/* Finds out the kind of a server that does not answer as an Erlang node, for an error message. For
 * src/erl only. The answer is a guess from a few bytes, which are not trusted. Any thread. */
#ifndef KPROF_ERL_PROBE_H
#define KPROF_ERL_PROBE_H

#include "net.h"

enum probe_server {
    PROBE_UNKNOWN,
    PROBE_SILENT, /* accepts the connection, sends nothing */
    PROBE_CLOSES, /* accepts the connection, closes it */
    PROBE_TLS,
    PROBE_HTTP,
    PROBE_SSH,
    PROBE_EPMD
};

/* From the first bytes that it sent. */
enum probe_server probe_bytes(const void *bytes, size_t n);

/* Makes one or two short connections: a TLS ClientHello, and on the port of epmd a request for
 * names. Blocks, at most until the deadline. */
enum probe_server probe_ask(const union net_address *to, uint16_t port, uint64_t deadline_ns);

#endif
