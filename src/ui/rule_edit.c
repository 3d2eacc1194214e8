#include "rule_edit.h"
#include "rule.h"

#include <stdio.h>

void rule_edit_set(struct rule_edit *e, const char *rule)
{
    _Static_assert(sizeof e->line > RULE_BYTES, "a rule fits");
    e->why = rule_line(rule, e->line, sizeof e->line);
    e->draft[0] = 0;
}

void rule_edit_draft(struct rule_edit *e, const char *rule)
{
    if (rule_line(rule, e->draft, sizeof e->draft)) {
        e->draft[0] = 0; /* it does not fit, and half of it would be another rule */
    }
}

void rule_edit_open(struct rule_edit *e, struct dialog *d, struct message *m)
{
    char text[200];
    if (e->draft[0]) {
        dialog_prompt(d, PROMPT_IDENTITY, e->draft);
        e->draft[0] = 0;
        return;
    }
    if (!e->why) {
        dialog_prompt(d, PROMPT_IDENTITY, e->line);
        return;
    }
    snprintf(text, sizeof text, "%s: edit it in a profile (W saves, L loads)", e->why);
    message_set(m, text, true);
}
