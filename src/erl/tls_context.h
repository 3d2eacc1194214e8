/* The operator's TLS settings (struct tls_opts), loaded from the files into OpenSSL. For src/erl
 * only.
 *
 * Invariant: a context without `insecure` verifies the node. TLS 1.2 or later. Any thread; one
 * thread at a time for one context. */
#ifndef KPROF_ERL_TLS_CONTEXT_H
#define KPROF_ERL_TLS_CONTEXT_H

#include <kprof/erl/tls.h>
#include <openssl/ssl.h>

struct tls_context {
    SSL_CTX *ctx;
    char *ca; /* file of the authorities; NULL: those of the system */
    bool insecure, has_cert;
};

/* Reads all files. notes: as in tls_check, or NULL. Returns NULL with err. */
struct tls_context *tls_context_new(const struct tls_opts *o, struct buf *notes, struct err *e);
void tls_context_free(struct tls_context *c); /* NULL is allowed */

#endif
