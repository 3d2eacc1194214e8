#include "dial.h"

#include "epmd.h"
#include "fixed_port.h"
#include "resolve.h"
#include <errno.h>
#include <kprof/erl/this_host.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_EPMD_MS 500
#define OWN_SHARE     4 /* a resolver may take this part of the time for a host of this machine */
#define VERSION_6     6 /* of the distribution protocol: OTP 23 and later */

struct call {
    const struct dial_to *to;
    struct err *e;
    char host[NODE_NAME_BYTES]; /* to resolve */
    uint16_t port;              /* 0: ask epmd */
    const char *from;           /* of the port */
    struct net_addresses at;
};

/* ---- where to ---- */

static enum conn_fail choose_way(struct call *c)
{
    const struct node_name *name = c->to->name;
    struct fixed_port fixed;

    if (c->to->connect != NULL) {
        c->from = "--connect";
        if (node_name_address(c->to->connect, c->host, &c->port))
            return CONN_OK;
        (void)err_set(c->e, "--connect %.100s: write ADDR:PORT or [IPV6]:PORT", c->to->connect);
        return CONN_BAD_NAME;
    }
    memcpy(c->host, name->host, sizeof c->host);
    c->port = name->port;
    c->from = "the name";
    if (c->port != 0)
        return CONN_OK;
    if (fixed_port(&fixed, c->e) < 0)
        return CONN_LOCAL;
    c->port = fixed.port;
    c->from = fixed.port != 0 ? fixed.from : "epmd";
    return CONN_OK;
}

static enum conn_fail unknown_host(const struct call *c, int code)
{
    const char *node = c->to->name->full;

    if (code == RESOLVE_TIMEOUT)
        (void)err_set(c->e,
                      "cannot connect to %.100s: the resolver gave no address for host '%.100s' "
                      "within %d ms; give the address with --connect ADDR:PORT",
                      node, c->host, c->to->timeout_ms);
    else
        (void)err_set(c->e,
                      "cannot connect to %.100s: host '%.100s' is unknown (%s); check the name, "
                      "put it in /etc/hosts, or give the address with --connect ADDR:PORT",
                      node, c->host, gai_strerror(code));
    return CONN_HOST_UNKNOWN;
}

/* A machine can have nodes even if it cannot resolve its own name, or resolves it to an address
 * where epmd does not listen. A resolver that hangs must leave time for the other addresses. */
static enum conn_fail find_addresses(struct call *c)
{
    const char *epmd_addresses = getenv("ERL_EPMD_ADDRESS");
    uint64_t end = c->to->deadline_ns;
    bool own =
        c->to->connect == NULL && (this_host_is(c->host) || strcmp(c->host, "localhost") == 0);
    int code =
        resolve_host(c->host, own ? net_sooner(end, net_left_ms(end) / OWN_SHARE) : end, &c->at);

    if (own) {
        if (epmd_addresses != NULL)
            resolve_literals(epmd_addresses, &c->at);
        net_add_loopback(&c->at);
    }
    return c->at.n > 0 ? CONN_OK : unknown_host(c, code);
}

/* ---- epmd ---- */

static void to_front(struct net_addresses *list, size_t which)
{
    union net_address first = list->at[which];

    memmove(list->at + 1, list->at, which * sizeof *list->at);
    list->at[0] = first;
}

static enum conn_fail not_registered(struct call *c, size_t which)
{
    struct net_addresses one = {.at = {c->at.at[which]}, .n = 1};
    const char *alive = c->to->name->alive;
    struct buf names;

    buf_init(&names, 400);
    (void)epmd_names(&one, epmd_own_port(), c->to->deadline_ns, alive, &names);
    if (names.len > 0)
        (void)err_set(c->e, "no node '%.80s' on %.80s; its epmd has: %s", alive, c->host,
                      names.data);
    else
        (void)err_set(c->e,
                      "no node '%.80s' on %.80s: no node is registered in its epmd; was the node "
                      "started with -sname or -name? A node without epmd needs its port: "
                      "name@host:PORT",
                      alive, c->host);
    buf_release(&names);
    return CONN_NOT_REGISTERED;
}

static enum conn_fail no_epmd(const struct call *c, enum epmd_answer answer, size_t which, int why)
{
    char text[NET_TEXT_BYTES];

    net_text(&c->at.at[which], text);
    if (answer == EPMD_UNKNOWN_PROTOCOL)
        (void)err_set(
            c->e,
            "cannot connect to %.100s: the server on port %u of %.80s (%s) is not epmd; "
            "set ERL_EPMD_PORT, or give the port of the node: name@host:PORT needs no epmd",
            c->to->name->full, epmd_own_port(), c->host, text);
    else
        (void)err_set(
            c->e,
            "cannot connect to %.100s: no epmd answers on port %u of %.80s (%s: %s); is a "
            "node running there? Without epmd give the port of the node, as in "
            "name@host:PORT or --connect ADDR:PORT",
            c->to->name->full, epmd_own_port(), c->host, text, strerror(why));
    return CONN_NO_EPMD;
}

/* The other addresses may be of another machine or container, with an epmd of its own. */
static bool ask_others(struct call *c, size_t asked, struct epmd_node *found)
{
    for (size_t i = 0; i < c->at.n; i++) {
        struct net_addresses one = {.at = {c->at.at[i]}, .n = 1};

        if (i != asked &&
            epmd_port(&one, c->to->name->alive, net_sooner(c->to->deadline_ns, OTHER_EPMD_MS),
                      found) == EPMD_FOUND) {
            found->which = i;
            return true;
        }
    }
    return false;
}

/* An epmd that accepts and does not answer must leave time for the other addresses. */
static uint64_t first_until(const struct call *c)
{
    uint64_t end = c->to->deadline_ns;

    return c->at.n > 1 ? net_sooner(end, net_left_ms(end) / 2) : end;
}

static enum conn_fail ask_epmd(struct call *c)
{
    struct epmd_node first, node;
    enum epmd_answer answer = epmd_port(&c->at, c->to->name->alive, first_until(c), &first);

    node = first;
    if (answer != EPMD_FOUND && !ask_others(c, first.which, &node))
        return answer == EPMD_NOT_REGISTERED ? not_registered(c, first.which)
                                             : no_epmd(c, answer, first.which, first.why);
    if (node.highest != 0 && node.highest < VERSION_6) {
        (void)err_set(c->e,
                      "cannot connect to %.100s: its OTP is older than 23 (epmd reports version %u "
                      "of the distribution protocol); kprof-top needs OTP 24.3 or later",
                      c->to->name->full, node.highest);
        return CONN_HANDSHAKE;
    }
    to_front(&c->at, node.which);
    c->port = node.port;
    return CONN_OK;
}

/* ---- connecting ---- */

static void describe(const struct call *c, size_t which, char *out, size_t cap_bytes)
{
    char text[NET_TEXT_BYTES];
    bool same;

    net_text(&c->at.at[which], text);
    same = strcmp(text, c->host) == 0;
    (void)snprintf(out, cap_bytes, "port %u of %.80s (%s%sfrom %s)", c->port, c->host,
                   same ? "" : text, same ? "" : ", ", c->from);
}

static const char *advice(const struct call *c)
{
    if (c->to->connect != NULL)
        return "check this address, and that a port-forward to it is running";
    if (c->to->name->port != 0)
        return "check the port, and that the node is running";
    if (strcmp(c->from, "epmd") != 0)
        return "check this variable, and that the node is running";
    return "the node has just ended, or its port is not open to this machine: forward it, and give "
           "--connect ADDR:PORT";
}

static enum conn_fail refused(const struct call *c, size_t which, int why)
{
    char where[200];

    describe(c, which, where, sizeof where);
    if (why == ETIMEDOUT) {
        (void)err_set(c->e,
                      "cannot connect to %.100s: %s did not answer within %d ms (a wrong address, "
                      "or a firewall?); %s",
                      c->to->name->full, where, c->to->timeout_ms, advice(c));
        return CONN_TIMEOUT;
    }
    if (why == ECONNREFUSED)
        (void)err_set(c->e, "cannot connect to %.100s: nothing listens on %s; %s",
                      c->to->name->full, where, advice(c));
    else
        (void)err_set(c->e, "cannot connect to %.100s at %s: %s; %s", c->to->name->full, where,
                      strerror(why), advice(c));
    return CONN_REFUSED;
}

enum conn_fail dial_open(const struct dial_to *to, struct dialed *out, struct err *e)
{
    struct call c = {.to = to, .e = e};
    enum conn_fail fail = choose_way(&c);
    size_t which = 0;

    *out = (struct dialed){.fd = -1};
    if (fail == CONN_OK)
        fail = find_addresses(&c);
    if (fail == CONN_OK && c.port == 0)
        fail = ask_epmd(&c);
    if (fail != CONN_OK)
        return fail;
    out->port = c.port;
    out->fd = net_connect(&c.at, c.port, to->deadline_ns, &which);
    if (out->fd < 0)
        return refused(&c, which, -out->fd);
    out->address = c.at.at[which];
    describe(&c, which, out->where, sizeof out->where);
    return CONN_OK;
}
