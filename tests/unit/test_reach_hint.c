/* The command for a host that cannot be reached; a hostile name does not become a command. */
#include "rng.h"
#include <app/reach_hint.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

static void expect(const char *node, uint16_t port, const char *line)
{
    struct buf out;

    buf_init(&out, 0);
    if (reach_hint(node, port, &out) != (line[0] != 0))
        fail_msg("%s: %s", node, out.data);
    assert_string_equal(out.data, line);
    buf_release(&out);
}

static void commands(void **state)
{
    (void)state;
    expect("app@web1.example.org", 9100,
           "forward a port to it: ssh -L 9100:web1.example.org:9100 web1.example.org; then: "
           "kprof-top --connect 127.0.0.1:9100 app@web1.example.org");
    expect("app@10.0.0.5:9100", 0,
           "forward a port to it: ssh -L 9100:10.0.0.5:9100 10.0.0.5; then: kprof-top --connect "
           "127.0.0.1:9100 app@10.0.0.5");
    expect("app@fd00::5", 9100,
           "forward a port to it: ssh -L 9100:[fd00::5]:9100 fd00::5; then: kprof-top --connect "
           "127.0.0.1:9100 app@fd00::5");
    expect("app@web1", 0,
           "forward a port to it: ssh -L PORT:web1:PORT web1; then: kprof-top --connect "
           "127.0.0.1:PORT app@web1 (PORT is the port of the node; 'epmd -names' on that host "
           "prints it)");
    expect("app@app-0.app.prod.svc.cluster.local", 9100,
           "forward a port to it: kubectl -n prod port-forward pod/app-0 9100:9100; then: "
           "kprof-top --connect 127.0.0.1:9100 app@app-0.app.prod.svc.cluster.local");
    expect("app@10-0-0-5.prod.pod.cluster.local", 9100,
           "forward a port to it: kubectl -n prod port-forward pod/POD 9100:9100; then: "
           "kprof-top --connect 127.0.0.1:9100 app@10-0-0-5.prod.pod.cluster.local");
}

static void none(void **state)
{
    (void)state;
    static const char *const nodes[] = {"app@localhost",
                                        "app@127.0.0.1",
                                        "app@::1",
                                        "app@127.1.2.3:9100",
                                        "app",
                                        "a@h;reboot",
                                        "a@$(reboot)",
                                        "a@`reboot`",
                                        "a@h|sh",
                                        "a@h>x",
                                        "a@-oProxy",
                                        "a@h\nreboot",
                                        "a'@h",
                                        "a@h&",
                                        "a@a:b:zz",
                                        "\x1b[2Ja@h",
                                        "a@h --connect x"};

    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        expect(nodes[i], 9100, "");
}

/* Of any name, only harmless characters are in the line. */
static void any_name(void **state)
{
    (void)state;
    static const char fixed[] = "abc@@..::--123;|$`'\"\n\x1b \\&(){}<>*?![]#~=%";

    for (int i = 0; i < 20000; i++) {
        char node[32] = "a@";
        struct buf out;
        for (size_t k = 2; k < sizeof node - 1; k++)
            node[k] = rng_below(12) == 0 ? 0 : fixed[rng_below(rng_below(3) ? 15 : sizeof fixed)];
        buf_init(&out, 0);
        if (reach_hint(node, 9100, &out)) {
            size_t rest = strspn(node, "abc@.:-123[]"); /* [ ]: around an IPv6 address */
            assert_int_equal(rest, strlen(node));
            assert_null(strpbrk(out.data, "$`|&<>*?!\n\x1b\"\\"));
        }
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(none),
        cmocka_unit_test(any_name),
    };
    return cmocka_run_group_tests(tests, rng_set_up, NULL);
}
