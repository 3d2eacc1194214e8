/* A first check of an identity rule's text, before the node has it: names and strings end, brackets
 * match, blocks have their end. Only the node knows whether the rule can be translated.
 *
 * Invariant: a rule that the node accepts passes. Any thread. */
#ifndef KPROF_ENGINE_RULE_SYNTAX_H
#define KPROF_ENGINE_RULE_SYNTAX_H

#include <kprof/base/err.h>

/* Returns 0, or -1 with err: a sentence with line and column. "" has no error: it means no rule. */
int rule_syntax_check(const char *rule, struct err *e);

#endif
