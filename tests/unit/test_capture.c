/* Captured calls: reading the agent's data into trees; the rule for each part, and the names that
 * it gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_capture.h"
#include "real_terms.h"

#include <kprof/erl/term.h>
#include <kprof/trace/capture.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace/decode.h>
#include <ui/rule.h>

/* Prints, in hexadecimal, what the agent's code makes of these calls. */
#define CALLS                                                                                      \
    "true = code:add_patha(\"build/agent/parts\"),"                                                \
    "P = whereis(kernel_sup),"                                                                     \
    "Calls = [[{get,<<\"/users/1\">>,#{k => [a,{b}],<<\"s p\">> => 1.5,{x,1} => P}}, \"text\"],"   \
    " [{put,<<\"/users/22\">>,#{k => \"ab\"}}, 'odd atom'], [not_a_tuple, <<>>],"                  \
    " [{get,<<\"/\">>,#{lists:seq(1,100) => x}}, lists:seq(1,200)], [{1 bsl 80,<<1:3>>,self}, "    \
    "[]]],"                                                                                        \
    "Hex = fun(T) -> [io_lib:format(\"~2.16.0b\", [X]) || <<X>> <= term_to_binary(T)] end,"

static const char script[] = CALLS "io:put_chars(Hex([kprof_capture_args:call(C) || C <- Calls]))";

/* Applies each rule of KPROF_RULES to each call, with the agent's match specs; gives the names as
 * the relay sends them. */
static const char node_names[] = CALLS
    "Name = fun(Rule, Call) ->"
    " {ok, [{0, _, Spec}], []} = kprof_match_spec:compile(#{tiers => [{0, m, f, 2}], entry => none,"
    "  identity => list_to_binary(Rule), returns => full, sample => 1, epoch => 1}),"
    " {ok, {0, 0, 0, Value}, _, _} = erlang:match_spec_test(Call, Spec, trace),"
    " kprof_name:name(Value) end,"
    "[io:put_chars([Hex(Name(R, C)), 10]) || R <- string:lexemes(os:getenv(\"KPROF_RULES\"), "
    "[10]), C <- Calls]";

static struct value_tree *set;

/* up to the end of the line */
static uint8_t *from_hex(const char *hex, size_t *n)
{
    uint8_t *bytes = malloc(strlen(hex) / 2 + 1);

    *n = strspn(hex, "0123456789abcdef") / 2;
    for (size_t i = 0; i < *n; i++)
        sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
    return bytes;
}

static int setup(void **state)
{
    (void)state;
    char *hex = real_erl(script);
    size_t n;
    uint8_t *bytes = from_hex(hex, &n);
    struct etf c;

    etf_init(&c, bytes, n);
    assert_true(etf_version(&c));
    set = capture_read(&c);
    assert_non_null(set);
    assert_ptr_equal(c.p, c.end);
    free(bytes);
    free(hex);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    value_tree_free(set);
    return 0;
}

/* The part of this call for which rule_write gives this rule. */
static uint32_t node_with(uint32_t call, const char *rule)
{
    struct buf b;
    uint32_t found = VALUE_TREE_NONE;

    buf_init(&b, 0);
    for (uint32_t i = set->call[call]; i < value_tree_call_end(set, call); i++) {
        rule_write(set, i, 0, "m:f/2", &b);
        if (b.len && strcmp(b.data + 6, rule) == 0)
            found = i;
    }
    buf_release(&b);
    if (found == VALUE_TREE_NONE)
        fail_msg("no part has the rule %s", rule);
    return found;
}

static void assert_names(uint32_t call, const char *rule, uint32_t prefix, const char *wanted)
{
    struct rule_names names;
    char line[1000] = "";

    rule_names(set, node_with(call, rule), prefix, &names);
    for (uint32_t i = 0; i < names.n; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%s %u", i ? ", " : "",
                 names.of[i].known ? names.of[i].name : "?", names.of[i].count);
    if (strcmp(line, wanted) != 0)
        fail_msg("%s names %s, not %s", rule, line, wanted);
}

static void what_the_agent_sends_is_read(void **state)
{
    (void)state;
    assert_int_equal(set->calls, 5);
    const struct value_tree_node *arg = &set->node[0];
    assert_int_equal(arg->kind, VALUE_TREE_TUPLE);
    assert_int_equal(arg->parts, 3);
    assert_string_equal(value_tree_str(set, set->node[1].text), "get");
    assert_string_equal(value_tree_str(set, set->node[2].text), "<<\"/users/1\">>");
    assert_string_equal(value_tree_str(set, set->node[2].name), "/users/1");
    assert_int_equal(set->node[2].size, 8);
    assert_int_equal(set->node[3].kind, VALUE_TREE_MAP);
    uint32_t list = node_with(3, "arg(2)");
    assert_int_equal(set->node[list].kind, VALUE_TREE_LIST);
    assert_int_equal(set->node[list].size, 200);
    assert_true(set->node[list].parts < 200 && set->node[list].parts > 10);
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t up = value_tree_parent(set, i);
        assert_true(set->node[i].depth == 0 ? up == VALUE_TREE_NONE
                                            : up < i && set->node[up].end >= set->node[i].end);
    }
}

static void rules_name_as_the_node_would(void **state)
{
    (void)state;
    assert_names(0, "element(1, arg(1))", 0, "get 2, ... 1, put 1, undefined 1");
    assert_names(0, "element(2, arg(1))", 4, "/use 2, undefined 2, / 1");
    assert_names(2, "arg(2)", 2, "undefined 2, <<>> 1, [] 1, te 1"); /* binaries and strings */
    assert_names(
        2, "arg(1)", 0,
        "... ... self 1, get / ... 1, get /users/1 ... 1, not_a_tuple 1, put /users/22 ... 1");
    assert_names(0, "nth(1, map_get(k, element(3, arg(1))))", 0, "undefined 3, 97 1, a 1");
    assert_names(0, "element(1, nth(2, map_get(k, element(3, arg(1)))))", 0, "undefined 4, b 1");
    assert_names(0, "map_get(<<\"s p\">>, element(3, arg(1)))", 0, "undefined 4, 1.5 1");
    assert_names(0, "name(map_get({x,1}, element(3, arg(1))))", 0, "undefined 4, kernel_sup 1");
}

static const char *why_not(struct value_tree *s, uint32_t node)
{
    struct buf b;

    buf_init(&b, 0);
    const char *why = rule_write(s, node, 0, "m:f/1", &b);
    assert_true(why ? b.len == 0 : b.len > 0);
    buf_release(&b);
    return why ? why : "";
}

static void parts_without_a_name_say_why(void **state)
{
    (void)state;
    assert_non_null(strstr(why_not(set, 3), "a map cannot be a name"));
    assert_non_null(strstr(why_not(set, 4), "a list cannot be a name"));
    uint32_t key = VALUE_TREE_NONE;
    for (uint32_t i = 0; i < set->n; i++) {
        if (set->node[i].step == VALUE_TREE_LONG_KEY)
            key = i;
    }
    assert_int_not_equal(key, VALUE_TREE_NONE);
    assert_non_null(strstr(why_not(set, key), "too large"));
    struct capture c = fake_capture_hostile(); /* a key of a parent that a rule cannot contain */
    assert_non_null(strstr(why_not(c.set, c.set->n - 1), "too large"));
    value_tree_free(c.set);
}

static void prefixes_end_where_words_do(void **state)
{
    (void)state;
    uint32_t path = node_with(0, "element(2, arg(1))"); /* /users/1 */
    static const uint32_t down[] = {7, 6, 1, 1};
    uint32_t at = 0;
    for (size_t i = 0; i < sizeof down / sizeof *down; i++) {
        at = rule_prefix_step(set, path, at, -1);
        assert_int_equal(at, down[i]);
    }
    assert_int_equal(at = rule_prefix_step(set, path, at, 1), 6);
    assert_int_equal(at = rule_prefix_step(set, path, at, 1), 7);
    assert_int_equal(rule_prefix_step(set, path, at, 1), 0);
    assert_int_equal(rule_prefix_most(&set->node[path]), 7);
    assert_int_equal(rule_prefix_most(&set->node[path - 1]), 0); /* an atom */
}

/* Of a string it is characters, which have several bytes. */
static void strings_have_prefixes(void **state)
{
    (void)state;
    static const char name[] = "/\xe6\x97\xa5\xe6\x9c\xac/x1";
    struct rule_names names;
    struct value_tree *s = value_tree_new();
    struct value_tree_node n = {
        .kind = VALUE_TREE_STRING, .step = VALUE_TREE_ARG, .nth = 1, .size = 6};
    assert_true(value_tree_call(s));
    n.name = value_tree_text(s, name, sizeof name - 1);
    assert_true(value_tree_open(s, &n));
    value_tree_close(s);
    assert_int_equal(rule_prefix_most(&s->node[0]), 5);
    static const uint32_t down[] = {4, 3, 1, 1};
    uint32_t at = 0;
    for (size_t i = 0; i < sizeof down / sizeof *down; i++) {
        at = rule_prefix_step(s, 0, at, -1);
        assert_int_equal(at, down[i]);
    }
    rule_names(s, 0, 2, &names);
    assert_string_equal(names.of[0].name, "/\xe6\x97\xa5");
    rule_names(s, 0, 6, &names);
    assert_string_equal(names.of[0].name, name);
    value_tree_free(s);
}

/* A prefix of a longer part, and a part with too large a length: nothing after the name is read
 * (sanitizers detect it). */
static void prefixes_stay_within_the_name(void **state)
{
    (void)state;
    struct rule_names names;
    struct value_tree *s = value_tree_new();
    struct value_tree_node n = {
        .kind = VALUE_TREE_BINARY, .step = VALUE_TREE_ARG, .nth = 1, .size = 1000};
    assert_true(value_tree_call(s));
    n.name = value_tree_text(s, "ab-cd", 5);
    assert_true(value_tree_open(s, &n));
    value_tree_close(s);
    assert_int_equal(rule_prefix_most(&s->node[0]), 5);
    for (uint32_t from = 6; from < 5000000; from += 99999) {
        assert_int_equal(rule_prefix_step(s, 0, from, 1), 0);
        assert_int_equal(rule_prefix_step(s, 0, from, -1), rule_prefix_step(s, 0, 0, -1));
    }
    rule_names(s, 0, 99, &names);
    assert_string_equal(names.of[0].name, "ab-cd");
    value_tree_free(s);
    uint32_t path = node_with(0, "element(2, arg(1))"); /* 8 bytes */
    assert_int_equal(rule_prefix_step(set, path, 60, 1), 0);
    assert_int_equal(rule_prefix_step(set, path, 60, -1), 7);
}

static void what_was_cut_is_not_named(void **state)
{
    (void)state;
    struct capture c = fake_capture(); /* the map of call 7 has 503 keys, 3 were sent */
    struct rule_names names;
    struct value_tree *s = c.set;
    uint32_t host = VALUE_TREE_NONE;
    for (uint32_t i = s->call[0]; i < s->call[1]; i++) {
        if (strcmp(value_tree_str(s, s->node[i].key), "host") == 0)
            host = i;
    }
    assert_int_not_equal(host, VALUE_TREE_NONE);
    for (uint32_t i = s->call[7]; i < s->call[8]; i++) {
        if (strcmp(value_tree_str(s, s->node[i].key), "host") == 0)
            s->node[i].key.len = 3; /* another key */
    }
    rule_names(s, host, 0, &names);
    assert_int_equal(names.n, 3);
    assert_string_equal(names.of[0].name, "example.org");
    assert_int_equal(names.of[0].count, 17);
    assert_int_equal(names.of[1].count, 2); /* two calls have no map */
    assert_false(names.of[2].known);
    value_tree_free(s);
}

/* Cut at each byte, and with each byte changed: it is read or refused (sanitizers detect invalid
 * reads). */
static void broken_bytes_are_refused(void **state)
{
    (void)state;
    static const uint8_t whole[] = {131, 108, 0,   0,  0, 1,   108, 0,   0,   0,   1,   104, 4, 100,
                                    0,   1,   't', 97, 2, 100, 0,   1,   'x', 108, 0,   0,   0, 2,
                                    104, 2,   100, 0,  1, 'v', 97,  7,   104, 3,   100, 0,   1, 'b',
                                    97,  1,   109, 0,  0, 0,   1,   'q', 106, 106, 106};
    struct value_tree *s;
    struct etf c;

    for (size_t n = 1; n <= sizeof whole; n++) {
        uint8_t *copy = malloc(n);
        memcpy(copy, whole, n);
        etf_init(&c, copy + 1, n - 1);
        s = capture_read(&c);
        assert_true((s != NULL) == (n == sizeof whole));
        value_tree_free(s);
        free(copy);
    }
    for (size_t i = 1; i < sizeof whole; i++) {
        for (unsigned v = 0; v < 256; v++) {
            uint8_t copy[sizeof whole];
            memcpy(copy, whole, sizeof whole);
            copy[i] = (uint8_t)v;
            etf_init(&c, copy + 1, sizeof whole - 1);
            s = capture_read(&c);
            value_tree_free(s);
        }
    }
}

/* --- every part of every call: the preview equals the node's result --- */

struct pointed {
    uint32_t node, prefix;
};

static size_t all_rules(struct pointed *p, size_t cap, struct buf *rules)
{
    struct buf rule;
    size_t n = 0;

    buf_init(&rule, 0);
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t prefixes[] = {0, rule_prefix_most(&set->node[i]) ? 3 : 0};
        for (size_t k = 0; k < 2; k++) {
            if ((k && !prefixes[k]) || n == cap || rule_write(set, i, prefixes[k], "m:f/2", &rule))
                continue;
            buf_addf(rules, "%s\n", rule.data);
            p[n++] = (struct pointed){i, prefixes[k]};
        }
    }
    buf_release(&rule);
    return n;
}

/* Counts one more call with this name, as rule_names does. */
static void expect(struct rule_names *names, const char *name)
{
    for (uint32_t i = 0; i < names->n; i++) {
        if (strcmp(names->of[i].name, name) == 0) {
            assert_true(names->of[i].count-- > 0);
            return;
        }
    }
    fail_msg("the name \"%s\" of the node is not in the preview", name);
}

static void the_preview_is_what_the_node_says(void **state)
{
    (void)state;
    static struct pointed at[200];
    struct buf rules, name;
    struct rule_names names;

    buf_init(&rules, 0);
    buf_init(&name, 0);
    size_t n = all_rules(at, 200, &rules);
    assert_in_range(n, 40, 150);
    setenv("KPROF_RULES", rules.data, 1);
    char *said = real_erl(node_names), *line = said;
    for (size_t i = 0; i < n; i++) {
        rule_names(set, at[i].node, at[i].prefix, &names);
        bool cut = names.n && !names.of[names.n - 1].known;
        for (uint32_t k = 0; k < set->calls; k++) {
            struct etf c;
            size_t bytes_n;
            uint8_t *bytes = from_hex(line, &bytes_n);
            etf_init(&c, bytes, bytes_n);
            buf_clear(&name);
            assert_true(etf_version(&c) && term_identity(&c, &name, DECODE_IDENT_BYTES));
            if (!cut)
                expect(&names, name.data);
            free(bytes);
            line = strchr(line, '\n') + 1;
        }
    }
    free(said);
    buf_release(&name);
    buf_release(&rules);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_preview_is_what_the_node_says),
    cmocka_unit_test(what_the_agent_sends_is_read),
    cmocka_unit_test(rules_name_as_the_node_would),
    cmocka_unit_test(parts_without_a_name_say_why),
    cmocka_unit_test(prefixes_end_where_words_do),
    cmocka_unit_test(strings_have_prefixes),
    cmocka_unit_test(prefixes_stay_within_the_name),
    cmocka_unit_test(what_was_cut_is_not_named),
    cmocka_unit_test(broken_bytes_are_refused),
};

int main(void)
{
    return cmocka_run_group_tests_name("args", tests, setup, teardown);
}
