#include "rule_edit.h"
#include "rule.h"

#include <stdio.h>

void rule_edit_set(struct rule_edit *e, const char *rule)
{
    _Static_assert(sizeof e->line > RULE_BYTES, "a rule fits");
    e->why = rule_line(rule, e->line, sizeof e->line);
}

void rule_edit_open(const struct rule_edit *e, struct dialog *d, struct message *m)
{
    char text[200];
    if (!e->why) {
        dialog_prompt(d, PROMPT_IDENTITY, e->line);
        return;
    }
    snprintf(text, sizeof text, "%s: edit it in a profile (W saves, L loads)", e->why);
    message_set(m, text, true);
}
