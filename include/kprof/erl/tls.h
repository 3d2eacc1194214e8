/* TLS between nodes (-proto_dist inet_tls): the operator's settings.
 *
 * Invariant: without `insecure`, a node whose certificate cannot be verified is refused. Passwords
 * and keys are read from files (and KPROF_TLS_PASSWORD) at each connection, are wiped after use,
 * and never appear in an error or a note. The caller owns the strings. Any thread. */
#ifndef KPROF_ERL_TLS_H
#define KPROF_ERL_TLS_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <stdbool.h>

struct tls_opts {
    bool on;             /* false: the connection is not encrypted, and nothing below is used */
    bool insecure;       /* do not verify the node */
    const char *optfile; /* the file of a node's -ssl_dist_optfile; NULL: none */
    /* PEM files; each replaces the one that optfile names. NULL: not given */
    const char *ca;   /* authorities that may sign the certificate of the node; else the system's */
    const char *cert; /* certificate (with chain) of kprof-top, for nodes that require one */
    const char *key;  /* its key; NULL: in the file of the certificate */
};

/* Reads all files once. Returns 0, or -1 with err. Appends to notes what is in optfile and is not
 * used, as a sentence; nothing if everything is used. */
int tls_check(const struct tls_opts *o, struct buf *notes, struct err *e);

#endif
