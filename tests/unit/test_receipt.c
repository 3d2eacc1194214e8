/* The last line that is printed: the node's report, with correct singular and plural forms. */
#include <app/receipt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOTHING "detached from n@h; left there: 0 patterns, 0 flags, 0 processes, 0 modules"

static void expect(const char *words, uint64_t holders, const char *line)
{
    struct session_receipt r = {.asked = true, .holders = holders};
    struct buf out;

    snprintf(r.tokens, sizeof r.tokens, "%s", words);
    buf_init(&out, 0);
    receipt_text("n@h", &r, &out);
    assert_string_equal(out.data, line);
    buf_release(&out);
}

static void tokens_are_told_as_they_are(void **state)
{
    (void)state;
    expect("none", 0, NOTHING "; no trace tokens left");
    expect("drained", 0, NOTHING "; no trace tokens left");
    expect("reset", 0, NOTHING "; no trace tokens left");
    expect("drained", 1,
           NOTHING "; 1 idle process keeps an inert trace token until the next message");
    expect("drained", 3,
           NOTHING "; 3 idle processes keep an inert trace token until the next message");
    expect("kept", 0,
           NOTHING
           "; trace tokens were not removed: another tracer prevents it, or it took too long");
    expect("kept", 2,
           NOTHING
           "; trace tokens were not removed: another tracer prevents it, or it took too long");
    expect("mended", 0, NOTHING "; trace tokens: mended");
    expect("", 0, NOTHING);
}

static void counts_agree_with_their_words(void **state)
{
    struct session_receipt r = {
        .asked = true, .patterns = 1, .flags = 1, .processes = 1, .modules = 1, .tokens = "none"};
    struct buf out;

    (void)state;
    buf_init(&out, 0);
    receipt_text("n@h", &r, &out);
    assert_string_equal(out.data,
                        "detached from n@h; left there: 1 pattern, 1 flag, 1 process, 1 module; no "
                        "trace tokens left; the node's code server does not answer; the module "
                        "is removed when it answers");
    buf_clear(&out);
    r.patterns = r.flags = r.processes = r.modules = 2;
    receipt_text("n@h", &r, &out);
    assert_string_equal(out.data,
                        "detached from n@h; left there: 2 patterns, 2 flags, 2 processes, 2 "
                        "modules; no trace tokens left; the node's code server does not answer; "
                        "the modules are removed when it answers");
    buf_clear(&out);
    r.asked = false;
    receipt_text("n@h", &r, &out);
    assert_string_equal(
        out.data, "n@h did not answer the detach request; its agent removes everything within 2 s");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_told_as_they_are),
        cmocka_unit_test(counts_agree_with_their_words),
    };
    return cmocka_run_group_tests_name("receipt", tests, NULL, NULL);
}
