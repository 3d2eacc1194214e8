#include "full_keys.h"
#include "shared.h"

bool full_keys(struct full_state *t, struct ui_shared *sh, enum action act, const char *file,
               struct screen_reply *out)
{
    const char *hidden;
    switch (act) {
    case ACT_STATUSES:
        full_state_hide_next(t);
        hidden = full_state_hidden(t);
        message_set(&sh->message, hidden[0] ? hidden : "waits and garbage collections are shown",
                    false);
        return true;
    case ACT_EXPORT:
        if (t->tree.n) {
            dialog_propose(&sh->dialog, PROMPT_FULL_EXPORT, file);
        } else {
            message_set(&sh->message, "there is no trace here yet", true);
        }
        return true;
    case ACT_INSIDE:
        out->open.to = SCREEN_FULL_FLAME;
        return true;
    case ACT_TAKE:
        out->open.to = SCREEN_FULL_LINE;
        return true;
    default:
        return false;
    }
}
