/* Plain non-blocking TCP sockets under a deadline, IPv4 and IPv6. No SIGPIPE. For src/erl only.
 *
 * Deadlines are clock_mono_ns. Failures are negative errno; ETIMEDOUT when the deadline has passed.
 * Any thread, one reader and one writer per socket. */
#ifndef KPROF_ERL_NET_H
#define KPROF_ERL_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define NET_ADDRESSES_MAX 8
#define NET_TEXT_BYTES    64 /* an address as text, with the zone of a link-local one */

union net_address { /* without a port */
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct net_addresses { /* of one host, in the order to try them */
    union net_address at[NET_ADDRESSES_MAX];
    size_t n;
};

uint64_t net_deadline(int timeout_ms);
int net_left_ms(uint64_t deadline_ns); /* rounded up; 0: passed */
/* At most ms from now, and not after the deadline. */
uint64_t net_sooner(uint64_t deadline_ns, int ms);

/* Adds an address if it is not there yet and there is room. */
void net_add(struct net_addresses *list, const struct sockaddr *a);
void net_add_loopback(struct net_addresses *list); /* 127.0.0.1 and ::1 */
void net_text(const union net_address *a, char out[NET_TEXT_BYTES]);

/* Connects to the first address that accepts. Each attempt has a short head start before the next
 * address is tried, too. Returns a new fd, owned by the caller; *which is the address (on failure:
 * the one that the error belongs to). The list must not be empty. No other connection of this
 * machine has the local port, if one is free. */
int net_connect(const struct net_addresses *to, uint16_t port, uint64_t deadline_ns, size_t *which);
int net_wait(int fd, short events, uint64_t deadline_ns); /* 0: ready */
/* Reads n bytes, or fewer if the other side has closed. Returns the number. */
ssize_t net_read_full(int fd, void *bytes, size_t n, uint64_t deadline_ns);
/* Writes all bytes, or fails; *sent is the number of bytes written. Changes iov. */
int net_write_all(int fd, struct iovec *iov, int n, uint64_t deadline_ns, size_t *sent);

/* The local address of a connected socket as text, without a zone; empty if it has none. */
void net_local_text(int fd, char out[NET_TEXT_BYTES]);

#endif
