/* Certificates for tests of TLS: two authorities and what they sign, as PEM files in a new
 * directory. Aborts when it cannot. One thread. */
#ifndef KPROF_TESTS_TLS_PKI_H
#define KPROF_TESTS_TLS_PKI_H

#include <stdbool.h>
#include <stddef.h>

struct tls_pki {
    char dir[64];
};

struct tls_pki_cert {
    const char *name;     /* NAME.pem and NAME.key */
    const char *subject;  /* common name; NULL: "kprof test" */
    const char *hosts;    /* "DNS:vm,IP:127.0.0.1"; NULL: none */
    int from_day, to_day; /* valid from and to, in days from now */
    bool other;           /* signed by the other authority */
    const char *password; /* of the key; NULL: none */
};

void tls_pki_make(struct tls_pki *p); /* ca.pem, other.pem, and their keys */
void tls_pki_add(const struct tls_pki *p, const struct tls_pki_cert *c);
/* The path of a file in the directory; the caller frees it. */
char *tls_pki_path(const struct tls_pki *p, const char *file);
void tls_pki_remove(const struct tls_pki *p);

#endif
