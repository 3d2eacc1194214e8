/* A plain non-blocking TCP socket under a deadline. No SIGPIPE. For src/erl only.
 *
 * Deadlines are clock_mono_ns. Failures are negative errno; ETIMEDOUT when the deadline has passed.
 * Any thread, one reader and one writer per socket. */
#ifndef KPROF_ERL_NET_H
#define KPROF_ERL_NET_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

uint64_t net_deadline(int timeout_ms);
int net_left_ms(uint64_t deadline_ns); /* rounded up; 0: passed */

/* IPv4 address of a host: 0, or getaddrinfo's code. May take as long as the resolver does. */
int net_resolve(const char *host, struct in_addr *out);

int net_connect(struct in_addr host, uint16_t port,
                uint64_t deadline_ns);                    /* a new fd, owned by the caller */
int net_wait(int fd, short events, uint64_t deadline_ns); /* 0: ready */
/* Reads n bytes, or fewer if the other side has closed. Returns the number. */
ssize_t net_read_full(int fd, void *bytes, size_t n, uint64_t deadline_ns);
/* Writes all bytes, or fails; *sent is the number of bytes written. Changes iov. */
int net_write_all(int fd, struct iovec *iov, int n, uint64_t deadline_ns, size_t *sent);

/* The local address on the route to host, as text; empty if there is no route. */
void net_local_address(struct in_addr host, char out[INET_ADDRSTRLEN]);

#endif
