/* The identity rule at a part of a captured call, and what it would name.
 *
 * Invariant: the rule is one that the agent's kprof_spec takes, and the names are those that it
 * would give for the captured calls (tests/agent/agent_point.erl compares the same walk with real
 * rules). Pure; any thread. */
#ifndef UI_RULE_H
#define UI_RULE_H

#include <kprof/base/value_tree.h>
#include <stdbool.h>

#define RULE_BYTES      1000
#define RULE_NAME_BYTES 160
#define RULE_PREFIX_MAX 100u /* longer names are not known here to the byte */

/* How a part names a request: by so many bytes of it, or by one of these. */
enum { RULE_WHOLE = 0, RULE_PATH = RULE_PREFIX_MAX + 1, RULE_SHAPE };

struct rule_name {
    char name[RULE_NAME_BYTES]; /* bytes, NUL-terminated */
    unsigned count;
    bool known; /* false: the part was cut when it was captured, so its name is not known here */
};

struct rule_names {
    struct rule_name of[VALUE_TREE_CALLS]; /* most frequent first */
    uint32_t n;
    struct rule_name mine; /* of the call that is pointed at; count unused */
};

/* "M:F/A element(2, arg(1))"; a process is named by its registered name.
 * NULL, or why this part names nothing (then out is empty). */
const char *rule_write(const struct value_tree *s, uint32_t node, uint32_t how,
                       const char *function, struct buf *out);
void rule_names(const struct value_tree *s, uint32_t node, uint32_t how, struct rule_names *out);

/* May this part be named by path or shape? Only a text may. */
bool rule_has_shape(const struct value_tree_node *n);
/* How to begin with this part: by path or shape where that leaves fewer names, else the whole. */
uint32_t rule_suggest(const struct value_tree *s, uint32_t node);

/* Bytes that a prefix of this part may have: at most; 0: it has none. */
uint32_t rule_prefix_most(const struct value_tree_node *n);
/* The next shorter (step -1) or longer (1) prefix that ends where a word does; 0: the whole. A
 * prefix longer than this part may have counts as the whole. */
uint32_t rule_prefix_step(const struct value_tree *s, uint32_t node, uint32_t prefix, int step);

/* The rule, as long as it may be, on one line of less than cap bytes, meaning the same. NULL, or
 * why that cannot be (then out is empty). */
const char *rule_line(const char *rule, char *out, size_t cap);

#endif
