/* erl/dial with a resolver that does not answer: nodes of this machine are reached all the same. */
#include <netdb.h>
#include <stdbool.h>

/* The real dial, but how the resolver answers is up to the test. */
static int ask_resolver(const char *host, const char *service, const struct addrinfo *hints,
                        struct addrinfo **out);
#define getaddrinfo ask_resolver
#include "../../src/erl/resolve.c"
#undef getaddrinfo
#include "../../src/erl/dial.c"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned waiting;
    bool over; /* the test has ended */
} resolver = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Knows addresses; for a name it waits until the test has ended. */
static int ask_resolver(const char *host, const char *service, const struct addrinfo *hints,
                        struct addrinfo **out)
{
    if (hints->ai_flags & AI_NUMERICHOST)
        return getaddrinfo(host, service, hints, out);
    pthread_mutex_lock(&resolver.lock);
    resolver.waiting++;
    while (!resolver.over)
        pthread_cond_wait(&resolver.changed, &resolver.lock);
    resolver.waiting--;
    pthread_cond_broadcast(&resolver.changed);
    pthread_mutex_unlock(&resolver.lock);
    return EAI_AGAIN;
}

static int end_resolver(void **state)
{
    (void)state;
    pthread_mutex_lock(&resolver.lock);
    resolver.over = true;
    pthread_cond_broadcast(&resolver.changed);
    while (resolver.waiting)
        pthread_cond_wait(&resolver.changed, &resolver.lock);
    pthread_mutex_unlock(&resolver.lock);
    return 0;
}

static int listener(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

struct fake_epmd {
    int fd;
    uint16_t port, node_port;
    pthread_t thread;
};

/* Answers one question, after the time that a busy machine takes: each node has node_port. */
static void *answer(void *arg)
{
    const struct fake_epmd *f = arg;
    char asked[100], reply[] = "w\0\0\0M\0\0\6\0\5\0\1a\0\0";
    int fd = accept(f->fd, NULL, NULL);

    if (fd < 0)
        return NULL;
    reply[2] = (char)(f->node_port >> 8);
    reply[3] = (char)f->node_port;
    usleep(100000);
    if (read(fd, asked, sizeof asked) > 0)
        (void)!write(fd, reply, sizeof reply - 1);
    close(fd);
    return NULL;
}

static void a_resolver_that_hangs_leaves_time(void **state)
{
    struct fake_epmd epmd = {.fd = -1};
    struct node_name name;
    struct dial_to to = {.name = &name, .timeout_ms = 3000};
    struct dialed d;
    struct err e = {{0}};
    char text[NET_TEXT_BYTES], port[8];
    int node = listener(&epmd.node_port);

    (void)state;
    epmd.fd = listener(&epmd.port);
    snprintf(port, sizeof port, "%u", epmd.port);
    assert_int_equal(setenv("ERL_EPMD_PORT", port, 1), 0);
    assert_int_equal(pthread_create(&epmd.thread, NULL, answer, &epmd), 0);
    assert_true(node_name_parse("shop@localhost", &name));
    to.deadline_ns = net_deadline(to.timeout_ms);
    enum conn_fail fail = dial_open(&to, &d, &e);
    shutdown(epmd.fd, SHUT_RDWR); /* ends the thread, if nothing was asked */
    pthread_join(epmd.thread, NULL);
    close(epmd.fd);
    close(node);
    assert_string_equal(e.text, "");
    assert_int_equal(fail, CONN_OK);
    net_text(&d.address, text);
    assert_string_equal(text, "127.0.0.1");
    assert_int_equal(d.port, epmd.node_port);
    close(d.fd);
}

/* For another host there is no other address: the error names the resolver. */
static void a_host_without_an_address_is_told(void **state)
{
    struct node_name name;
    struct dial_to to = {.name = &name, .timeout_ms = 50};
    struct dialed d;
    struct err e = {{0}};

    (void)state;
    assert_true(node_name_parse("shop@other.example", &name));
    to.deadline_ns = net_deadline(to.timeout_ms);
    assert_int_equal(dial_open(&to, &d, &e), CONN_HOST_UNKNOWN);
    assert_non_null(strstr(e.text, "the resolver gave no address for host 'other.example' within"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resolver_that_hangs_leaves_time),
        cmocka_unit_test(a_host_without_an_address_is_told),
    };
    return cmocka_run_group_tests_name("dial", tests, NULL, end_resolver);
}
