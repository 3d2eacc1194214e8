#include "tls_conn.h"
#include "net.h"
#include "tls_failure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct tls_conn {
    struct tls_context *context;
    BIO_METHOD *method;
    int fd;
    char host[256];

    short recv_events; /* of the receiver */
    short send_events; /* of the senders */

    pthread_mutex_t lock; /* protects the following fields */
    SSL *ssl;
    int broken;    /* errno value; 0: works */
    bool ended;    /* the node has ended the connection */
    int io_errno;  /* of the last call on the socket */
    bool io_ended; /* the socket has no more bytes */
    struct tls_failure failure;
};

/* ---- the socket, for OpenSSL. Its own BIO would raise SIGPIPE. ---- */

static int bio_read(BIO *b, char *out, int n)
{
    struct tls_conn *t = BIO_get_data(b);
    ssize_t got = recv(t->fd, out, (size_t)n, 0);

    BIO_clear_retry_flags(b);
    t->io_errno = got < 0 ? errno : 0;
    t->io_ended = got == 0;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(b);
    return (int)got;
}

static int bio_write(BIO *b, const char *in, int n)
{
    struct tls_conn *t = BIO_get_data(b);
    ssize_t sent = send(t->fd, in, (size_t)n, MSG_NOSIGNAL);

    BIO_clear_retry_flags(b);
    t->io_errno = sent < 0 ? errno : 0;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(b);
    return (int)sent;
}

static long bio_ctrl(BIO *b, int command, long number, void *arg)
{
    const struct tls_conn *t = BIO_get_data(b);

    (void)number;
    (void)arg;
    return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && t->io_ended);
}

/* ---- verification ---- */

static bool is_address(const char *host)
{
    struct in6_addr a;

    return inet_pton(AF_INET, host, &a) == 1 || inet_pton(AF_INET6, host, &a) == 1;
}

/* As in inet_tls_dist, the name is compared unchanged. A host that is an IP address may also be in
 * the certificate as an address. */
static bool is_for(X509 *cert, const char *host)
{
    return X509_check_host(cert, host, 0, 0, NULL) == 1 ||
           (is_address(host) && X509_check_ip_asc(cert, host, 0) == 1);
}

static int verify(int ok, X509_STORE_CTX *x)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_conn *t = SSL_get_app_data(ssl);
    X509 *cert = X509_STORE_CTX_get_current_cert(x);
    int depth = X509_STORE_CTX_get_error_depth(x);

    if (ok == 1 && depth == 0 && !is_for(cert, t->host)) {
        X509_STORE_CTX_set_error(x, X509_V_ERR_HOSTNAME_MISMATCH);
        ok = 0;
    }
    if (ok != 1 && t->failure.verify == X509_V_OK)
        tls_failure_certificate(&t->failure, cert, X509_STORE_CTX_get_error(x), depth);
    return ok;
}

/* The node asks for our certificate. */
static int on_asked(SSL *ssl, void *arg)
{
    struct tls_conn *t = SSL_get_app_data(ssl);

    (void)arg;
    t->failure.asked = true;
    return 1;
}

/* ---- results of OpenSSL ---- */

/* Handles a call that failed and returned `rc`. With the lock. 0: the node has ended the
 * connection, -EAGAIN: wait for *events; else the failure. */
static int failed(struct tls_conn *t, int rc, short *events)
{
    switch (SSL_get_error(t->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        *events = POLLIN;
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        *events = POLLOUT;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        t->ended = true;
        return 0;
    case SSL_ERROR_SYSCALL:
        if (t->io_errno != 0 || t->io_ended) {
            t->broken = t->io_errno != 0 ? t->io_errno : ECONNRESET;
            break;
        }
        __attribute__((fallthrough));
    default:
        t->failure.error = ERR_peek_error();
        t->broken = EPROTO;
    }
    ERR_clear_error();
    return -t->broken;
}

static void lock(struct tls_conn *t)
{
    pthread_mutex_lock(&t->lock);
    ERR_clear_error(); /* of this thread: OpenSSL would take old errors for new ones */
}

ssize_t tls_conn_recv(struct tls_conn *t, void *bytes, size_t n)
{
    size_t got = 0, once;
    int rc = 0;

    lock(t);
    while (t->broken == 0 && !t->ended && got < n) { /* a record holds at most 16 KiB */
        int ok = SSL_read_ex(t->ssl, (char *)bytes + got, n - got, &once);

        if (ok == 1) {
            got += once;
            continue;
        }
        rc = failed(t, ok, &t->recv_events);
        if (rc == -EAGAIN)
            break;
    }
    if (t->broken != 0)
        rc = -t->broken;
    pthread_mutex_unlock(&t->lock);
    return got > 0 ? (ssize_t)got : rc;
}

ssize_t tls_conn_send(struct tls_conn *t, const void *bytes, size_t n)
{
    size_t sent = 0;
    int rc = 0, ok;

    lock(t);
    if (t->broken != 0) {
        rc = -t->broken;
    } else {
        ok = SSL_write_ex(t->ssl, bytes, n, &sent);
        if (ok != 1)
            rc = failed(t, ok, &t->send_events);
        if (ok != 1 && rc == 0)
            rc = -EPIPE;
    }
    pthread_mutex_unlock(&t->lock);
    return rc == 0 ? (ssize_t)sent : rc;
}

short tls_conn_recv_events(const struct tls_conn *t)
{
    return t->recv_events;
}

short tls_conn_send_events(const struct tls_conn *t)
{
    return t->send_events;
}

void tls_conn_bye(struct tls_conn *t)
{
    lock(t);
    if (t->broken == 0)
        (void)SSL_shutdown(t->ssl); /* it may fail: the connection ends anyway */
    ERR_clear_error();
    pthread_mutex_unlock(&t->lock);
}

void tls_conn_why(struct tls_conn *t, struct buf *out)
{
    pthread_mutex_lock(&t->lock);
    tls_failure_text(&t->failure, out);
    pthread_mutex_unlock(&t->lock);
}

bool tls_conn_misses_cert(struct tls_conn *t)
{
    bool misses;

    pthread_mutex_lock(&t->lock);
    misses = t->failure.asked && !t->failure.has_cert;
    pthread_mutex_unlock(&t->lock);
    return misses;
}

/* ---- the handshake ---- */

static bool attach_socket(struct tls_conn *t)
{
    BIO *b;

    /* Uses no type index of its own (BIO_get_new_index): there are few of them, and reconnecting
     * would use them up. */
    t->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "kprof-top socket");
    if (t->method == NULL || BIO_meth_set_read(t->method, bio_read) != 1 ||
        BIO_meth_set_write(t->method, bio_write) != 1 ||
        BIO_meth_set_ctrl(t->method, bio_ctrl) != 1 || (b = BIO_new(t->method)) == NULL)
        return false;
    BIO_set_data(b, t);
    BIO_set_init(b, 1);
    SSL_set_bio(t->ssl, b, b);
    return true;
}

static bool prepare(struct tls_conn *t)
{
    t->ssl = SSL_new(t->context->ctx);
    if (t->ssl == NULL || !attach_socket(t))
        return false;
    SSL_set_app_data(t->ssl, t);
    SSL_set_connect_state(t->ssl);
    if (t->context->insecure)
        SSL_set_verify(t->ssl, SSL_VERIFY_NONE, NULL);
    else
        SSL_set_verify(t->ssl, SSL_VERIFY_PEER, verify);
    SSL_set_cert_cb(t->ssl, on_asked, NULL);
    return is_address(t->host) || SSL_set_tlsext_host_name(t->ssl, t->host) == 1;
}

/* 0, or a negative errno. */
static int shake(struct tls_conn *t, uint64_t deadline_ns)
{
    short events = 0;
    int rc, ok;

    for (;;) {
        lock(t);
        ok = SSL_do_handshake(t->ssl);
        rc = ok == 1 ? 1 : failed(t, ok, &events);
        pthread_mutex_unlock(&t->lock);
        if (rc == 1)
            return 0;
        if (rc == 0)
            return -ECONNRESET;
        if (rc == -EAGAIN)
            rc = net_wait(t->fd, events, deadline_ns);
        if (rc < 0)
            return rc;
    }
}

struct tls_conn *tls_conn_open(struct tls_context *c, int fd, const char *node, const char *host,
                               uint64_t deadline_ns, struct err *e)
{
    struct tls_conn *t = calloc(1, sizeof *t);
    struct buf why;
    int rc = -ENOMEM;

    if (t == NULL)
        abort();
    t->context = c;
    t->fd = fd;
    t->recv_events = POLLIN;
    t->send_events = POLLOUT;
    err_copy(t->host, sizeof t->host, host);
    t->failure = (struct tls_failure){.host = t->host, .ca = c->ca, .has_cert = c->has_cert};
    pthread_mutex_init(&t->lock, NULL);
    if (prepare(t))
        rc = shake(t, deadline_ns);
    if (rc == 0)
        return t;
    t->failure.timed_out = rc == -ETIMEDOUT;
    buf_init(&why, sizeof e->text);
    tls_failure_text(&t->failure, &why);
    (void)err_set(e, "cannot connect to %.100s over TLS: %s", node, why.data);
    buf_release(&why);
    tls_conn_free(t);
    return NULL;
}

void tls_conn_free(struct tls_conn *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl);
    BIO_meth_free(t->method);
    tls_context_free(t->context);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
