#include "conn_impl.h"
#include "epmd.h"
#include "handshake.h"
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <kprof/base/clock.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One attempt; a step that fails leaves its sentence in e. */
struct attempt {
    const struct conn_opts *o;
    struct err *e;
    uint64_t deadline_ns;
    char node[256], alive[256], host[256]; /* app@vm, app, vm */
    char our_alive[256], our_host[256], our_name[256];
    uint16_t port;
    bool port_given;
    struct in_addr address;
};

static enum conn_fail bad_name(const struct attempt *a)
{
    (void)err_set(a->e, "'%.100s' is not a node name; write name@host or name@host:PORT",
                  a->o->node);
    return CONN_BAD_NAME;
}

/* The characters that Erlang allows in a node name: it goes to the screen, to epmd and to the node.
 * */
static bool name_ok(const char *s, const char *more)
{
    if (*s == 0)
        return false;
    for (; *s != 0; s++) {
        bool word = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                    (*s >= '0' && *s <= '9') || *s == '_' || *s == '-';

        if (!word && strchr(more, *s) == NULL)
            return false;
    }
    return true;
}

static enum conn_fail parse_name(struct attempt *a)
{
    const char *at = strchr(a->o->node, '@'), *colon;
    size_t n = strlen(a->o->node);
    char *end;

    if (at == NULL || n >= sizeof a->node + 6) /* :65535 */
        return bad_name(a);
    colon = strchr(at, ':');
    if (colon != NULL) {
        long port = strtol(colon + 1, &end, 10);

        if (colon[1] < '0' || colon[1] > '9' || *end != 0 || port < 1 || port > 65535)
            return bad_name(a);
        a->port = (uint16_t)port;
        a->port_given = true;
        n = (size_t)(colon - a->o->node);
    }
    if (n >= sizeof a->node)
        return bad_name(a);
    memcpy(a->node, a->o->node, n);
    memcpy(a->alive, a->o->node, (size_t)(at - a->o->node));
    memcpy(a->host, at + 1, n - (size_t)(at + 1 - a->o->node));
    return name_ok(a->alive, ".+") && name_ok(a->host, ".") ? CONN_OK : bad_name(a);
}

static enum conn_fail find_host(struct attempt *a)
{
    char here[256] = "";
    int rc = net_resolve(a->host, &a->address);

    if (rc == 0)
        return CONN_OK;
    /* A machine that cannot resolve its own name can still have nodes. */
    if (gethostname(here, sizeof here - 1) == 0) {
        here[strcspn(here, ".")] = 0;
        if (strcmp(here, a->host) == 0) {
            a->address.s_addr = htonl(INADDR_LOOPBACK);
            return CONN_OK;
        }
    }
    (void)err_set(a->e,
                  "cannot connect to %.100s: host '%.100s' is unknown (%s); check the name, or put "
                  "it in /etc/hosts",
                  a->node, a->host, gai_strerror(rc));
    return CONN_HOST_UNKNOWN;
}

static enum conn_fail not_registered(struct attempt *a)
{
    struct buf names;

    buf_init(&names, 400);
    epmd_names(a->address, a->deadline_ns, &names);
    if (names.len > 0)
        (void)err_set(a->e, "no node '%.80s' on %.80s; its epmd has: %s", a->alive, a->host,
                      names.data);
    else
        (void)err_set(a->e,
                      "no node '%.80s' on %.80s: no node is registered in its epmd; was the "
                      "node started with -sname or -name?",
                      a->alive, a->host);
    buf_release(&names);
    return CONN_NOT_REGISTERED;
}

static enum conn_fail find_port(struct attempt *a)
{
    int why = 0;

    switch (epmd_port(a->address, a->alive, a->deadline_ns, &a->port, &why)) {
    case EPMD_FOUND:
        return CONN_OK;
    case EPMD_NOT_REGISTERED:
        return not_registered(a);
    case EPMD_UNKNOWN_PROTOCOL:
        (void)err_set(a->e,
                      "cannot connect to %.100s: the server on port %u of %.80s is not epmd; "
                      "name@host:PORT needs none",
                      a->node, epmd_own_port(), a->host);
        return CONN_NO_EPMD;
    case EPMD_NO_CONNECTION:
        break;
    }
    (void)err_set(a->e,
                  "cannot connect to %.100s: no epmd answers on port %u of %.80s (%s); is a node "
                  "running there? name@host:PORT needs no epmd",
                  a->node, epmd_own_port(), a->host, strerror(why));
    return CONN_NO_EPMD;
}

/* The full name of the host, if it has one. */
static bool full_name(char out[256])
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_CANONNAME}, *list = NULL;
    bool ok = false;

    out[0] = out[255] = 0;
    if (gethostname(out, 255) == 0 && strchr(out, '.') != NULL)
        return true;
    if (getaddrinfo(out, NULL, &hints, &list) != 0)
        return false;
    if (list->ai_canonname != NULL && strchr(list->ai_canonname, '.') != NULL &&
        strlen(list->ai_canonname) < 256) {
        memcpy(out, list->ai_canonname, strlen(list->ai_canonname) + 1);
        ok = true;
    }
    freeaddrinfo(list);
    return ok;
}

/* Long names on both sides, or short ones. */
static void our_host(struct attempt *a)
{
    struct in_addr literal;
    char address[INET_ADDRSTRLEN];

    if (strchr(a->host, '.') == NULL) {
        if (gethostname(a->our_host, sizeof a->our_host - 1) < 0)
            a->our_host[0] = 0;
        a->our_host[strcspn(a->our_host, ".")] = 0;
        if (!name_ok(a->our_host, ""))
            memcpy(a->our_host, "localhost", sizeof "localhost");
        return;
    }
    if (inet_pton(AF_INET, a->host, &literal) != 1 && full_name(a->our_host) &&
        name_ok(a->our_host, "."))
        return;
    net_local_address(a->address, address);
    if (address[0] == 0)
        memcpy(address, "127.0.0.1", sizeof "127.0.0.1");
    memcpy(a->our_host, address, sizeof address);
}

static enum conn_fail name_ourselves(struct attempt *a)
{
    int n;

    our_host(a);
    if (a->o->self_name != NULL)
        n = snprintf(a->our_alive, sizeof a->our_alive, "%s", a->o->self_name);
    else
        n = snprintf(a->our_alive, sizeof a->our_alive, "kprof_top_%ld", (long)getpid());
    if (n < 0 || n >= (int)sizeof a->our_alive || !name_ok(a->our_alive, "")) {
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

static enum conn_fail refused(const struct attempt *a, const struct handshake *s)
{
    (void)err_set(a->e,
                  "cannot connect to %.100s: port %u of %.80s (%s) refused the connection: %s",
                  a->node, a->port, a->host,
                  a->port_given ? "as given" : "the port that epmd gives", strerror(s->why));
    return s->why == ETIMEDOUT ? CONN_TIMEOUT : CONN_REFUSED;
}

static enum conn_fail timed_out(const struct attempt *a, const struct handshake *s)
{
    (void)err_set(a->e, "cannot connect to %.100s: port %u of %.80s %s within %d ms", a->node,
                  a->port, a->host,
                  s->connected ? "accepted the connection but did not complete the handshake"
                               : "did not answer",
                  a->o->timeout_ms);
    return CONN_TIMEOUT;
}

static enum conn_fail explain(const struct attempt *a, const struct handshake *s,
                              enum handshake_result end)
{
    switch (end) {
    case HANDSHAKE_OK:
        return CONN_OK;
    case HANDSHAKE_NO_CONNECTION:
        return refused(a, s);
    case HANDSHAKE_TIMEOUT:
        return timed_out(a, s);
    case HANDSHAKE_COOKIE:
        (void)err_set(a->e,
                      "%.100s rejected the cookie; give the cookie of the node with --setcookie, "
                      "--cookie-file or KPROF_COOKIE",
                      a->node);
        return CONN_COOKIE;
    case HANDSHAKE_TLS:
        (void)err_set(a->e,
                      "%.100s speaks only TLS between nodes, which kprof-top does not; it needs a "
                      "plain distribution port",
                      a->node);
        return CONN_HANDSHAKE;
    case HANDSHAKE_CLOSED:
        (void)err_set(
            a->e,
            "%.100s closed the connection during the handshake: it requires TLS, is older than "
            "OTP 23, or port %u is not an Erlang node",
            a->node, a->port);
        return CONN_HANDSHAKE;
    case HANDSHAKE_STATUS:
        (void)err_set(a->e,
                      "%.100s rejected %.100s (%s): another node with this name is connecting, "
                      "or its net_kernel allows only some nodes; --name changes the name",
                      a->node, a->our_name, s->status);
        return CONN_HANDSHAKE;
    case HANDSHAKE_LOCAL:
        (void)err_set(a->e, "cannot start libei as node %.100s: name or cookie is too long",
                      a->our_name);
        return CONN_LOCAL;
    case HANDSHAKE_UNKNOWN_PROTOCOL:
        break;
    }
    (void)err_set(a->e,
                  "cannot connect to %.100s: the server on port %u of %.80s does not speak the "
                  "Erlang distribution protocol, or another version of it",
                  a->node, a->port, a->host);
    return CONN_HANDSHAKE;
}

static enum conn_fail shake(struct conn **out, struct attempt *a)
{
    struct handshake s = {.host = a->address,
                          .port = a->port,
                          .alive = a->our_alive,
                          .our_host = a->our_host,
                          .our_name = a->our_name,
                          .cookie = a->o->cookie,
                          .deadline_ns = a->deadline_ns};

    /* A new creation for each connection, so that messages for an earlier connection can be
     * recognized. */
    s.creation = (uint32_t)(clock_wall_ns() >> 20) ^ (uint32_t)getpid() << 20;
    enum conn_fail fail = explain(a, &s, handshake_run(&s));
    if (fail == CONN_OK)
        *out = conn_new(s.fd, a->o->timeout_ms, s.creation, s.peer[0] != 0 ? s.peer : a->node,
                        a->our_name);
    return fail;
}

enum conn_fail conn_open(struct conn **out, const struct conn_opts *o, struct err *e)
{
    struct attempt a = {.o = o, .e = e, .deadline_ns = net_deadline(o->timeout_ms)};
    enum conn_fail fail = parse_name(&a);

    *out = NULL;
    if (fail == CONN_OK)
        fail = find_host(&a);
    if (fail == CONN_OK && !a.port_given)
        fail = find_port(&a);
    if (fail == CONN_OK)
        fail = name_ourselves(&a);
    if (fail == CONN_OK)
        fail = shake(out, &a);
    return fail;
}
