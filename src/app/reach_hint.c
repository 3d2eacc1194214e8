#include "reach_hint.h"

#include <arpa/inet.h>
#include <kprof/erl/node_name.h>
#include <stdio.h>
#include <string.h>

#define PORT_UNKNOWN "PORT"

/* POD.SERVICE.NAMESPACE.svc[.DOMAIN], the name of a pod of a StatefulSet. */
static bool pod_of(const char *host, char pod[NODE_NAME_BYTES], char space[NODE_NAME_BYTES])
{
    char service[NODE_NAME_BYTES], svc[NODE_NAME_BYTES];

    return sscanf(host, "%255[^.].%255[^.].%255[^.].%255[^.]", pod, service, space, svc) == 4 &&
           strcmp(svc, "svc") == 0;
}

/* A-B-C-D.NAMESPACE.pod[.DOMAIN], the name of the address of a pod. */
static bool pod_address_of(const char *host, char space[NODE_NAME_BYTES])
{
    char address[NODE_NAME_BYTES], kind[NODE_NAME_BYTES];

    return sscanf(host, "%255[^.].%255[^.].%255[^.]", address, space, kind) == 3 &&
           strcmp(kind, "pod") == 0;
}

/* Loopback names and addresses are on this machine, and need no forwarding. */
static bool is_here(const char *host)
{
    struct in_addr four;

    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

/* False: the host begins with a hyphen, or has a colon and is not an IPv6 address without a
 * zone. */
static bool is_plain(const char *host, bool *v6)
{
    struct in6_addr six;

    *v6 = inet_pton(AF_INET6, host, &six) == 1;
    return host[0] != '-' && (*v6 || !strchr(host, ':'));
}

bool reach_hint(const char *node, uint16_t port, struct buf *out)
{
    char pod[NODE_NAME_BYTES], space[NODE_NAME_BYTES], number[8] = PORT_UNKNOWN;
    struct node_name name;
    bool v6;

    if (!node_name_parse(node, &name) || name.alive[0] == '-' || !is_plain(name.host, &v6) ||
        is_here(name.host))
        return false;
    port = name.port ? name.port : port;
    if (port)
        snprintf(number, sizeof number, "%u", port);
    buf_adds(out, "forward a port to it: ");
    if (pod_of(name.host, pod, space))
        buf_addf(out, "kubectl -n %s port-forward pod/%s %s:%s", space, pod, number, number);
    else if (pod_address_of(name.host, space))
        buf_addf(out, "kubectl -n %s port-forward pod/POD %s:%s", space, number, number);
    else
        buf_addf(out, "ssh -L %s:%s%s%s:%s %s", number, v6 ? "[" : "", name.host, v6 ? "]" : "",
                 number, name.host);
    buf_addf(out, "; then: kprof-top --connect 127.0.0.1:%s %s", number, name.full);
    if (!port)
        buf_adds(out, " (PORT is the port of the node; 'epmd -names' on that host prints it)");
    return true;
}
