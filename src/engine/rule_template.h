/* Wraps an identity rule in path(...) or shape(...), so that many names become few.
 *
 * Invariant: the agent accepts the new rule if it accepts the old one. In a tuple only the elements
 * whose names change are wrapped; atoms, numbers, texts and name(...) are not. Pure; any thread. */
#ifndef KPROF_ENGINE_RULE_TEMPLATE_H
#define KPROF_ENGINE_RULE_TEMPLATE_H

#include <kprof/base/buf.h>
#include <stddef.h>
#include <stdint.h>

enum rule_how { RULE_AS_IS, RULE_BY_PATH, RULE_BY_SHAPE };

struct rule_template_names { /* names that the rule gives now; borrowed */
    const char *const *name;
    const uint64_t *calls;
    size_t n;
};

/* Returns what makes at most half as many names: path if most of them look like paths or URLs, else
 * shape; RULE_AS_IS: neither does. */
enum rule_how rule_template_fit(const struct rule_template_names *names);
/* Appends the resulting names, the most frequent first: "/cart 812, /login 40 and 2 more". Returns
 * their number. */
size_t rule_template_preview(const struct rule_template_names *names, enum rule_how how,
                             struct buf *out);
/* Appends the wrapped rule to out. Returns NULL, or why that is impossible. */
const char *rule_template_wrap(const char *rule, enum rule_how how,
                               const struct rule_template_names *names, struct buf *out);

#endif
