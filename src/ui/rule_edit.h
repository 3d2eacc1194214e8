/* The identity rule that an operator edits: the one in force, or typed since. Core thread only. */
#ifndef UI_RULE_EDIT_H
#define UI_RULE_EDIT_H

#include "dialog.h"
#include "message.h"

struct rule_edit {
    char line[PROMPT_BYTES]; /* on one line */
    const char *why;         /* NULL, or why it cannot be on one */
};

void rule_edit_set(struct rule_edit *e, const char *rule);
/* Opens the prompt for it, or says why it cannot be edited here. */
void rule_edit_open(const struct rule_edit *e, struct dialog *d, struct message *m);

#endif
