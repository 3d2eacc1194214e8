#include <kprof/erl/local_nodes.h>

#include "epmd.h"
#include "net.h"
#include "resolve.h"
#include <stdlib.h>
#include <string.h>

static void add(void *arg, const char *name, size_t n, uint16_t port)
{
    struct local_nodes *out = arg;
    struct local_node *k = &out->at[out->n];

    if (out->n == LOCAL_NODES_MAX || n >= sizeof k->name || memchr(name, 0, n))
        return;
    memcpy(k->name, name, n);
    k->name[n] = 0;
    k->port = port;
    out->n++;
}

void local_nodes_parse(struct local_nodes *out, const char *s, size_t n)
{
    epmd_parse_names(s, n, add, out);
}

bool local_nodes_find(struct local_nodes *out, int timeout_ms)
{
    const char *addresses = getenv("ERL_EPMD_ADDRESS");
    struct net_addresses here = {.n = 0};

    out->n = 0;
    if (addresses != NULL)
        resolve_literals(addresses, &here);
    net_add_loopback(&here);
    return epmd_each_name(&here, epmd_own_port(), net_deadline(timeout_ms), add, out);
}
