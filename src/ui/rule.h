/* The identity rule for a part of a captured call, and the names that it would give.
 *
 * Invariant: the agent's kprof_spec accepts the rule, and the names are those that the rule gives
 * for the captured calls (tests/agent/agent_capture_test.erl compares the same steps with real
 * rules). Pure; any thread. */
#ifndef UI_RULE_H
#define UI_RULE_H

#include <kprof/base/value_tree.h>
#include <stdbool.h>

#define RULE_BYTES      1000
#define RULE_NAME_BYTES 160
#define RULE_PREFIX_MAX                                                                            \
    100u /* the longest prefix, in bytes or characters: a longer value may be truncated */

/* How a part names a request: the length of a prefix (bytes of a binary, characters of a string),
 * or one of these. */
enum { RULE_WHOLE = 0, RULE_PATH = RULE_PREFIX_MAX + 1, RULE_SHAPE };

struct rule_name {
    char name[RULE_NAME_BYTES]; /* bytes, NUL-terminated */
    unsigned count;
    bool known; /* false: the part was shortened when it was captured, so its name is not known here
                 */
};

struct rule_names {
    struct rule_name of[VALUE_TREE_CALLS]; /* most frequent first */
    uint32_t n;
    struct rule_name mine; /* name of the selected call; count unused */
};

/* "M:F/A element(2, arg(1))"; a process is named by its registered name.
 * NULL, or why this part names nothing (then out is empty). */
const char *rule_write(const struct value_tree *s, uint32_t node, uint32_t how,
                       const char *function, struct buf *out);
void rule_names(const struct value_tree *s, uint32_t node, uint32_t how, struct rule_names *out);

/* True: this part can name requests by path or shape. Only a text can. */
bool rule_has_shape(const struct value_tree_node *n);
/* Returns the first proposal for this part: path or shape if it gives fewer names, path if it
 * changes this name, else the whole. */
uint32_t rule_suggest(const struct value_tree *s, uint32_t node);

/* Returns the greatest length of a prefix of this part; 0: the part has no prefix. */
uint32_t rule_prefix_most(const struct value_tree_node *n);
/* Returns the next shorter (step -1) or longer (1) prefix that ends at a word boundary; 0: the
 * whole. A prefix above rule_prefix_most counts as the whole. */
uint32_t rule_prefix_step(const struct value_tree *s, uint32_t node, uint32_t prefix, int step);

/* Writes a rule of any valid length on one line of less than cap bytes, with the same meaning.
 * Returns NULL, or why that is impossible (then out is empty). */
const char *rule_line(const char *rule, char *out, size_t cap);

#endif
