/* cli/environment and erl/node_name: nodes and addresses as users and releases write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kprof/cli/environment.h>
#include <kprof/erl/node_name.h>
#include <kprof/erl/this_host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(const char *variable, const char *value)
{
    if (value != NULL)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}

/* distribution, release, name, kprof: values of the variables; NULL: not set. want: the node, ""
 * none, or a part of the error with "!" before it; '*' at its end stands for the host. */
static void expect(const char *distribution, const char *release, const char *name,
                   const char *kprof, const char *from, const char *want)
{
    struct environment_node found;
    struct err e = {""};
    char host[THIS_HOST_BYTES], node[THIS_HOST_BYTES + 64];

    set("RELEASE_DISTRIBUTION", distribution);
    set("RELEASE_NODE", release);
    set("RELEASE_NAME", name);
    set("KPROF_NODE", kprof);
    this_host_short(host);
    int rc = environment_node(&found, &e);
    if (want[0] == '!') {
        assert_int_equal(rc, -1);
        assert_non_null(strstr(e.text, want + 1));
        assert_non_null(strstr(e.text, from));
        return;
    }
    assert_string_equal(e.text, "");
    assert_int_equal(rc, want[0] != 0);
    if (rc == 0)
        return;
    snprintf(node, sizeof node, "%s", want);
    if (node[strlen(node) - 1] == '*')
        snprintf(node + strlen(node) - 1, sizeof node - strlen(node), "%s", host);
    assert_string_equal(found.name, node);
    assert_string_equal(found.from, from);
}

static void the_node_of_a_release_is_found(void **state)
{
    char long_name[300];

    (void)state;
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    expect(NULL, NULL, NULL, NULL, "", "");
    expect(NULL, "", "", "", "", "");
    expect(NULL, "app", NULL, NULL, "RELEASE_NODE", "app@*");
    expect("sname", "app", "shop", NULL, "RELEASE_NODE", "app@*");
    expect("sname", NULL, "shop", NULL, "RELEASE_NAME", "shop@*");
    expect("name", "app@10.0.0.1", NULL, NULL, "RELEASE_NODE", "app@10.0.0.1");
    expect("name", "app@fd00::7", NULL, NULL, "RELEASE_NODE", "app@fd00::7");
    expect("none", "app", NULL, NULL, "RELEASE_NODE", "!RELEASE_DISTRIBUTION is none");
    expect("long", "app", NULL, NULL, "RELEASE_DISTRIBUTION", "!must be sname, name or none");
    expect(NULL, "a b", NULL, NULL, "RELEASE_NODE", "!not a node name");
    expect(NULL, "a@b\x1b[2J", NULL, NULL, "RELEASE_NODE", "!not a node name");
    expect(NULL, long_name, NULL, NULL, "RELEASE_NODE", "!");
    /* a variable of kprof-top comes first, and has nothing to do with the release */
    expect("none", "app", "shop", "x@h:9100", "KPROF_NODE", "x@h:9100");
    expect(NULL, "app", NULL, "x", "KPROF_NODE", "!not a node name");
    expect(NULL, NULL, NULL, NULL, "", "");
}

static void addresses_are_read(void **state)
{
    static const struct {
        const char *text, *host;
        uint16_t port; /* 0: no address with a port */
    } cases[] = {
        {"127.0.0.1:9100", "127.0.0.1", 9100},
        {"a-b.example:1", "a-b.example", 1},
        {"[::1]:65535", "::1", 65535},
        {"[fe80::1%eth0]:9", "fe80::1%eth0", 9},
        {"127.0.0.1", "", 0},
        {"::1:9100", "", 0}, /* an address without a port */
        {"[::1]", "", 0},
        {"[::1]9", "", 0},
        {"[::1]:", "", 0},
        {"[]:9", "", 0},
        {"[127.0.0.1]:9", "", 0},
        {":9", "", 0},
        {"h:0", "", 0},
        {"h:65536", "", 0},
        {"h:+9", "", 0},
        {"h: 9", "", 0},
        {"h:9 ", "", 0},
        {"a b:9", "", 0},
        {"", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char host[NODE_NAME_BYTES];
        uint16_t port;
        bool ok = node_name_address(cases[i].text, host, &port);

        if (ok != (cases[i].port != 0))
            fail_msg("%s", cases[i].text);
        if (ok) {
            assert_string_equal(host, cases[i].host);
            assert_int_equal(port, cases[i].port);
        }
    }
}

static void names_are_read(void **state)
{
    static const struct {
        const char *text, *full, *host;
        uint16_t port;
        bool is_long;
    } cases[] = {
        {"app@vm", "app@vm", "vm", 0, false},
        {"app@vm:9100", "app@vm", "vm", 9100, false},
        {"app@vm.example:9100", "app@vm.example", "vm.example", 9100, true},
        {"app@::1", "app@::1", "::1", 0, true},
        {"app@[::1]", "app@::1", "::1", 0, true},
        {"app@[fd00::2]:9100", "app@fd00::2", "fd00::2", 9100, true},
        {"app@fd00::2:9100", "app@fd00::2:9100", "fd00::2:9100", 0, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node_name n;

        assert_true(node_name_parse(cases[i].text, &n));
        assert_string_equal(n.full, cases[i].full);
        assert_string_equal(n.alive, "app");
        assert_string_equal(n.host, cases[i].host);
        assert_int_equal(n.port, cases[i].port);
        assert_int_equal(node_name_is_long(n.host), cases[i].is_long);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_node_of_a_release_is_found),
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(names_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
