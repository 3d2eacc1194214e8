/* Why TLS failed, as a part of a sentence whose subject is the node. For src/erl only.
 *
 * Invariant: texts from the node's certificate are printable and short. No text has a secret. A
 * plain value; the strings are borrowed. One thread at a time. */
#ifndef KPROF_ERL_TLS_FAILURE_H
#define KPROF_ERL_TLS_FAILURE_H

#include <kprof/base/buf.h>
#include <openssl/x509.h>
#include <stdbool.h>

struct tls_failure {
    unsigned long error; /* of OpenSSL; 0: none */
    bool timed_out;      /* the node did not answer in time */
    bool asked;          /* the node asked for a certificate of kprof-top */
    bool has_cert;       /* kprof-top has one */
    const char *host;    /* which the node's certificate must be for */
    const char *ca;      /* file of the authorities; NULL: those of the system */
    /* the node's certificates */
    int verify, depth;     /* X509_V_OK, or why one of them is not valid; 0: the node's own */
    char names[160];       /* hosts that it is for */
    char from[32], to[32]; /* times from which and to which it is valid */
};

/* Stores why this certificate of the node is not valid. */
void tls_failure_certificate(struct tls_failure *f, X509 *cert, int verify, int depth);
/* Appends for example "its certificate expired on 2026-01-31 12:00 UTC". */
void tls_failure_text(const struct tls_failure *f, struct buf *out);
/* Appends an error of OpenSSL, such as "bad decrypt". */
void tls_failure_reason(unsigned long error, struct buf *out);

#endif
