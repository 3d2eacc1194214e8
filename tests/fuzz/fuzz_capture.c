/* Any bytes as captured calls of the agent; then selects each part. */
#include <kprof/trace/capture.h>
#include <stdlib.h>
#include <string.h>
#include <ui/rule.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void point_at(const struct value_tree *s, uint32_t node, uint32_t how)
{
    struct rule_names names;
    struct buf rule;
    unsigned sum = 0;
    bool cut;

    buf_init(&rule, 0);
    const char *why = rule_write(s, node, how, "m:f/1", &rule);
    must((why != NULL) == (rule.len == 0) && rule.len <= RULE_BYTES);
    rule_names(s, node, how, &names);
    for (uint32_t i = 0; i < names.n; i++)
        sum += names.of[i].count;
    must(sum == s->calls);
    must(value_tree_alike(s, node, value_tree_call_of(s, node), &cut) <= node);
    buf_release(&rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct etf c;

    etf_init(&c, data, n);
    struct value_tree *s = capture_read(&c);
    must(!s || (s->n <= VALUE_TREE_NODES && s->calls <= VALUE_TREE_CALLS && s->open_n == 0));
    for (uint32_t i = 0; s && i < s->n && i < 300; i++)
        point_at(s, i, i % 2 ? rule_suggest(s, i) : rule_prefix_step(s, i, 0, -1));
    value_tree_free(s);
    return 0;
}
