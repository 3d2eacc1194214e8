#include "tls_context.h"
#include "tls_failure.h"
#include "tls_file.h"
#include "tls_optfile.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10) /* a system call can read several records */

/* The files, and where each name is from. */
struct files {
    const char *ca, *cert, *key, *password;
    bool ca_given, cert_given, key_given; /* by an option; else by the optfile */
};

/* The password of the key, for OpenSSL. Without it, OpenSSL would ask on the terminal. */
struct secret {
    const char *password;
    bool asked;
};

static int give_password(char *out, int cap, int writing, void *arg)
{
    struct secret *s = arg;
    size_t n = s->password != NULL ? strlen(s->password) : 0;

    (void)writing;
    s->asked = true;
    if (n == 0 || n > (size_t)cap)
        return -1;
    memcpy(out, s->password, n);
    return (int)n;
}

static int readable(const char *file, const char *from, struct err *e)
{
    int fd = tls_file_open(file, from, "a PEM file", e);

    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : -1;
}

static const char *from(bool given, const char *option)
{
    return given ? option : "--tls-optfile";
}

/* A file was read, but OpenSSL does not accept its contents. */
static int refused(const char *file, const char *what, struct err *e)
{
    struct buf why;

    buf_init(&why, 200);
    tls_failure_reason(ERR_peek_last_error(), &why);
    ERR_clear_error();
    (void)err_set(e, "%.200s has no usable %s (PEM): %s", file, what, why.data);
    buf_release(&why);
    return -1;
}

static int load_ca(struct tls_context *c, const struct files *f, struct err *e)
{
    if (f->ca == NULL) {
        (void)SSL_CTX_set_default_verify_paths(c->ctx);
        return 0;
    }
    if (readable(f->ca, from(f->ca_given, "--tls-ca"), e) < 0)
        return -1;
    if (SSL_CTX_load_verify_locations(c->ctx, f->ca, NULL) != 1)
        return refused(f->ca, "certificate of a CA", e);
    c->ca = buf_dup(f->ca);
    /* Each certificate of the file is trusted, even if it is not a root. */
    X509_STORE_set_flags(SSL_CTX_get_cert_store(c->ctx), X509_V_FLAG_PARTIAL_CHAIN);
    return 0;
}

static int load_key(struct tls_context *c, const struct files *f, struct err *e)
{
    const char *key = f->key != NULL ? f->key : f->cert;
    struct secret s = {.password = f->password};
    int rc;

    if (readable(key,
                 from(f->key != NULL ? f->key_given : f->cert_given,
                      f->key != NULL ? "--tls-key" : "--tls-cert"),
                 e) < 0)
        return -1;
    SSL_CTX_set_default_passwd_cb(c->ctx, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(c->ctx, &s);
    rc = SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(c->ctx, NULL);
    SSL_CTX_set_default_passwd_cb(c->ctx, NULL);
    if (rc == 1)
        return 0;
    if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509)
        return err_set(e, "the key in %.200s is not the key of the certificate in %.200s", key,
                       f->cert);
    if (s.asked)
        return err_set(e,
                       "the key in %.200s is encrypted, and %s; set KPROF_TLS_PASSWORD, or "
                       "{password, \"...\"} in the file of --tls-optfile",
                       key, s.password != NULL ? "the password is wrong" : "there is no password");
    return refused(key, "key", e);
}

static int load_cert(struct tls_context *c, const struct files *f, struct err *e)
{
    if (f->cert == NULL && f->key != NULL)
        return err_set(e, "there is a key for TLS (%.200s), but no certificate; give --tls-cert",
                       f->key);
    if (f->cert == NULL)
        return 0;
    if (readable(f->cert, from(f->cert_given, "--tls-cert"), e) < 0)
        return -1;
    if (SSL_CTX_use_certificate_chain_file(c->ctx, f->cert) != 1)
        return refused(f->cert, "certificate", e);
    if (load_key(c, f, e) < 0)
        return -1;
    c->has_cert = true;
    return 0;
}

static int version_number(enum tls_version v)
{
    return v == TLS_VERSION_1_2 ? TLS1_2_VERSION : v == TLS_VERSION_1_3 ? TLS1_3_VERSION : 0;
}

static void set_up(struct tls_context *c, const struct tls_optfile *file)
{
    int first = version_number(file->first);

    (void)SSL_CTX_set_min_proto_version(c->ctx, first != 0 ? first : TLS1_2_VERSION);
    (void)SSL_CTX_set_max_proto_version(c->ctx, version_number(file->last));
    /* A node that dies sends no close_notify. The packets have lengths, so a truncation is noticed.
     */
    SSL_CTX_set_options(c->ctx,
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(c->ctx,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c->ctx, 1);
    SSL_CTX_set_default_read_buffer_len(c->ctx, READ_BYTES);
    if (file->depth >= 0)
        SSL_CTX_set_verify_depth(c->ctx, file->depth);
}

static void note(const struct tls_optfile *file, const struct tls_opts *o, struct buf *notes)
{
    if (file->unused.len > 0)
        buf_addf(notes, "kprof-top does not use these options of %.200s: %s", o->optfile,
                 file->unused.data);
    if (file->verify_none && !o->insecure)
        buf_addf(notes,
                 "%s%.200s has verify_none, but kprof-top verifies the node, unless --tls-insecure "
                 "is given",
                 notes->len > 0 ? "; " : "", o->optfile);
}

struct tls_context *tls_context_new(const struct tls_opts *o, struct buf *notes, struct err *e)
{
    struct tls_context *c = calloc(1, sizeof *c);
    struct tls_optfile file;
    const char *password = getenv("KPROF_TLS_PASSWORD");
    struct files f;
    int rc = -1;

    if (c == NULL)
        abort();
    ERR_clear_error();
    if (o->optfile == NULL)
        tls_optfile_init(&file);
    else if (tls_optfile_read(o->optfile, &file, e) < 0)
        goto out;
    f = (struct files){.ca = o->ca != NULL ? o->ca : file.ca,
                       .cert = o->cert != NULL ? o->cert : file.cert,
                       .password = file.password != NULL ? file.password : password,
                       .ca_given = o->ca != NULL,
                       .cert_given = o->cert != NULL,
                       .key_given = o->key != NULL};
    /* The key of another certificate would not fit. */
    f.key = o->key != NULL ? o->key : o->cert == NULL ? file.key : NULL;
    c->insecure = o->insecure;
    c->ctx = SSL_CTX_new(TLS_client_method());
    if (c->ctx == NULL) {
        (void)err_set(e, "cannot start OpenSSL: %s",
                      ERR_reason_error_string(ERR_peek_last_error()));
        goto out;
    }
    set_up(c, &file);
    rc = load_ca(c, &f, e) < 0 || load_cert(c, &f, e) < 0 ? -1 : 0;
    if (rc == 0 && o->optfile != NULL && notes != NULL)
        note(&file, o, notes);
out:
    tls_optfile_release(&file);
    if (rc < 0) {
        tls_context_free(c);
        c = NULL;
    }
    return c;
}

void tls_context_free(struct tls_context *c)
{
    if (c == NULL)
        return;
    SSL_CTX_free(c->ctx);
    free(c->ca);
    free(c);
}

int tls_check(const struct tls_opts *o, struct buf *notes, struct err *e)
{
    struct tls_context *c = o->on ? tls_context_new(o, notes, e) : NULL;
    int rc = o->on && c == NULL ? -1 : 0;

    tls_context_free(c);
    return rc;
}
