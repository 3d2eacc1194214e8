/* The nodes that the epmd of this machine knows.
 *
 * Names are from the epmd and are not trusted. The caller checks them. Blocks for at most
 * timeout_ms; connects to nothing but the epmd. Any thread. */
#ifndef KPROF_ERL_LOCAL_NODES_H
#define KPROF_ERL_LOCAL_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_NODES_MAX 64

struct local_node {
    char name[256]; /* without host */
    uint16_t port;
};

struct local_nodes {
    struct local_node at[LOCAL_NODES_MAX];
    size_t n;
};

/* False: no epmd answers; out is then empty. */
bool local_nodes_find(struct local_nodes *out, int timeout_ms);

/* Reads the lines of an answer of epmd ("name NAME at port PORT"). Accepts any bytes. */
void local_nodes_parse(struct local_nodes *out, const char *s, size_t n);

#endif
