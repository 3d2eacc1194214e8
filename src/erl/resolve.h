/* The addresses of a host, under a deadline. For src/erl only.
 *
 * The resolver of the system cannot be interrupted: it runs in a thread of its own, which is left
 * behind when the deadline passes and ends by itself. Literal addresses need no thread. */
#ifndef KPROF_ERL_RESOLVE_H
#define KPROF_ERL_RESOLVE_H

#include "net.h"

#define RESOLVE_NAME_BYTES 256
#define RESOLVE_TIMEOUT    1 /* the codes of getaddrinfo are negative */

/* *out: the addresses, in the order of getaddrinfo. Returns 0, RESOLVE_TIMEOUT, or the code of
 * getaddrinfo; *out is changed only if 0. */
int resolve_host(const char *host, uint64_t deadline_ns, struct net_addresses *out);

/* The canonical name of a host, as the resolver gives it. Not checked. */
bool resolve_full_name(const char *host, uint64_t deadline_ns, char out[RESOLVE_NAME_BYTES]);

/* Adds the addresses in a text such as "10.0.0.1,::1"; anything else in it is ignored. */
void resolve_literals(const char *text, struct net_addresses *out);

#endif
