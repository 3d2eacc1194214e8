/* The connection to a node, which is hostile, and the file of TLS options. The first byte chooses
 * what the others are. */
#include "../../src/erl/conn_impl.h"
#include "../../src/erl/handshake.h"
#include "../../src/erl/net.h"
#include "../../src/erl/tls_conn.h"
#include "../../src/erl/tls_optfile.h"
#include "tls_pki.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 5000

enum what {
    WHAT_OPTFILE,   /* the file of --tls-optfile */
    WHAT_PLAIN,     /* what a node sends after the handshake */
    WHAT_HANDSHAKE, /* what a node sends in the handshake */
    WHAT_TLS,       /* what a node sends instead of a TLS handshake */
    WHAT_INSIDE,    /* what a node sends over TLS after the handshake */
    WHAT_SHAKE_TLS, /* what a node sends over TLS in the handshake */
    WHATS
};

struct setting {
    struct tls_pki pki;
    char *ca, *cert, *key;
};

/* The server of the connection over TLS: sends the bytes, then ends. */
struct server {
    const struct setting *setting;
    const uint8_t *bytes;
    size_t n;
    int fd;
    pthread_t thread;
};

static const struct setting *setting(void)
{
    static struct setting s; /* made once; the process removes it at its end */

    if (s.ca == NULL) {
        tls_pki_make(&s.pki);
        tls_pki_add(&s.pki, &(struct tls_pki_cert){
                                .name = "vm", .hosts = "DNS:vm", .from_day = -1, .to_day = 9});
        s.ca = tls_pki_path(&s.pki, "ca.pem");
        s.cert = tls_pki_path(&s.pki, "vm.pem");
        s.key = tls_pki_path(&s.pki, "vm.key");
    }
    return &s;
}

static void remove_setting(void)
{
    tls_pki_remove(&setting()->pki);
}

static void sockets(int fd[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0 ||
        fcntl(fd[0], F_SETFL, O_NONBLOCK) < 0)
        abort();
}

static void try_optfile(const uint8_t *bytes, size_t n)
{
    struct tls_optfile o;
    struct err e = {{0}};

    if (tls_optfile_parse((const char *)bytes, n, "f", &o, &e) < 0 && e.text[0] == 0)
        abort();
    if (memchr(o.unused.data, 0x1b, o.unused.len) != NULL || o.depth < -1 || o.depth > 100)
        abort();
    tls_optfile_release(&o);
}

static void receive_all(struct sock sock)
{
    struct conn *c = conn_new(sock, TIMEOUT_MS, 0x01020304, "app@vm", "us@vm");
    struct err e = {{0}};
    const uint8_t *p;
    size_t n;
    int rc;

    while ((rc = conn_recv(c, TIMEOUT_MS, &p, &n, &e)) == 1)
        if (n == 0 || *p != 131)
            abort();
    if (rc == 0 || e.text[0] == 0)
        abort(); /* the other side has ended */
    conn_close(c);
}

static void shake(struct sock sock)
{
    struct handshake s = {.sock = sock,
                          .node = "app@vm",
                          .alive = "us",
                          .our_host = "vm",
                          .our_name = "us@vm",
                          .replace = true,
                          .cookie = "c",
                          .deadline_ns = net_deadline(TIMEOUT_MS)};

    if (handshake_run(&s) == HANDSHAKE_OK) /* no input has the right digest */
        abort();
}

/* NULL: no TLS. */
static struct tls_conn *tls_over(int fd)
{
    struct tls_opts o = {.on = true, .ca = setting()->ca};
    struct err e = {{0}};
    struct tls_context *x = tls_context_new(&o, NULL, &e);
    struct tls_conn *t;

    if (x == NULL)
        abort();
    t = tls_conn_open(x, fd, "app@vm", "vm", net_deadline(TIMEOUT_MS), &e);
    if (t == NULL && e.text[0] == 0)
        abort();
    return t;
}

static void send_bytes(int fd, const uint8_t *bytes, size_t n)
{
    int size = 1 << 20;

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    (void)send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
}

static void try_plain(enum what what, const uint8_t *bytes, size_t n)
{
    struct sock sock = {.fd = -1};
    int fd[2];

    sockets(fd);
    sock.fd = fd[0];
    send_bytes(fd[1], bytes, n);
    if (what == WHAT_PLAIN) {
        receive_all(sock);
    } else if (what == WHAT_HANDSHAKE) {
        shake(sock);
    } else {
        sock.tls = tls_over(fd[0]);
        if (sock.tls != NULL)
            abort(); /* without the key of the authority */
        sock_close(&sock);
    }
    close(fd[1]);
}

static void *serve(void *arg)
{
    struct server *s = arg;
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SSL *ssl;
    size_t sent;
    char byte;

    if (SSL_CTX_use_certificate_file(ctx, s->setting->cert, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(ctx, s->setting->key, SSL_FILETYPE_PEM) != 1)
        abort();
    ssl = SSL_new(ctx);
    SSL_set_fd(ssl, s->fd);
    if (SSL_accept(ssl) != 1)
        abort();
    if (s->n > 0)
        (void)SSL_write_ex(ssl, s->bytes, s->n, &sent);
    (void)SSL_shutdown(ssl);
    shutdown(s->fd, SHUT_WR);
    while (recv(s->fd, &byte, 1, 0) > 0)
        ;
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    close(s->fd);
    return NULL;
}

static void try_inside(enum what what, const uint8_t *bytes, size_t n)
{
    struct server s = {.setting = setting(), .bytes = bytes, .n = n};
    struct sock sock;
    int fd[2];

    sockets(fd);
    s.fd = fd[1];
    if (pthread_create(&s.thread, NULL, serve, &s) != 0)
        abort();
    sock = (struct sock){.fd = fd[0], .tls = tls_over(fd[0])};
    if (sock.tls == NULL)
        abort();
    if (what == WHAT_INSIDE)
        receive_all(sock);
    else
        shake(sock);
    pthread_join(s.thread, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    (void)setting();
    (void)signal(SIGPIPE, SIG_IGN); /* the server's own BIO raises it */
    return atexit(remove_setting);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum what what = size > 0 ? (enum what)(data[0] % WHATS) : WHAT_OPTFILE;
    uint8_t *copy;
    size_t n;

    if (size == 0)
        return 0;
    n = size - 1;
    copy = malloc(n > 0 ? n : 1); /* exact size: a read past the end is detected */
    if (copy == NULL)
        abort();
    memcpy(copy, data + 1, n);
    if (what == WHAT_OPTFILE)
        try_optfile(copy, n);
    else if (what == WHAT_INSIDE || what == WHAT_SHAKE_TLS)
        try_inside(what, copy, n);
    else
        try_plain(what, copy, n);
    free(copy);
    return 0;
}
