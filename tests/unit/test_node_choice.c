/* The nodes to choose from: which names are taken, one entry per node, order, and the answer of
 * epmd read from any bytes. */
#include "rng.h"
#include <kprof/core/node_choice.h>
#include <kprof/erl/local_nodes.h>
#include <kprof/erl/local_vms.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

static void names(void **state)
{
    (void)state;
    static const char *const good[] = {"a@b",
                                       "app@10.0.0.1",
                                       "app@host.example.org:9100",
                                       "a.b+c_d@h",
                                       "app@2001:db8::1",
                                       "app@::1",
                                       "app@[::1]:9100",
                                       "app@[::1]"};
    static const char *const bad[] = {"",           "a",      "@b",    "a@",    "a@b c",
                                      "a@b;reboot", "a@$(x)", "a@b\n", "a@b:",  "a@b:0",
                                      "a@b:65536",  "-a@b",   "a@-oX", "a@b@c", "a@\x1b[2J",
                                      "a@b:123456", "a@`x`",  "a'b@c", "a@b/c", "a@b:9x"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!node_choice_name_ok(good[i]))
            fail_msg("%s is a name", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (node_choice_name_ok(bad[i]))
            fail_msg("%s is no name", bad[i]);
}

static void addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"", "127.0.0.1:9100", "host.x:1", "[::1]:9100",
                                       "[fe80::1%eth0]:65535"};
    static const char *const bad[] = {"127.0.0.1", "::1",   ":9100", "[]:1", "[::1]",
                                      "-x:1",      "a b:1", "a;b:1", "h:0",  "h:99999"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!node_choice_address_ok(good[i]))
            fail_msg("%s is an address", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (node_choice_address_ok(bad[i]))
            fail_msg("%s is no address", bad[i]);
}

static void add(struct node_choices *l, const char *node, const char *connect, bool local,
                bool release, uint64_t used_s)
{
    struct node_choice c = {.local = local, .release = release, .used_s = used_s};

    snprintf(c.node, sizeof c.node, "%s", node);
    snprintf(c.connect, sizeof c.connect, "%s", connect);
    node_choices_add(l, &c);
}

static void one_entry_per_node(void **state)
{
    (void)state;
    static struct node_choices l;
    char note[NODE_NOTE_BYTES];

    memset(&l, 0, sizeof l);
    add(&l, "old@far", "", false, false, 1000);
    add(&l, "app@here", "", true, false, 0);
    add(&l, "new@far", "", false, false, 2000);
    add(&l, "app@here", "", false, true, 3000);
    add(&l, "app@here", "", false, false, 2500);
    add(&l, "pod@far", "127.0.0.1:1", false, false, 10);
    add(&l, "pod@far", "127.0.0.1:2", false, false, 11);
    add(&l, "evil@far;reboot", "", false, false, 4000);
    add(&l, "aa@here", "", true, false, 0);
    add(&l, "aa@here", "127.0.0.1:9", false, false, 1); /* another way, perhaps to another node */
    node_choices_sort(&l);
    static const char *const order[] = {"app@here", "aa@here", "new@far", "old@far",
                                        "pod@far",  "pod@far", "aa@here"};
    assert_int_equal(l.n, 7);
    for (size_t i = 0; i < l.n; i++)
        assert_string_equal(l.at[i].node, order[i]);
    assert_string_equal(l.at[4].connect, "127.0.0.1:2");
    assert_int_equal(l.at[0].used_s, 3000);
    node_choice_note(&l.at[0], 3000 + 3 * 3600, note);
    assert_string_equal(note, "of this release, runs here, used 3 h ago");
    node_choice_note(&l.at[4], 70, note);
    assert_string_equal(note, "used 0 min ago, via 127.0.0.1:2");
    assert_string_equal(l.at[1].connect, "");
    node_choice_note(&l.at[2], 2060, note);
    assert_string_equal(note, "used 1 min ago");
    node_choice_note(&l.at[2], 1, note); /* the clock was set back */
    assert_string_equal(note, "used 0 min ago");
    node_choice_note(&l.at[2], 2000 + 5 * 86400, note);
    assert_string_equal(note, "used 5 days ago");
    node_choice_note(&l.at[1], 5, note);
    assert_string_equal(note, "runs here");
    l.at[1].tls = true;
    node_choice_note(&l.at[1], 5, note);
    assert_string_equal(note, "runs here with TLS");
}

static void any_entries(void **state)
{
    (void)state;
    static struct node_choices l;

    for (int round = 0; round < 50; round++) {
        memset(&l, 0, sizeof l);
        for (int i = 0; i < 300; i++) {
            char node[16], connect[24] = "";
            snprintf(node, sizeof node, "n%u@h", (unsigned)rng_below(200));
            if (rng_below(4) == 0)
                snprintf(connect, sizeof connect, "h:%u", (unsigned)rng_below(3));
            add(&l, node, connect, rng_below(2) == 0, rng_below(9) == 0, rng_below(5));
        }
        node_choices_sort(&l);
        assert_true(l.n <= NODE_CHOICES_MAX);
        for (size_t i = 0; i < l.n; i++)
            for (size_t j = i + 1; j < l.n; j++)
                if (strcmp(l.at[i].node, l.at[j].node) == 0 &&
                    strcmp(l.at[i].connect, l.at[j].connect) == 0)
                    fail_msg("%s is there twice", l.at[i].node);
    }
}

static void answer_of_epmd(void **state)
{
    (void)state;
    static struct local_nodes l;
    static const char text[] = "name app at port 40123\nname  at port 1\nnonsense\nname web\nname "
                               "far at port 99999999999\nname last at port 65535";

    memset(&l, 0, sizeof l);
    local_nodes_parse(&l, text, strlen(text));
    assert_int_equal(l.n, 3);
    assert_string_equal(l.at[0].name, "app");
    assert_int_equal(l.at[0].port, 40123);
    assert_string_equal(l.at[1].name, "far");
    assert_int_equal(l.at[1].port, 0);
    assert_string_equal(l.at[2].name, "last");
    assert_int_equal(l.at[2].port, 65535);
    for (int i = 0; i < 1000; i++)
        local_nodes_parse(&l, text, strlen(text));
    assert_int_equal(l.n, LOCAL_NODES_MAX);
}

/* --- command lines of VMs --- */

#define LINE(s)                                                                                    \
    s, sizeof s - 1 /* the text contains the NULs, also the one after the last argument */
#define VM "/usr/lib/erlang/erts-13/bin/beam.smp\0--\0-root\0/usr/lib/erlang\0--\0"

static void expect_vm(const char *s, size_t n, const char *full, unsigned port)
{
    struct local_vm vm;
    bool is = local_vm_parse(s, n, "box", "box.example.org", &vm);

    assert_int_equal(is, full != NULL);
    if (full) {
        assert_string_equal(vm.name.full, full);
        assert_int_equal(vm.name.port, port);
    }
}

static void command_lines(void **state)
{
    (void)state;
    struct local_vm vm;

    expect_vm(LINE(VM "-sname\0app\0-setcookie\0secret\0"), "app@box", 0);
    expect_vm(LINE(VM "-name\0app\0"), "app@box.example.org", 0);
    expect_vm(LINE(VM "-name\0app@10.0.0.1\0-start_epmd\0false\0-erl_epmd_port\0009100\0"),
              "app@10.0.0.1", 9100);
    expect_vm(LINE("beam.smp\0-name\0app@fd00::1\0-erl_epmd_port\0nonsense\0"), "app@fd00::1", 0);
    expect_vm(LINE(VM "-noshell\0"), NULL, 0);
    assert_true(
        local_vm_parse(LINE(VM "-name\0a@b\0-proto_dist\0inet6_tls\0-ssl_dist_optfile\0/etc/x\0"),
                       "box", NULL, &vm));
    assert_true(vm.tls);
    assert_string_equal(vm.tls_optfile, "/etc/x");
    assert_true(
        local_vm_parse(LINE(VM "-name\0a@b\0-proto_dist\0inet_tls\0-ssl_dist_optfile\0rel/x\0"),
                       "box", NULL, &vm));
    assert_true(vm.tls && !vm.tls_optfile[0]);
    assert_true(
        local_vm_parse(LINE(VM "-name\0a@b\0-proto_dist\0inet_tcp\0-ssl_dist_optfile\0/etc/x\0"),
                       "box", NULL, &vm));
    assert_false(vm.tls || vm.tls_optfile[0]);
    expect_vm(LINE(VM "-noshell\0-extra\0-name\0a@b\0"), NULL, 0);
    expect_vm(LINE(VM "-name\0a@b;reboot\0"), NULL, 0);
    expect_vm(LINE(VM "-name\0a@b:12\0"), NULL, 0);
    expect_vm(LINE(VM "-name\0"), NULL, 0);
    expect_vm(LINE("/bin/sh\0-name\0a@b\0"), NULL, 0);
    expect_vm("", 0, NULL, 0);
    /* the last word is cut, and so not taken */
    expect_vm("beam.smp\0-name\0a@b.examp", 24, NULL, 0);
    assert_false(local_vm_parse(LINE(VM "-name\0app\0"), "box", NULL, &vm));
}

static void add_vm(struct local_vms *l, const char *s, size_t n, bool same_network)
{
    assert_true(local_vm_parse(s, n, "box", NULL, &l->at[l->n]));
    l->at[l->n++].same_network = same_network;
}

#define TLS "-proto_dist\0inet_tls\0-ssl_dist_optfile\0"

/* Another user's program can have the arguments of any node. */
static void a_disputed_name_is_not_believed(void **state)
{
    (void)state;
    static struct local_vms l;
    struct local_vm vm;

    add_vm(&l, LINE(VM "-name\0app@a\0" TLS "/etc/x\0"), false);
    add_vm(&l, LINE(VM "-name\0app@box\0" TLS "/etc/x\0"), true);
    add_vm(&l, LINE(VM "-name\0app@b\0"), false); /* it may be of a container */
    add_vm(&l, LINE(VM "-name\0other@box\0"), true);
    assert_false(local_vms_named(&l, "nobody", &vm));
    assert_true(local_vms_named(&l, "app", &vm));
    assert_string_equal(vm.name.full, "app@box");
    assert_true(vm.tls && vm.same_network);
    assert_string_equal(vm.tls_optfile, "/etc/x");
    add_vm(&l, LINE(VM "-name\0app@box\0-erl_epmd_port\09100\0" TLS "/tmp/fifo\0"), true);
    add_vm(&l, LINE(VM "-name\0app@box\0" TLS "/tmp/fifo\0"), true);
    assert_true(local_vms_named(&l, "app", &vm));
    assert_string_equal(vm.name.full, "app@box");
    assert_false(vm.tls || vm.tls_optfile[0] || vm.name.port);
    add_vm(&l, LINE(VM "-name\0app@elsewhere\0"), true);
    assert_true(local_vms_named(&l, "app", &vm));
    assert_string_equal(vm.name.full, "");
}

/* Names are whole or not there, whatever is on the line. */
static void any_command_line(void **state)
{
    (void)state;
    static const char *const words[] = {
        "-name",          "-sname", "a@b",   "a", "",          "-extra",
        "-erl_epmd_port", "9100",   "99999", "@", "a@\x1b[2J", "--"};

    for (int round = 0; round < rng_rounds(20000); round++) {
        char line[200] = "beam.smp";
        size_t n = 9;
        struct local_vm vm;
        while (rng_below(8) && n < 150) {
            const char *w = words[rng_below(sizeof words / sizeof *words)];
            n += (size_t)snprintf(line + n, sizeof line - n, "%s", w) + 1;
        }
        n -= rng_below(4) == 0 ? rng_below(n) : 0;
        if (local_vm_parse(line, n, "box", "box.example.org", &vm))
            assert_true(strchr(vm.name.full, '@') && !strchr(vm.name.full, 27));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(addresses),
        cmocka_unit_test(one_entry_per_node),
        cmocka_unit_test(any_entries),
        cmocka_unit_test(answer_of_epmd),
        cmocka_unit_test(command_lines),
        cmocka_unit_test(a_disputed_name_is_not_believed),
        cmocka_unit_test(any_command_line),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
