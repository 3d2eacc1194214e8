/* The identity rule that the operator edits: the rule in use, or a rule that was typed after it.
 * Core thread only. */
#ifndef UI_RULE_EDIT_H
#define UI_RULE_EDIT_H

#include "dialog.h"
#include "message.h"

struct rule_edit {
    char line[PROMPT_BYTES]; /* the rule on one line */
    const char *why;         /* NULL, or why the rule does not fit on one line */
};

void rule_edit_set(struct rule_edit *e, const char *rule);
/* Opens the prompt for the rule, or shows why the rule cannot be edited here. */
void rule_edit_open(const struct rule_edit *e, struct dialog *d, struct message *m);

#endif
