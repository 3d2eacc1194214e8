/* The identity rule in use, and a draft: a rule that the operator has typed and the node has not
 * accepted. The next edit starts from the draft, one time only; if Esc ends that edit, the draft is
 * lost. Core thread only. */
#ifndef UI_RULE_EDIT_H
#define UI_RULE_EDIT_H

#include "dialog.h"
#include "message.h"

struct rule_edit {
    char line[PROMPT_BYTES];  /* the rule on one line */
    const char *why;          /* NULL, or why the rule does not fit on one line */
    char draft[PROMPT_BYTES]; /* "": none */
};

void rule_edit_set(struct rule_edit *e, const char *rule); /* the rule in use; no draft any more */
void rule_edit_draft(struct rule_edit *e, const char *rule);
/* Opens the prompt for the draft, or else for the rule, or shows why the rule cannot be edited
 * here. */
void rule_edit_open(struct rule_edit *e, struct dialog *d, struct message *m);

#endif
