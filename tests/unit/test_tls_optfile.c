/* erl/tls_optfile: what is taken from a node's -ssl_dist_optfile, and what is said about the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/erl/tls_optfile.h"

#include <kprof/erl/tls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse(const char *text, struct tls_optfile *o, struct err *e)
{
    e->text[0] = 0;
    return tls_optfile_parse(text, strlen(text), "dist.conf", o, e);
}

/* The file of the OTP documentation, with all that a client needs. */
static void a_usual_file(void **state)
{
    static const char text[] =
        "%% -*- erlang -*-\n"
        "[{server,\n"
        "  [{certfile, \"/full/path/to/server_cert.pem\"},\n"
        "   {keyfile, \"/full/path/to/server_key.pem\"},\n"
        "   {password, \"server secret\"},\n"
        "   {verify, verify_peer}, {fail_if_no_peer_cert, true},\n"
        "   {secure_renegotiate, true}]},\n"
        " {client,\n"
        "  [{cacertfile, <<\"/etc/ca.pem\">>},\n"
        "   {certfile, \"client.pem\"}, {keyfile, \"a\" \"b\\x{e9}.key\"},\n"
        "   {password, \"p\\\"w\"}, {verify, verify_peer}, {depth, 3},\n"
        "   {versions, ['tlsv1.3', 'tlsv1.2']}, {secure_renegotiate, true}]}].\n";
    struct tls_optfile o;
    struct err e;

    (void)state;
    assert_int_equal(parse(text, &o, &e), 0);
    assert_string_equal(o.ca, "/etc/ca.pem");
    assert_string_equal(o.cert, "client.pem");
    assert_string_equal(o.key, "ab\xc3\xa9.key");
    assert_string_equal(o.password, "p\"w");
    assert_int_equal(o.depth, 3);
    assert_int_equal(o.first, TLS_VERSION_1_2);
    assert_int_equal(o.last, TLS_VERSION_1_3);
    assert_false(o.verify_none || o.of_server);
    assert_int_equal(o.unused.len, 0);
    tls_optfile_release(&o);
}

/* Before OTP 27 `maybe` is an atom like others; later it may be a keyword. */
static void maybe_is_an_atom_or_a_keyword(void **state)
{
    static const char text[] = "[{client, [{verify_fun, {fun(maybe) -> maybe end, [maybe]}},\n"
                               "  {sni_fun, fun(X) -> maybe X, [X] else _ -> maybe end end},\n"
                               "  {certfile, \"client.pem\"}]}].\n";
    struct tls_optfile o;
    struct err e = {{0}};

    (void)state;
    int rc = parse(text, &o, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(rc, 0);
    assert_string_equal(o.cert, "client.pem");
    tls_optfile_release(&o);
}

static void without_client_the_server_counts(void **state)
{
    struct tls_optfile o;
    struct err e;

    (void)state;
    assert_int_equal(parse("[{server,[{certfile,\"s.pem\"},{verify,verify_none}]}].", &o, &e), 0);
    assert_true(o.of_server && o.verify_none);
    assert_string_equal(o.cert, "s.pem");
    assert_null(o.key);
    tls_optfile_release(&o);
    assert_int_equal(parse("[{client,[]},{server,[{certfile,\"s.pem\"}]}].", &o, &e), 0);
    assert_false(o.of_server);
    assert_null(o.cert);
    tls_optfile_release(&o);
}

/* Options that have an effect and are not used are named. Their values may be any expression. */
static void the_rest_is_named(void **state)
{
    static const struct {
        const char *options, *unused;
    } cases[] = {
        {"{ciphers,[\"ECDHE-ECDSA-AES256-GCM-SHA384\"]}", "ciphers"},
        {"{ciphers,[{a,b}, #{c => <<1,2>>}]}, {crl_check,true}", "ciphers, crl_check"},
        {"{verify_fun,{fun m:f/3,[]}}", "verify_fun"},
        {"{verify_fun,{fun (A, B, C) -> case A of 1 -> {B, C}; _ -> fun () -> x end end end,[]}}",
         "verify_fun"},
        {"{verify_fun,{fun F(A) -> F(A) end, begin x end}}", "verify_fun"},
        {"{password_not,<<\"x\",$\\n,$}>>}, inet6", "password_not, inet6"},
        {"{cacerts, public_key:cacerts_get()}", "cacerts"},
        {"{'odd \x1b[31m name', 1}", "odd ?[31m name"},
        {"{hibernate_after, 5*1000}, {ktls, true}, {dhfile, \"x\"}", ""},
        {"{versions,['tlsv1.2',tlsv1]}", "versions before tlsv1.2"},
    };
    char text[400];
    struct tls_optfile o;
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "[{client,[%s, {certfile,\"c.pem\"}]}].", cases[i].options);
        if (parse(text, &o, &e) < 0)
            fail_msg("%s: %s", text, e.text);
        assert_string_equal(o.unused.data, cases[i].unused);
        assert_string_equal(o.cert, "c.pem");
        tls_optfile_release(&o);
    }
}

static void many_unused_names_are_cut(void **state)
{
    struct buf text;
    struct tls_optfile o;
    struct err e;

    (void)state;
    buf_init(&text, 0);
    buf_adds(&text, "[{client,[");
    for (int i = 0; i < 300; i++)
        buf_addf(&text, "{option_number_%d,[]},", i);
    buf_adds(&text, "{depth,0}]}].");
    assert_int_equal(parse(text.data, &o, &e), 0);
    assert_int_equal(o.depth, 0);
    assert_true(o.unused.len < 250);
    assert_non_null(strstr(o.unused.data, ", ..."));
    tls_optfile_release(&o);
    buf_release(&text);
}

/* Each error message has the position of the error, and contains no text of the file. */
static void mistakes_are_told(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"", "dist.conf:1:1: expected [{client"},
        {"[{client,[]}]", "expected a dot"},
        {"[{client,[]}]. [].", "nothing after the dot"},
        {"[].", "neither {client"},
        {"{client,[]}.", "dist.conf:1:1:"},
        {"[{klient,[]}].", "dist.conf:1:3: expected {client"},
        {"[{client,[]},{client,[]}].", "each once"},
        {"[{client,[{password,SECRET}]}].", "1:21: the value must be a text"},
        {"[{client,[{password,\"SECRET\" ++ \"x\"}]}].", "1:21: the value must be a text"},
        {"[{client,[{password,\"SECRET}]}].", "has no end"},
        {"[{client,[{password,\"SECRET\\x{0}\"}]}].", "NUL"},
        {"[{client,[\n {certfile,file(\"SECRET\")}]}].", "2:12: the value must be a text"},
        {"[{client,[{verify,SECRET}]}].", "verify_peer or verify_none"},
        {"[{client,[{depth,1000}]}].", "0 to 100"},
        {"[{client,[{depth,99999999999999999999}]}].", "0 to 100"},
        {"[{client,[{depth,-1}]}].", "0 to 100"},
        {"[{client,[{versions,['tlsv1.1']}]}].", "needs TLS 1.2"},
        {"[{client,[{versions,tlsv1}]}].", "versions must be a list"},
        {"[{client,[{ciphers,}]}].", "expected a value"},
        {"[{client,[{ciphers,[{a}]", "has no end"},
        {"[{client,[{ciphers 1}]}].", "expected a comma"},
        {"[{client,[1]}].", "expected an option"},
    };
    struct tls_optfile o;
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].text, &o, &e), -1);
        if (strstr(e.text, cases[i].what) == NULL)
            fail_msg("%s: %s", cases[i].text, e.text);
        assert_null(strstr(e.text, "SECRET"));
        tls_optfile_release(&o);
    }
}

/* Every prefix of a file is an error, not a crash. */
static void beginnings(void **state)
{
    static const char text[] =
        "[{client,[{cacertfile,<<\"ca\"/utf8>>},{x,fun (A) -> {A,<<1>>} end},"
        "{versions,['tlsv1.2']}]},{server,[{password,\"p\"},abc]}].";
    struct tls_optfile o;
    struct err e;

    (void)state;
    for (size_t n = 0; n < strlen(text); n++) {
        char *copy = malloc(n + 1);

        assert_non_null(copy);
        memcpy(copy, text, n);
        assert_int_equal(tls_optfile_parse(copy, n, "f", &o, &e), -1);
        tls_optfile_release(&o);
        free(copy);
    }
    assert_int_equal(parse(text, &o, &e), 0);
    assert_string_equal(o.unused.data, "x");
    tls_optfile_release(&o);
}

static void files(void **state)
{
    char path[] = "/tmp/kprof_optfile_XXXXXX";
    struct tls_optfile o;
    struct err e;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[{client,[{keyfile,\"k\"}]}].", 27), 27);
    assert_int_equal(tls_optfile_read(path, &o, &e), 0);
    assert_string_equal(o.key, "k");
    tls_optfile_release(&o);
    assert_int_equal(ftruncate(fd, (off_t)TLS_OPTFILE_BYTES), 0);
    assert_int_equal(tls_optfile_read(path, &o, &e), -1);
    assert_non_null(strstr(e.text, "too long"));
    tls_optfile_release(&o);
    unlink(path);
    close(fd);
    assert_int_equal(tls_optfile_read(path, &o, &e), -1);
    assert_non_null(strstr(e.text, "No such file"));
    tls_optfile_release(&o);
    assert_int_equal(tls_optfile_read("/", &o, &e), -1);
    tls_optfile_release(&o);
}

/* At once: a process of another user can name such a file. */
static void a_fifo_does_not_block(void **state)
{
    char dir[] = "/tmp/kprof_optfile_XXXXXX", path[64];
    struct tls_optfile o;
    struct err e;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/fifo", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10);
    assert_int_equal(tls_optfile_read(path, &o, &e), -1);
    assert_non_null(strstr(e.text, "not a regular file"));
    tls_optfile_release(&o);
    assert_int_equal(tls_check(&(struct tls_opts){.on = true, .ca = path}, NULL, &e), -1);
    assert_non_null(strstr(e.text, "not a regular file"));
    alarm(0);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_file),
        cmocka_unit_test(maybe_is_an_atom_or_a_keyword),
        cmocka_unit_test(without_client_the_server_counts),
        cmocka_unit_test(the_rest_is_named),
        cmocka_unit_test(many_unused_names_are_cut),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(beginnings),
        cmocka_unit_test(files),
        cmocka_unit_test(a_fifo_does_not_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
