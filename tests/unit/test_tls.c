/* erl/tls_conn, erl/tls_context and erl/conn over TLS: with a server of OpenSSL in a thread, over
 * TCP on 127.0.0.1, with certificates made for the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/erl/conn_impl.h"
#include "../../src/erl/net.h"
#include "../../src/erl/tls_conn.h"
#include "tls_pki.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define PASSWORD    "kprof-key-password"

static struct tls_pki pki;

/* ---- the server ---- */

enum conduct {
    CONDUCT_TLS,     /* handshakes, then waits for the end */
    CONDUCT_STREAM,  /* and sends messages while it receives */
    CONDUCT_RESET,   /* sends one message, then resets the connection */
    CONDUCT_CLOSE,   /* sends one message, then ends TLS and the connection */
    CONDUCT_DEAF,    /* does not read after the handshake */
    CONDUCT_SILENT,  /* no TLS: it reads, and answers nothing */
    CONDUCT_GARBAGE, /* no TLS: text */
    CONDUCT_HANG_UP  /* closes at once */
};

#define MESSAGES 20000u
#define SENT     3000u

struct server {
    const char *cert; /* name of its certificate */
    const char *asks; /* authority of the certificate that it requires; NULL: none */
    const char *ciphers;
    int version; /* 0: any */
    enum conduct conduct;
    int fd;
    pthread_t thread;
};

static SSL_CTX *server_context(const struct server *s)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    char file[64];
    char *path;

    snprintf(file, sizeof file, "%s.pem", s->cert);
    path = tls_pki_path(&pki, file);
    if (SSL_CTX_use_certificate_chain_file(ctx, path) != 1)
        abort();
    free(path);
    snprintf(file, sizeof file, "%s.key", s->cert);
    path = tls_pki_path(&pki, file);
    if (SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM) != 1)
        abort();
    free(path);
    if (s->asks != NULL) {
        path = tls_pki_path(&pki, s->asks);
        if (SSL_CTX_load_verify_locations(ctx, path, NULL) != 1)
            abort();
        free(path);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    if (s->version != 0) {
        SSL_CTX_set_min_proto_version(ctx, s->version);
        SSL_CTX_set_max_proto_version(ctx, s->version);
    }
    SSL_CTX_set_num_tickets(ctx, 0); /* as a node */
    return ctx;
}

/* A message of the distribution to a pid of this node: the number. */
static void frame(struct buf *b, uint64_t n)
{
    static const uint8_t pid[] = {88, 119, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
    size_t start = b->len, length;

    buf_add(b, "\0\0\0\0p", 5);
    enc_version(b);
    enc_tuple(b, 3);
    enc_i64(b, 2);
    enc_atom(b, "");
    buf_add(b, pid, sizeof pid);
    enc_version(b);
    enc_u64(b, n);
    length = b->len - start - 4;
    for (int i = 0; i < 4; i++)
        b->data[start + (size_t)i] = (char)(length >> (24 - 8 * i));
}

static void drain(int fd)
{
    char bytes[4096];

    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
}

/* The messages in the received bytes, which come in any pieces; ticks do not count. */
struct counter {
    uint8_t head[4];
    size_t n_head, rest; /* bytes of a length; bytes missing of the message */
    unsigned messages;
};

static void count(struct counter *c, const char *bytes, size_t n)
{
    while (n > 0) {
        if (c->rest > 0) {
            size_t k = n < c->rest ? n : c->rest;

            bytes += k;
            n -= k;
            c->rest -= k;
            c->messages += c->rest == 0;
            continue;
        }
        c->head[c->n_head++] = (uint8_t)*bytes++;
        n--;
        if (c->n_head == 4) {
            c->rest = (size_t)c->head[2] << 8 | c->head[3];
            c->n_head = 0;
        }
    }
}

/* Sends all messages in odd pieces, changes keys now and then, and reads all the time. */
static void stream(struct server *s, SSL *ssl)
{
    struct counter got = {.messages = 0};
    struct buf out;
    size_t sent = 0;
    bool last = false;
    char in[5000];

    buf_init(&out, 0);
    for (uint64_t i = 0; i < MESSAGES; i++)
        frame(&out, i);
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    for (unsigned turn = 0;; turn++) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        size_t n = 1 + (turn * 7919u) % 3000u, left = out.len - sent, done;

        ERR_clear_error();
        if (turn % 50 == 0 && SSL_version(ssl) == TLS1_3_VERSION)
            (void)SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
        if (left > 0 && SSL_write_ex(ssl, out.data + sent, n < left ? n : left, &done) == 1)
            sent += done;
        ERR_clear_error();
        if (SSL_read_ex(ssl, in, sizeof in, &done) == 1) {
            count(&got, in, done);
            continue;
        }
        if (got.messages == SENT && !last)
            frame(&out, MESSAGES);
        last = got.messages == SENT;
        if (SSL_get_error(ssl, 0) != SSL_ERROR_WANT_READ &&
            SSL_get_error(ssl, 0) != SSL_ERROR_WANT_WRITE)
            break; /* the other side has ended the connection */
        if (sent == out.len || turn % 3 == 0)
            (void)poll(&p, 1, sent == out.len ? 100 : 1);
    }
    buf_release(&out);
}

static void reset(int fd)
{
    struct linger l = {.l_onoff = 1, .l_linger = 0};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

static void talk(struct server *s, SSL *ssl)
{
    struct buf b;
    size_t n;
    char byte;

    buf_init(&b, 0);
    frame(&b, 1);
    if (s->conduct == CONDUCT_STREAM) {
        stream(s, ssl);
    } else if (s->conduct == CONDUCT_RESET || s->conduct == CONDUCT_CLOSE) {
        (void)SSL_write_ex(ssl, b.data, b.len, &n);
        (void)SSL_read_ex(ssl, &byte, 1, &n); /* until the client has received it */
        if (s->conduct == CONDUCT_RESET)
            reset(s->fd);
        else
            (void)SSL_shutdown(ssl);
    } else if (s->conduct == CONDUCT_DEAF) {
        struct pollfd p = {.fd = s->fd, .events = 0};
        (void)poll(&p, 1, PATIENCE_MS);
    } else {
        while (SSL_read_ex(ssl, &byte, 1, &n) == 1)
            ;
    }
    buf_release(&b);
}

static void *serve(void *arg)
{
    struct server *s = arg;
    SSL_CTX *ctx;
    SSL *ssl;

    signal(SIGPIPE, SIG_DFL);
    if (s->conduct == CONDUCT_SILENT) {
        drain(s->fd);
    } else if (s->conduct == CONDUCT_GARBAGE) {
        (void)send(s->fd, "220 welcome to ftp\r\n", 20, MSG_NOSIGNAL);
        drain(s->fd);
    } else if (s->conduct != CONDUCT_HANG_UP) {
        ctx = server_context(s);
        ssl = SSL_new(ctx);
        SSL_set_fd(ssl, s->fd);
        if (SSL_accept(ssl) == 1)
            talk(s, ssl);
        else
            shutdown(s->fd, SHUT_WR);
        SSL_free(ssl);
        SSL_CTX_free(ctx);
    }
    close(s->fd);
    return NULL;
}

/* A connected pair over TCP; the first is non-blocking. */
static void tcp_pair(int fd[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &n), 0);
    fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd[0], (struct sockaddr *)&a, sizeof a), 0);
    fd[1] = accept(listener, NULL, NULL);
    assert_true(fd[1] >= 0);
    assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
    close(listener);
}

static int start(struct server *s)
{
    int fd[2];

    tcp_pair(fd);
    s->fd = fd[1];
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
    return fd[0];
}

/* ---- the client ---- */

struct client {
    const char *ca, *cert, *key, *host; /* files in the directory; NULL: none */
    bool insecure;
    int timeout_ms; /* 0: PATIENCE_MS */
};

/* NULL: e has the sentence. The socket is closed with the connection, or at once. */
static struct tls_conn *connect_as(const struct client *c, int fd, struct err *e)
{
    char *ca = c->ca != NULL ? tls_pki_path(&pki, c->ca) : NULL;
    char *cert = c->cert != NULL ? tls_pki_path(&pki, c->cert) : NULL;
    char *key = c->key != NULL ? tls_pki_path(&pki, c->key) : NULL;
    struct tls_opts o = {.on = true, .insecure = c->insecure, .ca = ca, .cert = cert, .key = key};
    struct tls_context *x = tls_context_new(&o, NULL, e);
    struct tls_conn *t = NULL;

    if (x != NULL)
        t = tls_conn_open(x, fd, "app@vm", c->host != NULL ? c->host : "vm",
                          net_deadline(c->timeout_ms != 0 ? c->timeout_ms : PATIENCE_MS), e);
    if (t == NULL)
        close(fd);
    free(ca);
    free(cert);
    free(key);
    return t;
}

static const struct client usual = {.ca = "ca.pem", .cert = "ours.pem", .key = "ours.key"};

static struct conn *open_conn(struct server *s, int timeout_ms)
{
    struct err e;
    int fd = start(s);
    struct tls_conn *t = connect_as(&usual, fd, &e);

    if (t == NULL)
        fail_msg("%s", e.text);
    return conn_new((struct sock){.fd = fd, .tls = t}, timeout_ms, 0x01020304, "app@vm", "us@vm");
}

static void refused(struct server *s, const struct client *c, const char *what)
{
    struct err e = {{0}};
    struct tls_conn *t = connect_as(c, start(s), &e);

    assert_null(t);
    pthread_join(s->thread, NULL);
    if (strstr(e.text, "cannot connect to app@vm over TLS: ") != e.text ||
        strstr(e.text, what) == NULL)
        fail_msg("not '%s': %s", what, e.text);
}

static void accepted(struct server *s, const struct client *c)
{
    struct err e = {{0}};
    int fd = start(s);
    struct sock sock = {.fd = fd, .tls = connect_as(c, fd, &e)};

    if (sock.tls == NULL)
        fail_msg("%s", e.text);
    sock_close(&sock);
    pthread_join(s->thread, NULL);
}

/* ---- verification ---- */

static void the_right_node_is_accepted(void **state)
{
    static const struct {
        const char *cert, *host;
    } cases[] = {{"vm", "vm"},         {"vm", "127.0.0.1"},
                 {"by_name", "vm"},    {"wild", "a.example.org"},
                 {"text", "10.0.0.1"}, {"six", "::1"}};
    const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 2; k++) {
            struct server s = {.cert = cases[i].cert, .version = versions[k], .asks = "ca.pem"};
            struct client c = usual;

            c.host = cases[i].host;
            accepted(&s, &c);
        }
}

static void another_one_is_refused(void **state)
{
    static const struct {
        const char *cert, *host, *ca, *what;
    } cases[] = {
        {"vm", "vm2", "ca.pem", "is for vm, 127.0.0.1, not for vm2"},
        {"vm", "127.0.0.2", "ca.pem", "not for 127.0.0.2"},
        {"wild", "a.b.example.org", "ca.pem", "is for *.example.org, not"},
        {"hostile", "vm", "ca.pem", "is for ?[31m"},
        {"expired", "vm", "ca.pem", "its certificate expired on 2"},
        {"early", "vm", "ca.pem", "valid only from 2"},
        {"vm", "vm", "other.pem", "not signed by a CA in /tmp/kprof_tls_"},
        {"vm", "vm", NULL, "CA that this machine trusts"},
    };
    const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 2; k++) {
            struct server s = {.cert = cases[i].cert, .version = versions[k]};
            struct client c = {.ca = cases[i].ca, .host = cases[i].host};

            refused(&s, &c, cases[i].what);
            c.insecure = true;
            accepted(&s, &c);
        }
}

static void a_certificate_can_be_trusted_itself(void **state)
{
    struct server s = {.cert = "vm"};
    struct client c = {.ca = "vm.pem"};

    (void)state;
    accepted(&s, &c);
}

/* With TLS 1.3 the server checks it after the handshake. */
static void our_certificate_is_missing_or_wrong(void **state)
{
    static const struct {
        const char *cert, *key, *what;
    } cases[] = {{NULL, NULL, "it requires a certificate of kprof-top; give --tls-cert"},
                 {"stranger.pem", "stranger.key", "the node does not know its CA"},
                 {"expired.pem", "expired.key", "it has expired"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server s = {.cert = "vm", .asks = "ca.pem", .version = TLS1_2_VERSION};
        struct client c = {.ca = "ca.pem", .cert = cases[i].cert, .key = cases[i].key};
        struct err e;
        struct buf why;
        char byte;
        int fd;

        refused(&s, &c, cases[i].what);
        s.version = TLS1_3_VERSION;
        fd = start(&s);
        struct sock sock = {.fd = fd, .tls = connect_as(&c, fd, &e)};
        assert_non_null(sock.tls);
        assert_int_equal(sock_recv_full(&sock, &byte, 1, net_deadline(PATIENCE_MS)), -EPROTO);
        buf_init(&why, 0);
        sock_why(&sock, &why);
        if (strstr(why.data, cases[i].what) == NULL)
            fail_msg("not '%s': %s", cases[i].what, why.data);
        buf_release(&why);
        sock_close(&sock);
        pthread_join(s.thread, NULL);
    }
}

static void old_versions_are_refused(void **state)
{
    struct server s = {.cert = "vm", .version = TLS1_1_VERSION};

    (void)state;
    refused(&s, &usual, "it has no version of TLS in common with kprof-top");
}

static void servers_without_tls(void **state)
{
    static const struct {
        enum conduct conduct;
        const char *what;
    } cases[] = {{CONDUCT_SILENT, "or its port is a plain one"},
                 {CONDUCT_GARBAGE, "its answer is not TLS"},
                 {CONDUCT_HANG_UP, ""}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server s = {.conduct = cases[i].conduct};
        struct client c = usual;

        c.timeout_ms = cases[i].conduct == CONDUCT_SILENT ? 300 : PATIENCE_MS;
        refused(&s, &c, cases[i].what);
    }
}

/* ---- files ---- */

static void bad(const struct client *c, const char *what)
{
    struct err e = {{0}};

    assert_null(connect_as(c, dup(0), &e));
    if (strstr(e.text, what) == NULL)
        fail_msg("not '%s': %s", what, e.text);
    assert_null(strstr(e.text, PASSWORD));
}

static void files_that_cannot_be_used(void **state)
{
    (void)state;
    bad(&(struct client){.ca = "none.pem"}, "none.pem (from --tls-ca): No such file");
    bad(&(struct client){.ca = "vm.key"}, "no usable certificate of a CA");
    bad(&(struct client){.cert = "vm.key"}, "no usable certificate (PEM)");
    bad(&(struct client){.cert = "vm.pem"}, "no usable key (PEM)");
    bad(&(struct client){.cert = "vm.pem", .key = "none"}, "none (from --tls-key): No such file");
    bad(&(struct client){.cert = "vm.pem", .key = "ours.key"}, "is not the key of the certificate");
    bad(&(struct client){.key = "ours.key"}, "no certificate; give --tls-cert");
}

static void the_password_of_the_key(void **state)
{
    struct server s = {.cert = "vm", .asks = "ca.pem"};
    struct client c = {.ca = "ca.pem", .cert = "locked.pem", .key = "locked.key"};

    (void)state;
    bad(&c, "is encrypted, and there is no password; set KPROF_TLS_PASSWORD");
    setenv("KPROF_TLS_PASSWORD", "wrong", 1);
    bad(&c, "is encrypted, and the password is wrong");
    setenv("KPROF_TLS_PASSWORD", PASSWORD, 1);
    accepted(&s, &c);
    unsetenv("KPROF_TLS_PASSWORD");
}

static void notes_of_the_optfile(void **state)
{
    char *path = tls_pki_path(&pki, "dist.conf");
    FILE *f = fopen(path, "we");
    struct tls_opts o = {.on = true, .optfile = path};
    struct buf notes;
    struct err e;

    (void)state;
    fprintf(f,
            "[{client,[{cacertfile,\"%s/ca.pem\"},{certfile,\"%s/locked.pem\"},"
            "{keyfile,\"%s/locked.key\"},{password,\"" PASSWORD
            "\"},{verify,verify_none},{crl_check,peer}]}].\n",
            pki.dir, pki.dir, pki.dir);
    fclose(f);
    buf_init(&notes, 0);
    if (tls_check(&o, &notes, &e) < 0)
        fail_msg("%s", e.text);
    assert_non_null(strstr(notes.data, "does not use these options of"));
    assert_non_null(strstr(notes.data, ": crl_check; "));
    assert_non_null(strstr(notes.data, "has verify_none"));
    assert_null(strstr(notes.data, PASSWORD));
    buf_release(&notes);
    unlink(path);
    assert_int_equal(tls_check(&o, &notes, &e), -1);
    o.on = false;
    assert_int_equal(tls_check(&o, &notes, &e), 0);
    free(path);
}

/* ---- the connection ---- */

static void expect_number(struct conn *c, uint64_t want)
{
    const uint8_t *p;
    struct etf in;
    struct err e;
    uint64_t got;
    size_t n;
    int rc = conn_recv(c, PATIENCE_MS, &p, &n, &e);

    if (rc != 1)
        fail_msg("recv: %d %s", rc, rc < 0 ? e.text : "");
    etf_init(&in, p, n);
    assert_true(etf_version(&in) && etf_u64(&in, &got));
    if (got != want)
        fail_msg("%llu, wanted %llu", (unsigned long long)got, (unsigned long long)want);
}

static void *send_many(void *arg)
{
    struct conn *c = arg;
    struct err e;

    for (unsigned i = 0; i < SENT; i++)
        if (conn_send_name(c, "rex", "\x83j", 2, &e) < 0)
            return (void *)1;
    return NULL;
}

/* One thread sends while the other one receives, and the server changes the keys. */
static void both_directions_at_once(void **state)
{
    const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct server s = {.cert = "vm", .version = versions[k], .conduct = CONDUCT_STREAM};
        struct conn *c = open_conn(&s, PATIENCE_MS);
        pthread_t sender;
        void *result;

        assert_int_equal(pthread_create(&sender, NULL, send_many, c), 0);
        for (uint64_t i = 0; i <= MESSAGES; i++) /* the last one when it has received all */
            expect_number(c, i);
        pthread_join(sender, &result);
        assert_null(result);
        conn_close(c);
        pthread_join(s.thread, NULL);
    }
}

static void *receive(void *arg)
{
    const uint8_t *p;
    struct err e;
    size_t n;
    intptr_t rc = conn_recv(arg, 10 * PATIENCE_MS, &p, &n, &e);

    return (void *)(rc == -1 && strstr(e.text, "was closed") != NULL ? (intptr_t)1 : (intptr_t)0);
}

static void shutdown_wakes_the_receiver(void **state)
{
    struct server s = {.cert = "vm"};
    struct conn *c = open_conn(&s, PATIENCE_MS);
    pthread_t receiver;
    struct err e;
    void *told;

    (void)state;
    assert_int_equal(pthread_create(&receiver, NULL, receive, c), 0);
    usleep(20000); /* usually it waits by now; it must wake in any case */
    conn_shutdown(c);
    pthread_join(receiver, &told);
    assert_non_null(told);
    assert_int_equal(conn_send_name(c, "rex", "\x83j", 2, &e), -1);
    assert_non_null(strstr(e.text, "was closed"));
    conn_close(c);
    pthread_join(s.thread, NULL);
}

/* A signal would end the test. */
static void the_node_goes_away(void **state)
{
    const enum conduct conducts[] = {CONDUCT_RESET, CONDUCT_CLOSE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct server s = {.cert = "vm", .conduct = conducts[i]};
        struct conn *c = open_conn(&s, PATIENCE_MS);
        uint64_t end = clock_mono_ns() + (uint64_t)PATIENCE_MS * 1000000u;
        const uint8_t *p;
        struct err e;
        size_t n;

        expect_number(c, 1);
        if (conn_send_name(c, "rex", "\x83j", 2, &e) < 0) /* it has two parts */
            assert_non_null(strstr(e.text, "lost app@vm: it closed the connection"));
        assert_int_equal(conn_recv(c, PATIENCE_MS, &p, &n, &e), -1);
        assert_non_null(strstr(e.text, "lost app@vm: it closed the connection"));
        while (conn_send_name(c, "rex", "\x83j", 2, &e) == 0)
            assert_true(clock_mono_ns() < end);
        assert_non_null(strstr(e.text, "lost app@vm: "));
        assert_int_equal(conn_recv(c, PATIENCE_MS, &p, &n, &e), -1);
        pthread_join(s.thread, NULL);
        conn_close(c);
    }
}

/* The node reads nothing: sending ends after the time-out, and the connection with it. */
static void the_node_accepts_nothing(void **state)
{
    struct server s = {.cert = "vm", .conduct = CONDUCT_DEAF};
    struct conn *c = open_conn(&s, 200);
    size_t n = (size_t)1 << 20;
    char *term = calloc(1, n);
    struct err e;
    int rc = 0;

    (void)state;
    assert_non_null(term);
    term[0] = (char)131;
    for (int i = 0; i < 200 && rc == 0; i++)
        rc = conn_send_name(c, "rex", term, n, &e);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(e.text, "accepted no data for 200 ms"));
    assert_int_equal(conn_send_name(c, "rex", "\x83j", 2, &e), -1);
    conn_close(c);
    shutdown(s.fd, SHUT_RDWR); /* ends the server */
    pthread_join(s.thread, NULL);
    free(term);
}

static int set_up(void **state)
{
    static const struct tls_pki_cert certs[] = {
        {.name = "vm", .hosts = "DNS:vm,IP:127.0.0.1", .from_day = -1, .to_day = 9},
        {.name = "by_name", .subject = "vm", .from_day = -1, .to_day = 9},
        {.name = "wild", .hosts = "DNS:*.example.org", .from_day = -1, .to_day = 9},
        {.name = "text", .hosts = "DNS:10.0.0.1", .from_day = -1, .to_day = 9},
        {.name = "six", .hosts = "IP:::1", .from_day = -1, .to_day = 9},
        {.name = "hostile", .subject = "\x1b[31m", .from_day = -1, .to_day = 9},
        {.name = "expired", .hosts = "DNS:vm", .from_day = -9, .to_day = -1},
        {.name = "early", .hosts = "DNS:vm", .from_day = 1, .to_day = 9},
        {.name = "ours", .from_day = -1, .to_day = 9},
        {.name = "locked", .from_day = -1, .to_day = 9, .password = PASSWORD},
        {.name = "stranger", .from_day = -1, .to_day = 9, .other = true},
    };

    (void)state;
    tls_pki_make(&pki);
    for (size_t i = 0; i < sizeof certs / sizeof *certs; i++)
        tls_pki_add(&pki, &certs[i]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tls_pki_remove(&pki);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_node_is_accepted),
        cmocka_unit_test(another_one_is_refused),
        cmocka_unit_test(a_certificate_can_be_trusted_itself),
        cmocka_unit_test(our_certificate_is_missing_or_wrong),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(servers_without_tls),
        cmocka_unit_test(files_that_cannot_be_used),
        cmocka_unit_test(the_password_of_the_key),
        cmocka_unit_test(notes_of_the_optfile),
        cmocka_unit_test(both_directions_at_once),
        cmocka_unit_test(shutdown_wakes_the_receiver),
        cmocka_unit_test(the_node_goes_away),
        cmocka_unit_test(the_node_accepts_nothing),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
