/* erl/net and erl/resolve: connecting to one of several addresses, and looking them up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/erl/net.h"
#include "../../src/erl/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLUGS 8

/* 127.0.0.N; a port of 0: any free one. Returns a listening socket. */
static int listen_on(unsigned n, uint16_t *port, int backlog)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK + n - 1),
                            .sin_port = htons(*port)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void add(struct net_addresses *list, unsigned n)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK + n - 1)};

    net_add(list, (struct sockaddr *)&a);
}

static void the_first_that_accepts_is_taken(void **state)
{
    struct net_addresses list = {.n = 0};
    uint16_t port = 0;
    int listener = listen_on(2, &port, 5), other;
    size_t which = 99;
    char text[NET_TEXT_BYTES];

    (void)state;
    add(&list, 3); /* refuses */
    add(&list, 2);
    add(&list, 2); /* only once in the list */
    assert_int_equal(list.n, 2);
    int fd = net_connect(&list, port, net_deadline(60000), &which);
    assert_true(fd >= 0);
    assert_int_equal(which, 1);
    net_local_text(fd, text);
    assert_memory_equal(text, "127.0.0.", 8);
    close(fd);

    /* both accept: the first one in the list */
    other = listen_on(3, &port, 5);
    fd = net_connect(&list, port, net_deadline(60000), &which);
    assert_true(fd >= 0);
    assert_int_equal(which, 0);
    close(fd);
    close(other);
    close(listener);
    assert_int_equal(net_connect(&list, port, net_deadline(60000), &which), -ECONNREFUSED);
}

/* An address that does not answer: a listener whose queue is full. */
static void an_address_that_is_silent_does_not_stop_the_others(void **state)
{
    struct net_addresses silent = {.n = 0}, list = {.n = 0};
    uint16_t port = 0;
    int full = listen_on(4, &port, 0), plug[PLUGS], n = 0, good;
    size_t which = 99;

    (void)state;
    add(&silent, 4);
    while (n < PLUGS && (plug[n] = net_connect(&silent, port, net_deadline(500), &which)) >= 0)
        n++;
    if (n == PLUGS) { /* this system has no limit */
        while (n > 0)
            close(plug[--n]);
        close(full);
        skip();
    }
    assert_int_equal(plug[n], -ETIMEDOUT);
    add(&list, 4);
    add(&list, 5);
    good = listen_on(5, &port, 5);
    int fd = net_connect(&list, port, net_deadline(60000), &which);
    assert_true(fd >= 0);
    assert_int_equal(which, 1);
    close(fd);
    close(good);
    /* the other one refuses: this is reported rather than the timeout */
    assert_int_equal(net_connect(&list, port, net_deadline(600), &which), -ECONNREFUSED);
    assert_int_equal(which, 1);
    while (n > 0)
        close(plug[--n]);
    close(full);
}

static void literals_are_found(void **state)
{
    struct net_addresses list = {.n = 0};
    char text[NET_TEXT_BYTES];

    (void)state;
    resolve_literals(" 10.0.0.1,::1, nonsense,,10.0.0.1 fd00::2", &list);
    assert_int_equal(list.n, 3);
    net_text(&list.at[1], text);
    assert_string_equal(text, "::1");
    assert_int_equal(resolve_host("fd00::7", 0, &list), 0);
    assert_int_equal(list.n, 1);
    net_text(&list.at[0], text);
    assert_string_equal(text, "fd00::7");
    net_add_loopback(&list);
    assert_int_equal(list.n, 3);
    for (unsigned i = 1; i < 100; i++)
        add(&list, i);
    assert_int_equal(list.n, NET_ADDRESSES_MAX);
}

/* The lookup goes on in its thread, and must not touch anything of the caller. */
static void a_lookup_that_takes_too_long_is_left(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct net_addresses list = {.n = 0};
        int code = resolve_host("no-such-host.invalid", net_deadline(i % 3), &list);

        assert_int_not_equal(code, 0);
        assert_int_equal(list.n, 0);
    }
    struct net_addresses list = {.n = 0};
    assert_int_equal(resolve_host("localhost", net_deadline(60000), &list), 0);
    assert_true(list.n > 0);
}

/* A network of its own for this process, with few ports for clients. */
static bool own_network(const char *ports)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd, range;
    bool ok;

    if (unshare(CLONE_NEWNET) < 0)
        return false;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    range = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
    ok = fd >= 0 && range >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0 &&
         write(range, ports, strlen(ports)) == (ssize_t)strlen(ports);
    close(fd);
    close(range);
    return ok;
}

static uint16_t local_port(int fd)
{
    struct sockaddr_in a;
    socklen_t size = sizeof a;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    return ntohs(a.sin_port);
}

/* A connection of another program: the system chooses its port. */
static int client(uint16_t port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

enum { CLIENTS = 6, OURS = 4, NO_NETWORK = 77 };

static int shared_ports(void)
{
    struct net_addresses list = {.n = 0};
    uint16_t theirs = 5672, dist = 25672;
    uint16_t used[2 * CLIENTS + OURS];
    size_t n = 0, which;
    size_t shared = 0;

    if (!own_network("40000 40031"))
        return NO_NETWORK;
    (void)listen_on(1, &theirs, 64);
    (void)listen_on(1, &dist, 64);
    add(&list, 1);
    for (int i = 0; i < CLIENTS; i++)
        used[n++] = local_port(client(theirs));
    for (int i = 0; i < OURS; i++) {
        int fd = net_connect(&list, dist, net_deadline(60000), &which);
        assert_true(fd >= 0);
        used[n++] = local_port(fd);
    }
    for (int i = 0; i < CLIENTS; i++)
        used[n++] = local_port(client(theirs));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            shared += used[i] == used[j];
    return shared != 0;
}

/* Not the port of any connection of this machine, although its other end is different: RabbitMQ
 * takes the port for the one of the other connection, and a process of it crashes. */
static void a_port_is_not_shared(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(shared_ports());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NETWORK)
        skip(); /* not allowed */
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_accepts_is_taken),
        cmocka_unit_test(an_address_that_is_silent_does_not_stop_the_others),
        cmocka_unit_test(a_port_is_not_shared),
        cmocka_unit_test(literals_are_found),
        cmocka_unit_test(a_lookup_that_takes_too_long_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
