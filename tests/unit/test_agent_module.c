/* trace/agent: the modules that are loaded into a node, each with the number of its slot. */
#include <kprof/trace/agent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t count(const uint8_t *hay, size_t n, const char *needle)
{
    size_t found = 0, len = strlen(needle);
    for (size_t i = 0; i + len <= n; i++)
        found += memcmp(hay + i, needle, len) == 0;
    return found;
}

static void test_agent_slots(void **state)
{
    struct agent_module a, b;
    size_t differ = 0;
    (void)state;

    agent_module_make(AGENT_MAIN, 0, &a);
    agent_module_make(AGENT_MAIN, 42, &b);
    assert_string_equal(a.name, "kprof_agent_00");
    assert_string_equal(b.name, "kprof_agent_42");
    assert_int_equal(a.len, b.len);
    for (size_t k = 0; k < a.len; k++)
        differ += a.bytes[k] != b.bytes[k];
    for (size_t i = 0; i < 4; i++) {
        static const char *const word[] = {"kprof_agent_42", "kprof_controller_42",
                                           "kprof_relay_42", "kprof_guardian_42"};
        assert_true(count(b.bytes, b.len, word[i]) >= 1);
    }
    assert_true(differ >= 8 && differ % 2 == 0 && differ <= 40); /* names, nothing else */
    assert_int_equal(count(b.bytes, b.len, "LitT"), 0); /* unloading literals can crash a VM */
    agent_module_release(&a);
    agent_module_release(&b);
    agent_module_make(AGENT_TOOLS, 7, &b); /* it calls the functions of the agent in its slot */
    assert_string_equal(b.name, "kprof_tools_07");
    assert_true(count(b.bytes, b.len, "kprof_tools_07") >= 1);
    assert_true(count(b.bytes, b.len, "kprof_agent_07") >= 1);
    assert_int_equal(count(b.bytes, b.len, "_00"), 0);
    assert_int_equal(count(b.bytes, b.len, "LitT"), 0);
    agent_module_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agent_slots),
    };
    return cmocka_run_group_tests_name("agent_module", tests, NULL, NULL);
}
