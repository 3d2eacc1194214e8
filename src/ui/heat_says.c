#include "heat_says.h"

static const char *end_of(enum action act)
{
    switch (act) {
    case ACT_FINER:
        return "a column cannot be shorter than a second";
    case ACT_COARSER:
        return "a column cannot be longer";
    case ACT_UP:
        return "the map ends here: nothing took longer";
    case ACT_DOWN:
        return "the map ends here: nothing was faster";
    case ACT_LATER:
    case ACT_PGDN:
    case ACT_RIGHT:
    case ACT_END:
        return "this is the newest column";
    default:
        return "this is the first column";
    }
}

void heat_says_end(struct message *m, enum action act)
{
    message_set(m, end_of(act), false);
}

bool heat_says_none(struct message *m, enum action act, bool has_row)
{
    switch (act) {
    case ACT_OPEN:
    case ACT_TAKE:
    case ACT_BEGIN_MARK:
    case ACT_INSIDE:
    case ACT_EVENT_LATER:
    case ACT_EVENT_EARLIER:
    case ACT_FINER:
    case ACT_COARSER:
    case ACT_UP:
    case ACT_DOWN:
    case ACT_LEFT:
    case ACT_RIGHT:
    case ACT_HOME:
    case ACT_END:
    case ACT_PGUP:
    case ACT_PGDN:
        message_set(m, has_row ? "the history is still being read" : "no row is selected", true);
        return true;
    default:
        return false;
    }
}
