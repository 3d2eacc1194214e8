/* Names of nodes and addresses, as a user writes them.
 *
 * Invariant: a parsed name has only the characters that Erlang allows in a node name, so it can be
 * shown, and sent to epmd and to a node. No I/O. Any thread. */
#ifndef KPROF_ERL_NODE_NAME_H
#define KPROF_ERL_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_NAME_BYTES 256

struct node_name {
    char full[NODE_NAME_BYTES], alive[NODE_NAME_BYTES], host[NODE_NAME_BYTES]; /* app@vm, app, vm */
    uint16_t port;                                                             /* 0: not given */
};

/* name@host, name@host:PORT; an IPv6 address as the host may be in brackets, and must be if a port
 * follows it: name@[::1]:PORT. */
bool node_name_parse(const char *text, struct node_name *out);

/* A host with a dot or a colon means long names (-name), any other host short ones (-sname). */
bool node_name_is_long(const char *host);

/* ADDR:PORT or [IPV6]:PORT. ADDR is an address or a host name. */
bool node_name_address(const char *text, char host[NODE_NAME_BYTES], uint16_t *port);

/* Decimal digits, 1 to 65535. */
bool node_name_port(const char *text, uint16_t *port);

/* Letters, digits, '_', '-', and those in more; not empty. */
bool node_name_chars(const char *s, const char *more);

#endif
