/* erl/conn: with real nodes, with listeners that are not nodes, and over a socket pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/erl/conn_impl.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <kprof/erl/term.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COOKIE  "conn-test-cookie"
#define WRONG   "conn-test-wrong-cookie"
#define SECONDS UINT64_C(1000000000)

/* ---- nodes ---- */

struct node {
    pid_t pid;
    char name[128]; /* name@host */
};

static void start_node(struct node *n, const char *tag, const char *host)
{
    char name[64];

    snprintf(name, sizeof name, "kp_erl_%s_%ld", tag, (long)getpid());
    snprintf(n->name, sizeof n->name, "%s@%s", name, host);
    n->pid = fork();
    assert_true(n->pid >= 0);
    if (n->pid == 0) {
        int null = open("/dev/null", O_RDWR);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2); /* the node reports refused cookies there */
        if (strchr(host, '.') != NULL)
            execlp("erl", "erl", "-noinput", "-name", n->name, "-setcookie", COOKIE, (char *)NULL);
        else
            execlp("erl", "erl", "-noinput", "-sname", name, "-setcookie", COOKIE, "-kernel",
                   "net_ticktime", "4", (char *)NULL);
        _exit(127);
    }
}

static void kill_node(struct node *n)
{
    if (n->pid <= 0)
        return;
    kill(n->pid, SIGKILL);
    waitpid(n->pid, NULL, 0);
    n->pid = 0;
}

static enum conn_fail open_to(struct conn **c, const struct conn_opts *o, struct err *e)
{
    const char *cookie = o->to.cookie;
    enum conn_fail fail;

    e->text[0] = 0;
    fail = conn_open(c, o, e);
    assert_int_equal(fail == CONN_OK, *c != NULL);
    assert_int_equal(fail == CONN_OK, e->text[0] == 0);
    assert_null(strstr(e->text, cookie));
    return fail;
}

/* The node may not have seen yet that an earlier connection of this test has ended. */
static enum conn_fail open_as(struct conn **c, const char *node, const char *cookie, int timeout_ms,
                              struct err *e)
{
    struct conn_opts o = {
        .to = {.node = node, .cookie = cookie}, .returning = true, .timeout_ms = timeout_ms};

    return open_to(c, &o, e);
}

/* A node needs some time to start. */
static struct conn *open_soon(const struct node *n)
{
    uint64_t end = clock_mono_ns() + 120 * SECONDS;
    struct conn *c = NULL;
    struct err e;

    while (open_as(&c, n->name, COOKIE, 3000, &e) != CONN_OK) {
        if (clock_mono_ns() > end)
            fail_msg("%s", e.text);
        usleep(20000);
    }
    return c;
}

static struct node short_node, long_node;

static int set_up(void **state)
{
    char host[256] = "";

    (void)state;
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = 0;
    start_node(&short_node, "short", host);
    start_node(&long_node, "long", "127.0.0.1");
    conn_close(open_soon(&short_node));
    conn_close(open_soon(&long_node));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kill_node(&short_node);
    kill_node(&long_node);
    return 0;
}

/* ---- rpc ---- */

static void send_call(struct conn *c, const char *m, const char *f, const struct buf *args)
{
    struct buf b;
    struct err e;

    buf_init(&b, 0);
    enc_version(&b);
    enc_tuple(&b, 2);
    conn_self_pid(c, &b);
    enc_tuple(&b, 5);
    enc_atom(&b, "call");
    enc_atom(&b, m);
    enc_atom(&b, f);
    buf_add(&b, args->data, args->len);
    enc_atom(&b, "user");
    if (conn_send_name(c, "rex", b.data, b.len, &e) < 0)
        fail_msg("%s", e.text);
    buf_release(&b);
}

/* Waits some seconds for the next message; *in is after its version byte. */
static void next(struct conn *c, struct etf *in)
{
    const uint8_t *p;
    struct err e;
    size_t n;
    int rc = conn_recv(c, 20000, &p, &n, &e);

    if (rc != 1)
        fail_msg("recv: %d %s", rc, rc < 0 ? e.text : "");
    etf_init(in, p, n);
    assert_true(etf_version(in));
}

static void expect(struct conn *c, const char *text)
{
    struct etf in;
    struct buf out;

    buf_init(&out, 0);
    next(c, &in);
    assert_true(term_print(&in, &out, 1000));
    assert_string_equal(out.data, text);
    buf_release(&out);
}

static void no_args(struct buf *args)
{
    buf_init(args, 0);
    enc_nil(args);
}

/* ---- tests on real nodes ---- */

static void a_node_answers(void **state)
{
    const struct node *nodes[] = {&short_node, &long_node};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct conn *c = open_soon(nodes[i]);
        struct buf args;

        assert_string_equal(conn_node(c), nodes[i]->name);
        assert_non_null(strstr(conn_self(c), "kprof_top_"));
        no_args(&args);
        send_call(c, "erlang", "node", &args);
        struct etf in;
        const char *s;
        size_t n;
        uint32_t arity;
        next(c, &in);
        assert_true(etf_tuple(&in, &arity) && arity == 2 && etf_is_atom(&in, "rex"));
        assert_true(etf_atom(&in, &s, &n) && n == strlen(nodes[i]->name));
        assert_memory_equal(s, nodes[i]->name, n);
        buf_release(&args);
        conn_close(c);
    }
}

/* The node lists us as a hidden node with our name; our pid belongs to our node; messages to a pid
 * arrive. */
static void it_knows_us(void **state)
{
    struct conn *c = open_soon(&short_node);
    struct buf args, term, pid;
    struct err e;

    (void)state;
    buf_init(&args, 0);
    enc_list(&args, 1);
    conn_self_pid(c, &args);
    enc_nil(&args);
    send_call(c, "erlang", "node", &args);
    struct etf in;
    uint32_t arity;
    next(c, &in);
    assert_true(etf_tuple(&in, &arity) && etf_is_atom(&in, "rex") &&
                etf_is_atom(&in, conn_self(c)));

    buf_clear(&args);
    enc_list(&args, 1);
    enc_atom(&args, "hidden");
    enc_nil(&args);
    send_call(c, "erlang", "nodes", &args);
    next(c, &in);
    assert_true(etf_tuple(&in, &arity) && etf_is_atom(&in, "rex") && etf_list(&in, &arity));
    assert_int_equal(arity, 1);

    buf_clear(&args);
    enc_list(&args, 1);
    enc_atom(&args, "rex");
    enc_nil(&args);
    send_call(c, "erlang", "whereis", &args);
    next(c, &in);
    assert_true(etf_tuple(&in, &arity) && etf_is_atom(&in, "rex"));
    buf_init(&pid, 0);
    buf_add(&pid, in.p, (size_t)(in.end - in.p));
    buf_init(&term, 0);
    enc_version(&term);
    enc_tuple(&term, 2);
    conn_self_pid(c, &term);
    enc_tuple(&term, 5);
    enc_atom(&term, "call");
    enc_atom(&term, "erlang");
    enc_atom(&term, "abs");
    enc_list(&term, 1);
    enc_i64(&term, -3);
    enc_nil(&term);
    enc_atom(&term, "user");
    assert_int_equal(conn_send_pid(c, pid.data, pid.len, term.data, term.len, &e), 0);
    expect(c, "{rex,3}");
    buf_release(&pid);
    buf_release(&term);
    buf_release(&args);
    conn_close(c);
}

static void a_wrong_cookie_is_told(void **state)
{
    struct conn *c;
    struct err e;

    (void)state;
    assert_int_equal(open_as(&c, short_node.name, WRONG, 5000, &e), CONN_COOKIE);
    assert_non_null(strstr(e.text, "cookie"));
}

static void an_absent_node_is_told_with_those_that_are(void **state)
{
    char name[300];
    struct conn *c;
    struct err e;

    (void)state;
    /* one byte less: it is named first, whatever else runs on this machine */
    snprintf(name, sizeof name, "kp_erl_shrt_%ld%s", (long)getpid(), strchr(short_node.name, '@'));
    assert_int_equal(open_as(&c, name, COOKIE, 5000, &e), CONN_NOT_REGISTERED);
    assert_non_null(strstr(e.text, "kp_erl_short_"));
}

/* The link was lost: the node still has a connection with our name when we connect again. */
static void coming_again_replaces_the_old(void **state)
{
    struct conn *first = open_soon(&short_node), *second;
    const uint8_t *p;
    struct buf args;
    struct err e;
    size_t n;

    (void)state;
    if (open_as(&second, short_node.name, COOKIE, 5000, &e) != CONN_OK)
        fail_msg("%s", e.text);
    no_args(&args);
    send_call(second, "erlang", "is_alive", &args);
    expect(second, "{rex,true}");
    assert_int_equal(conn_recv(first, 10000, &p, &n, &e), -1);
    buf_release(&args);
    conn_close(first);
    conn_close(second);
}

/* Another kprof-top with the same --name must not take the connection over. */
static void a_name_in_use_is_told(void **state)
{
    struct conn_opts o = {.to = {.node = short_node.name, .cookie = COOKIE},
                          .self_name = "kp_same_name",
                          .timeout_ms = 5000};
    struct conn *first, *second;
    struct buf args;
    struct err e;

    (void)state;
    assert_int_equal(open_to(&first, &o, &e), CONN_OK);
    assert_int_equal(open_to(&second, &o, &e), CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "another kprof-top has this name"));
    no_args(&args);
    send_call(first, "erlang", "is_alive", &args);
    expect(first, "{rex,true}");
    buf_release(&args);
    conn_close(first);
    assert_int_equal(open_to(&first, &o, &e), CONN_OK);
    conn_close(first);
}

/* net_ticktime of the node is 4 s. */
static void it_stays_up(void **state)
{
    struct conn *c = open_soon(&short_node);
    uint64_t end = clock_mono_ns() + 8 * SECONDS;
    struct buf args;

    (void)state;
    while (clock_mono_ns() < end) {
        const uint8_t *p;
        struct err e;
        size_t n;

        if (conn_recv(c, 500, &p, &n, &e) < 0)
            fail_msg("%s", e.text);
    }
    no_args(&args);
    send_call(c, "erlang", "is_alive", &args);
    expect(c, "{rex,true}");
    buf_release(&args);
    conn_close(c);
}

static void large_terms_pass_both_ways(void **state)
{
    const size_t size = 9u << 20;
    struct conn *c = open_soon(&short_node);
    uint8_t *bytes = calloc(1, size);
    struct buf args;
    struct etf in;
    const uint8_t *b;
    uint32_t arity;
    size_t n;

    (void)state;
    assert_non_null(bytes);
    buf_init(&args, 0);
    enc_list(&args, 1);
    enc_binary(&args, bytes, size);
    enc_nil(&args);
    send_call(c, "erlang", "byte_size", &args);
    expect(c, "{rex,9437184}");

    buf_clear(&args);
    enc_list(&args, 2);
    enc_str(&args, "abc");
    enc_i64(&args, 5000000);
    enc_nil(&args);
    for (int i = 0; i < 3; i++)
        send_call(c, "binary", "copy", &args);
    for (int i = 0; i < 3; i++) {
        next(c, &in);
        assert_true(etf_tuple(&in, &arity) && etf_is_atom(&in, "rex") && etf_binary(&in, &b, &n) &&
                    n == 15000000);
        assert_true(b[0] == 'a' && b[n - 1] == 'c');
    }
    free(bytes);
    buf_release(&args);
    conn_close(c);
}

static void *receive_many(void *arg)
{
    struct conn *c = arg;
    const uint8_t *p;
    intptr_t got = 0;
    struct err e;
    size_t n;

    while (got < 2000 && conn_recv(c, 20000, &p, &n, &e) == 1)
        got++;
    return (void *)got;
}

static void one_thread_sends_one_receives(void **state)
{
    struct conn *c = open_soon(&short_node);
    struct buf args;
    pthread_t t;
    void *got;

    (void)state;
    no_args(&args);
    assert_int_equal(pthread_create(&t, NULL, receive_many, c), 0);
    for (int i = 0; i < 2000; i++)
        send_call(c, "erlang", "node", &args);
    pthread_join(t, &got);
    assert_int_equal((intptr_t)got, 2000);
    buf_release(&args);
    conn_close(c);
}

static void a_killed_node_is_told(void **state)
{
    struct conn *c = open_soon(&long_node);
    const uint8_t *p;
    struct err e;
    size_t n;
    int rc;

    (void)state;
    kill(long_node.pid, SIGKILL);
    rc = conn_recv(c, 20000, &p, &n, &e);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(e.text, "lost "));
    /* sending raises no SIGPIPE, and fails at some point */
    uint64_t end = clock_mono_ns() + 10 * SECONDS;
    while ((rc = conn_send_name(c, "rex", "\x83j", 2, &e)) == 0)
        assert_true(clock_mono_ns() < end);
    assert_non_null(strstr(e.text, "lost "));
    conn_close(c);
    kill_node(&long_node);
}

/* ---- listeners that are not nodes ---- */

struct fake {
    int fd;
    uint16_t port;
    const char *reply[2]; /* for the first connection, for the second */
    size_t n[2];
    bool silent;
    atomic_bool stop;
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct fake *f = arg;

    for (int i = 0; !atomic_load(&f->stop); i++) {
        char bytes[500];
        int fd = accept(f->fd, NULL, NULL), k = i < 2 ? i : 1;

        if (fd < 0)
            break;
        if (recv(fd, bytes, sizeof bytes, 0) > 0 && f->reply[k] != NULL)
            (void)send(fd, f->reply[k], f->n[k], MSG_NOSIGNAL);
        while (f->silent && recv(fd, bytes, sizeof bytes, 0) > 0)
            ;
        shutdown(fd, SHUT_WR);
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            ;
        close(fd);
    }
    return NULL;
}

static uint16_t bound_to(uint32_t address, uint16_t port, int *fd)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(address), .sin_port = htons(port)};
    socklen_t n = sizeof a;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*fd >= 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&a, &n), 0);
    return ntohs(a.sin_port);
}

static uint16_t bound(int *fd)
{
    return bound_to(INADDR_LOOPBACK, 0, fd);
}

static void serve_fake(struct fake *f)
{
    assert_int_equal(listen(f->fd, 5), 0);
    atomic_init(&f->stop, false);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void start_fake(struct fake *f)
{
    f->port = bound(&f->fd);
    serve_fake(f);
}

static void stop_fake(struct fake *f)
{
    atomic_store(&f->stop, true);
    shutdown(f->fd, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->fd);
}

static enum conn_fail open_fake(const char *reply, size_t n, bool silent, int timeout_ms,
                                struct err *e)
{
    struct fake f = {.reply = {reply, reply}, .n = {n, n}, .silent = silent};
    char address[64];
    struct conn_opts o = {.to = {.node = "a@b", .connect = address, .cookie = COOKIE},
                          .timeout_ms = timeout_ms};
    struct conn *c;
    enum conn_fail fail;

    start_fake(&f);
    snprintf(address, sizeof address, "127.0.0.1:%u", f.port);
    fail = open_to(&c, &o, e);
    conn_close(c);
    stop_fake(&f);
    return fail;
}

static void what_is_no_node_is_told(void **state)
{
    struct err e;

    (void)state;
    assert_int_equal(open_fake("\x15\x03\x03\0\2\2\x0a", 7, false, 5000, &e), CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "TLS"));
    assert_int_equal(open_fake(NULL, 0, false, 5000, &e), CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "closed the connection during the handshake"));
    assert_int_equal(open_fake("\0\x0csnot_allowed", 14, false, 5000, &e), CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "allows only other names"));
    assert_int_equal(open_fake("\0\5s\x1b[2J", 7, false, 5000, &e), CONN_HANDSHAKE);
    assert_null(strchr(e.text, '\x1b'));
    assert_int_equal(open_fake("HTTP/1.0 400 Bad request\r\n\r\n", 28, false, 5000, &e),
                     CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "is an HTTP server"));
    assert_int_equal(open_fake("SSH-2.0-x\r\n", 11, false, 5000, &e), CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "is an SSH server"));
    assert_int_equal(open_fake("\0\3sok\0\x16N\0\0\0\7\xff\xff\xff\xff\1\2\3\4\0\0\0\5\0\3x@y", 29,
                               false, 5000, &e),
                     CONN_WRONG_NAME);
    assert_non_null(strstr(e.text, "is x@y; write x@y --connect 127.0.0.1:"));
    assert_int_equal(open_fake("\0\0\0\0", 4, false, 5000, &e), CONN_HANDSHAKE);
    assert_int_equal(open_fake("\0\3sok\0\3N\0\0", 10, false, 5000, &e), CONN_HANDSHAKE);
    assert_int_equal(open_fake(NULL, 0, true, 300, &e), CONN_TIMEOUT);
    assert_non_null(strstr(e.text, "300 ms"));
    assert_int_equal(open_fake("\0\3sok", 5, true, 300, &e), CONN_TIMEOUT);
}

/* Every prefix of a handshake, and random bytes. */
static void broken_handshakes_are_survived(void **state)
{
    /* status, then a challenge of a node a@b with all flags */
    static const char good[] = "\0\3sok\0\x16N\0\0\0\7\xff\xff\xff\xff\1\2\3\4\0\0\0\5\0\3a@b";
    unsigned seed = (unsigned)clock_wall_ns();

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    for (size_t n = 0; n < sizeof good - 1; n++) {
        struct err e;

        assert_int_equal(open_fake(good, n, false, 5000, &e), CONN_HANDSHAKE);
    }
    for (int round = 0; round < 200; round++) {
        char bytes[sizeof good];
        struct err e;
        enum conn_fail fail;

        memcpy(bytes, good, sizeof good);
        for (int k = rand() % 4; k >= 0; k--)
            bytes[(size_t)rand() % (sizeof good - 1)] = (char)rand();
        fail = open_fake(bytes, sizeof good - 1, false, 5000, &e);
        assert_true(fail == CONN_HANDSHAKE || fail == CONN_COOKIE || fail == CONN_WRONG_NAME);
    }
}

/* Also of a node that cannot be reached: for the command that forwards its port. */
static void the_port_is_told(void **state)
{
    uint16_t port = 0, asked;
    char name[64];
    struct conn *c;
    struct err e;
    int fd;
    struct conn_opts o = {
        .to = {.node = name, .cookie = COOKIE}, .timeout_ms = 5000, .port = &port};

    (void)state;
    asked = bound(&fd);
    snprintf(name, sizeof name, "a@localhost:%u", asked);
    assert_int_equal(conn_open(&c, &o, &e), CONN_REFUSED);
    assert_int_equal(port, asked);
    close(fd);
}

static void nobody_listens(void **state)
{
    char name[64];
    struct conn *c;
    struct err e;
    int fd;

    (void)state;
    snprintf(name, sizeof name, "a@localhost:%u", bound(&fd)); /* bound, not listening */
    assert_int_equal(open_as(&c, name, COOKIE, 5000, &e), CONN_REFUSED);
    close(fd);
}

static void use_epmd_port(uint16_t port)
{
    char text[16];

    snprintf(text, sizeof text, "%u", port);
    setenv("ERL_EPMD_PORT", text, 1);
}

static int save_epmd_port(void **state)
{
    const char *port = getenv("ERL_EPMD_PORT");

    *state = port ? strdup(port) : NULL;
    return 0;
}

static int restore_epmd_port(void **state)
{
    char *port = *state;

    if (port)
        setenv("ERL_EPMD_PORT", port, 1);
    else
        unsetenv("ERL_EPMD_PORT");
    free(port);
    return 0;
}

static void epmd_is_told_apart(void **state)
{
    static const char names[] = "\0\0\x11\x11name one at port 1\nname \x1b[2Jtwo\x9b at port 2\n"
                                "garbage\nname  at port 3\nname three at port 4";
    struct fake f = {.reply = {"w\1", names}, .n = {2, sizeof names - 1}};
    struct fake closes = {.reply = {NULL, NULL}}, silent = {.silent = true};
    struct conn *c;
    struct err e;
    int fd;

    (void)state;
    use_epmd_port(bound(&fd));
    assert_int_equal(open_as(&c, "a@localhost", COOKIE, 5000, &e), CONN_NO_EPMD);
    assert_non_null(strstr(e.text, "no epmd answers"));
    close(fd);

    start_fake(&f);
    use_epmd_port(f.port);
    assert_int_equal(open_as(&c, "a@localhost", COOKIE, 5000, &e), CONN_NOT_REGISTERED);
    assert_non_null(strstr(e.text, "one, "));
    assert_non_null(strstr(e.text, ", three"));
    for (const char *s = e.text; *s != 0; s++)
        assert_true(*s >= ' ' && *s <= '~');
    stop_fake(&f);

    start_fake(&closes);
    use_epmd_port(closes.port);
    assert_int_equal(open_as(&c, "a@localhost", COOKIE, 5000, &e), CONN_NO_EPMD);
    assert_non_null(strstr(e.text, "is not epmd"));
    stop_fake(&closes);

    start_fake(&silent);
    use_epmd_port(silent.port);
    assert_int_equal(open_as(&c, "a@localhost", COOKIE, 300, &e), CONN_NO_EPMD);
    stop_fake(&silent);

    /* port 1, a node, protocol 0, versions 5 to 5: OTP 22 */
    struct fake old = {.reply = {"w\0\0\1M\0\0\5\0\5\0\1a\0\0", NULL}, .n = {15, 0}};
    start_fake(&old);
    use_epmd_port(old.port);
    assert_int_equal(open_as(&c, "a@localhost", COOKIE, 5000, &e), CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "its OTP is older than 23"));
    stop_fake(&old);
}

/* The first address has an epmd that accepts and is silent, or is silent after two bytes; another
 * address has the node. */
static void a_silent_epmd_does_not_stop_the_others(void **state)
{
    struct fake silent = {.silent = true}, stops = {.silent = true, .reply = {"w\0"}, .n = {2}},
                node = {.reply = {"w\0\0\1M\0\0\5\0\5\0\1a\0\0"}, .n = {15}};
    struct conn *c;
    struct err e;

    (void)state;
    silent.port = bound_to(INADDR_LOOPBACK + 1, 0, &silent.fd);
    node.port = bound_to(INADDR_LOOPBACK + 2, silent.port, &node.fd);
    serve_fake(&silent);
    serve_fake(&node);
    use_epmd_port(silent.port);
    assert_int_equal(setenv("ERL_EPMD_ADDRESS", "127.0.0.2,127.0.0.3", 1), 0);
    enum conn_fail fail = open_as(&c, "a@localhost", COOKIE, 2000, &e);
    unsetenv("ERL_EPMD_ADDRESS");
    stop_fake(&silent);
    stop_fake(&node);
    assert_int_equal(fail, CONN_HANDSHAKE);
    assert_non_null(strstr(e.text, "its OTP is older than 23"));

    start_fake(&stops);
    use_epmd_port(stops.port);
    assert_int_equal(open_as(&c, "a@127.0.0.1", COOKIE, 300, &e), CONN_NO_EPMD);
    stop_fake(&stops);
    assert_non_null(strstr(e.text, "no epmd answers"));
    assert_non_null(strstr(e.text, "timed out"));
}

/* Of many nodes, those whose names are most like the given one are named first. */
static void similar_names_come_first(void **state)
{
    char names[4096] = "\0\0\x11\x11";
    size_t n = 4;
    struct fake f = {.reply = {"w\1", names}};
    struct conn *c;
    struct err e;

    (void)state;
    for (int i = 0; i < 90; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "name %s_%d at port 1\n",
                              i == 40   ? "Shop"
                              : i == 85 ? "shopp"
                                        : "zzzzzzzzzzz",
                              i);
    f.n[0] = 2;
    f.n[1] = n;
    start_fake(&f);
    use_epmd_port(f.port);
    assert_int_equal(open_as(&c, "shop_41@localhost", COOKIE, 5000, &e), CONN_NOT_REGISTERED);
    stop_fake(&f);
    if (strstr(e.text, "its epmd has: Shop_40, shopp_85, zzzzzzzzzzz_") == NULL ||
        strcmp(e.text + strlen(e.text) - 5, ", ...") != 0)
        fail_msg("%s", e.text);
}

/* Answers of a server that is not epmd, or of a hostile one: the error message contains no control
 * characters. */
static void broken_epmds_are_survived(void **state)
{
    /* the port of a node, and then names */
    static const char port[] = "w\0\0\1M\0\0\6\0\5\0\1a\0\0",
                      names[] = "\0\0\x11\x11name a at port 1\n";
    unsigned seed = (unsigned)clock_wall_ns();

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 200; round++) {
        char first[sizeof port], second[sizeof names];
        struct fake f = {.reply = {first, second},
                         .n = {(size_t)rand() % sizeof port, (size_t)rand() % sizeof names}};
        struct conn *c;
        struct err e;

        memcpy(first, port, sizeof port);
        memcpy(second, names, sizeof names);
        for (int k = rand() % 4; k > 0; k--) {
            first[(size_t)rand() % sizeof port] = (char)rand();
            second[(size_t)rand() % sizeof names] = (char)rand();
        }
        start_fake(&f);
        use_epmd_port(f.port);
        assert_int_not_equal(open_as(&c, "a@127.0.0.1", COOKIE, 5000, &e), CONN_OK);
        for (const char *s = e.text; *s != 0; s++)
            assert_true(*s >= ' ' && *s <= '~');
        stop_fake(&f);
    }
}

static void names_and_hosts(void **state)
{
    static const char *const bad[] = {
        "",          "a",         "@b",         "a@",
        "a@b:",      "a@b:0",     "a@b:65536",  "a@b:x",
        "a@b:12x",   "a@b@c",     "a b@c",      "a@b c",
        "\x1b[2J@b", "a@\x1b[2J", "a@b:4369:1", "a@b:99999999999999999999",
        "a@::1:x",   "a@[::1",    "a@[::1]:",   "a@[::1]x",
        "a@[b]:1",   "a@:::1"};
    char name[600];
    struct conn *c;
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(open_as(&c, bad[i], COOKIE, 100, &e), CONN_BAD_NAME);
    memset(name, 'a', sizeof name);
    memcpy(name + 300, "@b", 3);
    assert_int_equal(open_as(&c, name, COOKIE, 100, &e), CONN_BAD_NAME);
    memcpy(name + 20, "@", 1);
    memcpy(name + 254, ":1", 3);
    assert_int_not_equal(open_as(&c, name, COOKIE, 100, &e), CONN_BAD_NAME);
    assert_int_equal(open_as(&c, "a@nosuch.invalid", COOKIE, 1000, &e), CONN_HOST_UNKNOWN);
    assert_non_null(strstr(e.text, "nosuch.invalid"));
    struct conn_opts o = {.to = {.node = short_node.name, .cookie = COOKIE},
                          .self_name = "not@ours",
                          .timeout_ms = 1000};
    assert_int_equal(conn_open(&c, &o, &e), CONN_LOCAL);
}

/* ---- framing, over a socket pair ---- */

static struct conn *pair(int *other, int timeout_ms)
{
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
    *other = fd[1];
    return conn_new((struct sock){.fd = fd[0]}, timeout_ms, 0x01020304, "app@vm", "us@vm");
}

/* A framed message {2,'',OurPid} or {6,Pid,'',us}, and n as its term. */
static void frame(struct buf *b, int op, uint32_t creation, uint64_t n)
{
    const uint8_t pid[] = {88,
                           119,
                           1,
                           'a',
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           (uint8_t)(creation >> 24),
                           (uint8_t)(creation >> 16),
                           (uint8_t)(creation >> 8),
                           (uint8_t)creation};
    size_t start = b->len, length;
    bool token = op == 12 || op == 16 || op == 23, reg = op == 6 || op == 16;

    buf_add(b, "\0\0\0\0p", 5);
    enc_version(b);
    enc_tuple(b, 3u + reg + token);
    enc_i64(b, op);
    if (op == 22 || op == 23 || reg)
        buf_add(b, pid, sizeof pid);
    else
        enc_atom(b, "");
    if (reg) {
        enc_atom(b, "");
        enc_atom(b, "us");
    } else {
        buf_add(b, pid, sizeof pid);
    }
    if (token)
        enc_nil(b);
    enc_version(b);
    enc_u64(b, n);
    length = b->len - start - 4;
    for (int i = 0; i < 4; i++)
        b->data[start + (size_t)i] = (char)(length >> (24 - 8 * i));
}

static void expect_number(struct conn *c, uint64_t want)
{
    struct etf in;
    uint64_t got;

    next(c, &in);
    assert_true(etf_u64(&in, &got) && got == want && in.p == in.end);
}

static void every_kind_of_send_arrives(void **state)
{
    static const int ops[] = {2, 6, 12, 16, 22, 23};
    struct buf b;
    int other;
    struct conn *c = pair(&other, 1000);

    (void)state;
    buf_init(&b, 0);
    for (size_t i = 0; i < 6; i++) {
        frame(&b, ops[i], 0x01020304, (uint64_t)ops[i]);
        if (ops[i] != 6 && ops[i] != 16) /* for an earlier node with our name */
            frame(&b, ops[i], 0x01020305, 99);
        buf_add(&b, "\0\0\0\x08p\x83h\3a\x13jj", 12); /* a monitor, or anything: ignored */
    }
    assert_int_equal(write(other, b.data, b.len), b.len);
    for (size_t i = 0; i < 6; i++)
        expect_number(c, (uint64_t)ops[i]);
    buf_release(&b);
    close(other);
    conn_close(c);
}

/* Any division into pieces gives the same messages. */
static void pieces_of_any_size(void **state)
{
    unsigned seed = (unsigned)clock_wall_ns();
    int other;
    struct conn *c = pair(&other, 1000);
    uint64_t in = 0, out = 0;
    struct buf b;
    size_t sent = 0;

    (void)state;
    printf("seed %u\n", seed);
    srand(seed);
    buf_init(&b, 0);
    while (out < 3000) {
        const uint8_t *p;
        struct err e;
        size_t n;
        uint64_t got;

        for (int k = rand() % 20; k > 0; k--)
            frame(&b, 6, 0, in++);
        n = (size_t)rand() % 200;
        if (n > b.len - sent)
            n = b.len - sent;
        assert_int_equal(write(other, b.data + sent, n), n);
        sent += n;
        while (conn_recv(c, 0, &p, &n, &e) == 1) {
            struct etf t;

            etf_init(&t, p, n);
            assert_true(etf_version(&t) && etf_u64(&t, &got) && got == out);
            out++;
        }
        assert_true(c->cap <= 1 << 20);
    }
    buf_release(&b);
    close(other);
    conn_close(c);
}

static void ticks_are_answered(void **state)
{
    struct buf b;
    int other;
    struct conn *c = pair(&other, 1000);
    char got[16];

    (void)state;
    buf_init(&b, 0);
    buf_add(&b, "\0\0\0\0\0\0\0\0", 8);
    frame(&b, 6, 0, 5);
    assert_int_equal(write(other, b.data, b.len), b.len);
    expect_number(c, 5);
    assert_int_equal(recv(other, got, sizeof got, MSG_DONTWAIT), 8);
    assert_memory_equal(got, "\0\0\0\0\0\0\0\0", 8);
    buf_release(&b);
    close(other);
    conn_close(c);
}

static void bad_packets_end_it(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"\x04\0\0\1", 4}, /* one byte more than CONN_MAX_PACKET */
        {"\xff\xff\xff\xff", 4},
        {"\0\0\0\1\x83", 5},  /* not pass-through */
        {"\0\0\0\2p\x83", 6}, /* not a control message */
        {"\0\0\0\4p\x83h\0", 8},
        {"\0\0\0\5p\x83h\3a", 9},
        {"\0\0\0\3p\x83\x6a", 7},
        {"\0\0\0\x08p\x83h\3a\6jj", 12},   /* an element is missing */
        {"\0\0\0\x0ap\x83h\4a\6jjjj", 14}, /* no version byte before the message */
        {"\0\0\0\6p\x83h\1a\2", 10},       /* a send to nobody */
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int other;
        struct conn *c = pair(&other, 1000);
        const uint8_t *p;
        struct err e;
        size_t n;

        assert_int_equal(write(other, bad[i].bytes, bad[i].n), bad[i].n);
        if (conn_recv(c, 5000, &p, &n, &e) != -1)
            fail_msg("case %zu passes", i);
        assert_non_null(strstr(e.text, "app@vm sent"));
        close(other);
        conn_close(c);
    }
}

static void a_length_alone_takes_no_memory(void **state)
{
    int other;
    struct conn *c = pair(&other, 1000);
    const uint8_t *p;
    struct err e;
    size_t n;

    (void)state;
    assert_int_equal(write(other, "\x03\xff\xff\xff", 4), 4);
    assert_int_equal(conn_recv(c, 50, &p, &n, &e), 0);
    assert_true(c->cap <= 1 << 20);
    close(other);
    assert_int_equal(conn_recv(c, 5000, &p, &n, &e), -1);
    conn_close(c);
}

static void a_full_way_blocks_no_longer_than_said(void **state)
{
    static char bytes[1 << 20];
    int other;
    struct conn *c = pair(&other, 100);
    const uint8_t *p;
    struct err e;
    size_t n;
    int rc;

    (void)state;
    bytes[0] = (char)131;
    while ((rc = conn_send_name(c, "x", bytes, sizeof bytes, &e)) == 0)
        ;
    assert_non_null(strstr(e.text, "accepted no data"));
    /* half a packet was sent: nothing may follow it */
    assert_int_equal(conn_send_name(c, "x", bytes, 10, &e), -1);
    assert_int_equal(conn_recv(c, 1000, &p, &n, &e), -1);
    assert_non_null(strstr(e.text, "accepted no data"));
    close(other);
    conn_close(c);
}

static void *receive_one(void *arg)
{
    const uint8_t *p;
    struct err e;
    size_t n;
    intptr_t rc = conn_recv(arg, 60000, &p, &n, &e);

    return (void *)rc;
}

static void shutting_down_wakes_the_receiver(void **state)
{
    int other;
    struct conn *c = pair(&other, 1000);
    pthread_t t;
    void *rc;

    (void)state;
    assert_int_equal(pthread_create(&t, NULL, receive_one, c), 0);
    conn_shutdown(c);
    pthread_join(t, &rc);
    assert_int_equal((intptr_t)rc, -1);
    close(other);
    conn_close(c);
    conn_close(NULL);
}

/* ---- cookies ---- */

static void write_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static void cookies_are_found(void **state)
{
    char dir[] = "/tmp/kprof_cookie_XXXXXX", home_file[64], other_file[64], old_home[4096];
    char long_text[300];
    struct conn_cookie out;
    struct err e;

    (void)state;
    snprintf(old_home, sizeof old_home, "%s", getenv("HOME") != NULL ? getenv("HOME") : "/");
    assert_non_null(mkdtemp(dir));
    snprintf(home_file, sizeof home_file, "%s/.erlang.cookie", dir);
    snprintf(other_file, sizeof other_file, "%s/other", dir);
    setenv("HOME", dir, 1);
    unsetenv("KPROF_COOKIE");
    assert_int_equal(conn_find_cookie(NULL, NULL, &out, &e), -1);
    assert_non_null(strstr(e.text, ".erlang.cookie"));
    write_file(home_file, "HOME COOKIE\n", 12);
    write_file(other_file, "  other \r\nmore\n", 15);
    assert_int_equal(conn_find_cookie(NULL, NULL, &out, &e), 0);
    assert_string_equal(out.text, "HOME COOKIE");
    setenv("KPROF_COOKIE", "environment", 1);
    assert_int_equal(conn_find_cookie(NULL, NULL, &out, &e), 0);
    assert_string_equal(out.text, "environment");
    assert_int_equal(conn_find_cookie(NULL, other_file, &out, &e), 0);
    assert_string_equal(out.text, "other");
    assert_int_equal(conn_find_cookie("set", other_file, &out, &e), 0);
    assert_string_equal(out.text, "set");
    unsetenv("KPROF_COOKIE");
    assert_int_equal(conn_find_cookie("", NULL, &out, &e), -1);
    assert_int_equal(conn_find_cookie(NULL, "/no/such/file", &out, &e), -1);
    assert_int_equal(conn_find_cookie(NULL, dir, &out, &e), -1);
    write_file(other_file, "\n", 1);
    assert_int_equal(conn_find_cookie(NULL, other_file, &out, &e), -1);
    write_file(other_file,
               "se\x1b"
               "cret\n",
               8);
    assert_int_equal(conn_find_cookie(NULL, other_file, &out, &e), -1);
    assert_null(strstr(e.text, "cret"));
    memset(long_text, 'x', sizeof long_text);
    write_file(other_file, long_text, sizeof long_text);
    assert_int_equal(conn_find_cookie(NULL, other_file, &out, &e), -1);
    write_file(other_file, long_text, 255);
    assert_int_equal(conn_find_cookie(NULL, other_file, &out, &e), 0);
    assert_int_equal(strlen(out.text), 255);
    remove(home_file);
    remove(other_file);
    rmdir(dir);
    setenv("HOME", old_home, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_send_arrives),
        cmocka_unit_test(pieces_of_any_size),
        cmocka_unit_test(ticks_are_answered),
        cmocka_unit_test(bad_packets_end_it),
        cmocka_unit_test(a_length_alone_takes_no_memory),
        cmocka_unit_test(a_full_way_blocks_no_longer_than_said),
        cmocka_unit_test(shutting_down_wakes_the_receiver),
        cmocka_unit_test(cookies_are_found),
        cmocka_unit_test(names_and_hosts),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(the_port_is_told),
        cmocka_unit_test(what_is_no_node_is_told),
        cmocka_unit_test(broken_handshakes_are_survived),
        cmocka_unit_test_setup_teardown(epmd_is_told_apart, save_epmd_port, restore_epmd_port),
        cmocka_unit_test_setup_teardown(a_silent_epmd_does_not_stop_the_others, save_epmd_port,
                                        restore_epmd_port),
        cmocka_unit_test_setup_teardown(similar_names_come_first, save_epmd_port,
                                        restore_epmd_port),
        cmocka_unit_test_setup_teardown(broken_epmds_are_survived, save_epmd_port,
                                        restore_epmd_port),
        cmocka_unit_test(a_node_answers),
        cmocka_unit_test(it_knows_us),
        cmocka_unit_test(a_wrong_cookie_is_told),
        cmocka_unit_test(an_absent_node_is_told_with_those_that_are),
        cmocka_unit_test(coming_again_replaces_the_old),
        cmocka_unit_test(a_name_in_use_is_told),
        cmocka_unit_test(one_thread_sends_one_receives),
        cmocka_unit_test(large_terms_pass_both_ways),
        cmocka_unit_test(it_stays_up),
        cmocka_unit_test(a_killed_node_is_told),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
