/* Reads the file of a node's -ssl_dist_optfile: [{client,[{cacertfile,"ca.pem"},...]},
 * {server,[...]}]. The options of `client` count; those of `server` if there is no `client`. For
 * src/erl only.
 *
 * Invariant: accepts any bytes, at most TLS_OPTFILE_BYTES. The node evaluates the file as an
 * expression; this unit evaluates nothing: an option that it uses must have a constant as value.
 * Options without effect on a client are skipped, all others that it does not use are named in
 * `unused`. No error contains a value. Any thread. */
#ifndef KPROF_ERL_TLS_OPTFILE_H
#define KPROF_ERL_TLS_OPTFILE_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <stdbool.h>
#include <stddef.h>

#define TLS_OPTFILE_BYTES ((size_t)256 << 10)

enum tls_version { TLS_VERSION_ANY, TLS_VERSION_1_2, TLS_VERSION_1_3 };

struct tls_optfile {
    char *ca, *cert, *key;        /* file names; NULL: not given */
    char *password;               /* of the key; NULL: not given */
    int depth;                    /* maximum number of intermediate certificates; -1: not given */
    enum tls_version first, last; /* allowed versions */
    bool verify_none;             /* the node itself would not verify its peers */
    bool of_server;               /* these are the options of `server` */
    struct buf unused;            /* names, printable: "ciphers, crl_check" */
};

void tls_optfile_init(struct tls_optfile *o); /* no option is given */
/* file: the name for errors. Fills out in any case; the caller frees it with tls_optfile_release.
 * Returns 0, or -1 with err ("FILE:LINE:COLUMN: what is wrong"). */
int tls_optfile_parse(const char *text, size_t n, const char *file, struct tls_optfile *out,
                      struct err *e);
/* The same with the bytes of the file. */
int tls_optfile_read(const char *file, struct tls_optfile *out, struct err *e);
void tls_optfile_release(struct tls_optfile *o); /* wipes the password */

#endif
