#include "explain.h"

#include <stdio.h>
#include <string.h>

static enum conn_fail wrong_name(const struct explain *x, const struct handshake *s, struct err *e)
{
    bool is_long = node_name_is_long(strchr(s->peer, '@') != NULL ? strchr(s->peer, '@') : "");
    bool differs = is_long != node_name_is_long(x->name->host);
    char address[NET_TEXT_BYTES];

    net_text(&x->to->address, address);
    bool v6 = strchr(address, ':') != NULL;
    (void)err_set(e,
                  "cannot connect to %.80s: the node at %.100s is %.80s%s; write %.80s --connect "
                  "%s%s%s:%u",
                  x->name->full, x->to->where, s->peer,
                  !differs  ? ""
                  : is_long ? ", with long names (-name)"
                            : ", with short names (-sname)",
                  s->peer, v6 ? "[" : "", address, v6 ? "]" : "", x->to->port);
    return CONN_WRONG_NAME;
}

static enum conn_fail rejected(const struct explain *x, const struct handshake *s, struct err *e)
{
    if (strcmp(s->status, "not_allowed") == 0)
        (void)err_set(
            e,
            "%.100s does not allow %.100s: its net_kernel:allow/1 allows only other names; give "
            "kprof-top an allowed name with --name, or allow this one on the node",
            x->name->full, x->our_name);
    else if (strcmp(s->status, "alive") == 0)
        (void)err_set(
            e,
            "%.100s already has a connection from %.100s: another kprof-top has this name; "
            "stop it, or give another name with --name",
            x->name->full, x->our_name);
    else
        (void)err_set(e,
                      "%.100s rejected %.100s (%s): another node with this name is connecting; try "
                      "again, or give another name with --name",
                      x->name->full, x->our_name, s->status);
    return CONN_HANDSHAKE;
}

/* Writes the sentence if the kind of server is known. False: it is not. */
static bool known_server(const struct explain *x, enum probe_server is, struct err *e)
{
    const char *node = x->name->full;

    switch (is) {
    case PROBE_TLS:
        (void)err_set(
            e,
            "cannot connect to %.100s: %.180s speaks TLS (-proto_dist inet_tls, or an HTTPS "
            "server); give --tls-optfile with the file of the node's -ssl_dist_optfile, or --tls",
            node, x->to->where);
        return true;
    case PROBE_HTTP:
    case PROBE_SSH:
        (void)err_set(e,
                      "cannot connect to %.100s: %.180s is an %s server, not an Erlang node; give "
                      "the distribution port of the node, which epmd -names shows",
                      node, x->to->where, is == PROBE_HTTP ? "HTTP" : "SSH");
        return true;
    case PROBE_EPMD:
        (void)err_set(
            e,
            "cannot connect to %.100s: %.180s is epmd, not a node; leave the port out, or "
            "give the distribution port of the node, which epmd -names shows",
            node, x->to->where);
        return true;
    case PROBE_UNKNOWN:
    case PROBE_SILENT:
    case PROBE_CLOSES:
        break;
    }
    return false;
}

/* A server that has completed TLS is a TLS server: the probe could find out no more. */
static enum probe_server ask(const struct explain *x)
{
    if (x->target->tls.on || net_left_ms(x->deadline_ns) == 0)
        return PROBE_UNKNOWN;
    return probe_ask(&x->to->address, x->to->port, x->deadline_ns);
}

static enum conn_fail timed_out(const struct explain *x, const struct handshake *s, struct err *e)
{
    if (s->read > 0)
        (void)err_set(
            e,
            "cannot connect to %.100s: %.180s answered but did not complete the handshake "
            "within %d ms; the node, or the way to it, is too slow: try again",
            x->name->full, x->to->where, x->timeout_ms);
    else if (!known_server(x, ask(x), e))
        (void)err_set(e,
                      "cannot connect to %.100s: %.180s accepted the connection but sent nothing "
                      "within %d ms: the node is suspended or very busy, or this is not the "
                      "distribution port of an Erlang node",
                      x->name->full, x->to->where, x->timeout_ms);
    return CONN_TIMEOUT;
}

static enum conn_fail closed(const struct explain *x, struct err *e)
{
    if (x->target->tls.on)
        (void)err_set(e,
                      "cannot connect to %.100s: %.180s closed the connection after the TLS "
                      "handshake: it rejects the certificate of kprof-top (its log has the "
                      "reason), or this port does not belong to an Erlang node",
                      x->name->full, x->to->where);
    else if (!known_server(x, ask(x), e))
        (void)err_set(
            e,
            "cannot connect to %.100s: %.180s closed the connection during the handshake: "
            "nothing listens behind a port-forward, the node is older than OTP 23, or this "
            "port does not belong to an Erlang node",
            x->name->full, x->to->where);
    return CONN_HANDSHAKE;
}

static enum conn_fail unknown(const struct explain *x, const struct handshake *s, struct err *e)
{
    if (!known_server(x, s->server, e))
        (void)err_set(e,
                      "cannot connect to %.100s: the server at %.180s does not speak the Erlang "
                      "distribution protocol, or speaks another version of it",
                      x->name->full, x->to->where);
    return CONN_HANDSHAKE;
}

enum conn_fail explain_handshake(const struct explain *x, const struct handshake *s,
                                 enum handshake_result end, struct err *e)
{
    const char *from = x->target->cookie_from;

    switch (end) {
    case HANDSHAKE_OK:
        return CONN_OK;
    case HANDSHAKE_TIMEOUT:
        return timed_out(x, s, e);
    case HANDSHAKE_CLOSED:
        return closed(x, e);
    case HANDSHAKE_NAME:
        return wrong_name(x, s, e);
    case HANDSHAKE_STATUS:
        return rejected(x, s, e);
    case HANDSHAKE_COOKIE:
        (void)err_set(e,
                      "%.100s rejected the cookie%s%.100s; give the cookie of the node with "
                      "--setcookie, --cookie-file or KPROF_COOKIE",
                      x->name->full, from != NULL ? " from " : "", from != NULL ? from : "");
        return CONN_COOKIE;
    case HANDSHAKE_TLS:
        *e = s->no_tls;
        return CONN_TLS;
    case HANDSHAKE_LOCAL:
        (void)err_set(e, "cannot start libei as node %.100s: name or cookie is too long",
                      x->our_name);
        return CONN_LOCAL;
    case HANDSHAKE_UNKNOWN_PROTOCOL:
        break;
    }
    return unknown(x, s, e);
}
