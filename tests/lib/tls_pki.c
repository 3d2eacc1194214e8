#include "tls_pki.h"

#include <dirent.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_S 86400

static void need(bool ok)
{
    if (!ok)
        abort();
}

char *tls_pki_path(const struct tls_pki *p, const char *file)
{
    char *path;

    need(asprintf(&path, "%s/%s", p->dir, file) > 0);
    return path;
}

static FILE *open_file(const struct tls_pki *p, const char *name, const char *ending,
                       const char *mode)
{
    char *file, *path;
    FILE *f;

    need(asprintf(&file, "%s.%s", name, ending) > 0);
    path = tls_pki_path(p, file);
    f = fopen(path, mode);
    need(f != NULL);
    free(file);
    free(path);
    return f;
}

static void write_files(const struct tls_pki *p, const char *name, X509 *x, EVP_PKEY *key,
                        const char *password)
{
    FILE *f = open_file(p, name, "pem", "we");

    need(PEM_write_X509(f, x) == 1);
    fclose(f);
    f = open_file(p, name, "key", "we");
    need(PEM_write_PrivateKey(f, key, password != NULL ? EVP_aes_128_cbc() : NULL,
                              (const unsigned char *)password,
                              password != NULL ? (int)strlen(password) : 0, NULL, NULL) == 1);
    fclose(f);
}

static void extend(X509 *x, int nid, const char *value)
{
    X509V3_CTX c;
    X509_EXTENSION *e;

    X509V3_set_ctx_nodb(&c);
    X509V3_set_ctx(&c, x, x, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &c, nid, value);
    need(e != NULL && X509_add_ext(x, e, -1) == 1);
    X509_EXTENSION_free(e);
}

static X509 *certificate(const char *subject, EVP_PKEY *key, int from_day, int to_day)
{
    X509 *x = X509_new();
    uint32_t serial; /* OpenSSL compares issuer and serial number */

    need(RAND_bytes((unsigned char *)&serial, sizeof serial) == 1);
    need(x != NULL && X509_set_version(x, 2) == 1);
    need(ASN1_INTEGER_set(X509_get_serialNumber(x), serial) == 1);
    need(X509_gmtime_adj(X509_getm_notBefore(x), (long)from_day * DAY_S) != NULL);
    need(X509_gmtime_adj(X509_getm_notAfter(x), (long)to_day * DAY_S) != NULL);
    need(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                                    (const unsigned char *)subject, -1, -1, 0) == 1);
    need(X509_set_pubkey(x, key) == 1);
    return x;
}

static void add_authority(const struct tls_pki *p, const char *name, const char *subject)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = certificate(subject, key, -1, 100);

    need(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1);
    extend(x, NID_basic_constraints, "critical,CA:TRUE");
    need(X509_sign(x, key, EVP_sha256()) > 0);
    write_files(p, name, x, key, NULL);
    X509_free(x);
    EVP_PKEY_free(key);
}

void tls_pki_make(struct tls_pki *p)
{
    snprintf(p->dir, sizeof p->dir, "/tmp/kprof_tls_XXXXXX");
    need(mkdtemp(p->dir) != NULL);
    add_authority(p, "ca", "kprof test authority");
    add_authority(p, "other", "another authority");
}

void tls_pki_add(const struct tls_pki *p, const struct tls_pki_cert *c)
{
    const char *by = c->other ? "other" : "ca";
    EVP_PKEY *key = EVP_EC_gen("P-256"), *ca_key;
    X509 *x = certificate(c->subject != NULL ? c->subject : "kprof test", key, c->from_day,
                          c->to_day),
         *ca;
    FILE *f = open_file(p, by, "pem", "re");

    ca = PEM_read_X509(f, NULL, NULL, NULL);
    fclose(f);
    f = open_file(p, by, "key", "re");
    ca_key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
    fclose(f);
    need(ca != NULL && ca_key != NULL);
    need(X509_set_issuer_name(x, X509_get_subject_name(ca)) == 1);
    if (c->hosts != NULL)
        extend(x, NID_subject_alt_name, c->hosts);
    need(X509_sign(x, ca_key, EVP_sha256()) > 0);
    write_files(p, c->name, x, key, c->password);
    X509_free(x);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
}

void tls_pki_remove(const struct tls_pki *p)
{
    DIR *d = opendir(p->dir);

    need(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    (void)rmdir(p->dir);
}
