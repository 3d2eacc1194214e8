#include "conn_impl.h"
#include "dial.h"
#include "explain.h"
#include "handshake.h"
#include "tls_conn.h"

#include <arpa/inet.h>
#include <kprof/base/clock.h>
#include <kprof/erl/node_name.h>
#include <kprof/erl/this_host.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OWN_NAME_MS 500
#define NAME_TRIES  5 /* the node may see the end of an earlier connection late */
#define NAME_MS     200
#define PROBE_MS    1000 /* reserved for finding out why a handshake failed */
/* The part of PROBE_MS that the probe may not use, so that an attempt ends before its timeout. */
#define SPARE_MS 200

/* One attempt; a step that fails leaves its sentence in e. */
struct attempt {
    const struct conn_opts *o;
    struct err *e;
    uint64_t deadline_ns, last_ns; /* of the connection; of the whole attempt */
    int timeout_ms;                /* until deadline_ns */
    bool in_use;                   /* the node has a connection from our name */
    struct node_name name;
    struct dialed to;
    struct sock sock;
    char our_alive[THIS_HOST_BYTES], our_host[THIS_HOST_BYTES], our_name[THIS_HOST_BYTES];
};

static enum conn_fail parse_name(struct attempt *a)
{
    if (node_name_parse(a->o->to.node, &a->name))
        return CONN_OK;
    (void)err_set(a->e, "'%.100s' is not a node name; write name@host or name@host:PORT",
                  a->o->to.node);
    return CONN_BAD_NAME;
}

static bool is_literal(const char *host)
{
    struct in_addr v4;

    return strchr(host, ':') != NULL || inet_pton(AF_INET, host, &v4) == 1;
}

/* Long names on both sides, or short ones. */
static void our_host(struct attempt *a)
{
    char address[NET_TEXT_BYTES];

    if (!node_name_is_long(a->name.host)) {
        this_host_short(a->our_host);
        return;
    }
    net_local_text(a->to.fd, address);
    if (!is_literal(a->name.host) &&
        this_host_full(a->our_host, net_sooner(a->deadline_ns, OWN_NAME_MS)))
        return;
    err_copy(a->our_host, sizeof a->our_host, address[0] != 0 ? address : "127.0.0.1");
}
static enum conn_fail name_ourselves(struct attempt *a)
{
    int n;

    our_host(a);
    if (a->o->self_name != NULL)
        n = snprintf(a->our_alive, sizeof a->our_alive, "%s", a->o->self_name);
    else
        n = snprintf(a->our_alive, sizeof a->our_alive, "kprof_top_%ld", (long)getpid());
    if (n < 0 || n >= (int)sizeof a->our_alive || !node_name_chars(a->our_alive, "")) {
        (void)err_set(a->e,
                      "'%.100s' cannot be the name of kprof-top's node: use letters, digits, '_' "
                      "and '-', without @host",
                      a->our_alive);
        return CONN_LOCAL;
    }
    n = snprintf(a->our_name, sizeof a->our_name, "%s@%s", a->our_alive, a->our_host);
    if (n < 0 || n >= (int)sizeof a->our_name) {
        (void)err_set(a->e, "the name of kprof-top's node is too long: %.100s@%.100s", a->our_alive,
                      a->our_host);
        return CONN_LOCAL;
    }
    return CONN_OK;
}

static enum conn_fail shake(struct conn **out, struct attempt *a)
{
    const struct conn_target *target = &a->o->to;
    struct handshake s = {.sock = a->sock,
                          .node = a->name.full,
                          .alive = a->our_alive,
                          .our_host = a->our_host,
                          .our_name = a->our_name,
                          .replace = a->o->returning,
                          .cookie = target->cookie,
                          .deadline_ns = a->deadline_ns};
    struct explain x = {.name = &a->name,
                        .target = target,
                        .to = &a->to,
                        .our_name = a->our_name,
                        .timeout_ms = a->timeout_ms,
                        .deadline_ns = a->last_ns};

    /* A new creation for each connection, so that messages for an earlier connection can be
     * recognized. */
    s.creation = (uint32_t)(clock_wall_ns() >> 20) ^ (uint32_t)getpid() << 20;
    enum handshake_result end = handshake_run(&s);
    a->in_use = end == HANDSHAKE_STATUS && strcmp(s.status, "alive") == 0;
    enum conn_fail fail = explain_handshake(&x, &s, end, a->e);
    if (fail == CONN_OK)
        *out = conn_new(s.sock, a->o->timeout_ms, s.creation, a->name.full, a->our_name);
    return fail;
}

static enum conn_fail connect_once(struct conn **out, struct attempt *a)
{
    const struct tls_opts *tls = &a->o->to.tls;
    struct tls_context *context = NULL;
    struct dial_to to = {.name = &a->name,
                         .connect = a->o->to.connect,
                         .deadline_ns = a->deadline_ns,
                         .timeout_ms = a->timeout_ms};
    enum conn_fail fail = CONN_OK;

    a->in_use = false;
    a->sock = (struct sock){.fd = -1};
    if (tls->on && (context = tls_context_new(tls, NULL, a->e)) == NULL)
        return CONN_TLS; /* before anything is sent to the node */
    fail = dial_open(&to, &a->to, a->e);
    if (a->o->port != NULL)
        *a->o->port = a->to.port;
    if (fail == CONN_OK) {
        a->sock.fd = a->to.fd;
        fail = name_ourselves(a);
    }
    if (fail == CONN_OK && tls->on) {
        a->sock.tls =
            tls_conn_open(context, a->sock.fd, a->name.full, a->name.host, a->deadline_ns, a->e);
        fail = a->sock.tls != NULL ? CONN_OK : CONN_TLS;
        context = NULL; /* taken */
    }
    if (fail == CONN_OK)
        return shake(out, a);
    tls_context_free(context);
    sock_close(&a->sock);
    return fail;
}

enum conn_fail conn_open(struct conn **out, const struct conn_opts *o, struct err *e)
{
    struct attempt a = {.o = o, .e = e};
    enum conn_fail fail = parse_name(&a);

    *out = NULL;
    a.timeout_ms = o->timeout_ms >= 2 * PROBE_MS ? o->timeout_ms - PROBE_MS : o->timeout_ms;
    a.deadline_ns = net_deadline(a.timeout_ms);
    a.last_ns =
        net_deadline(a.timeout_ms < o->timeout_ms ? o->timeout_ms - SPARE_MS : o->timeout_ms);
    if (fail == CONN_OK)
        fail = connect_once(out, &a);
    for (int i = 1; a.in_use && i < NAME_TRIES; i++) {
        (void)poll(NULL, 0, NAME_MS);
        e->text[0] = 0;
        fail = connect_once(out, &a);
    }
    return fail;
}
