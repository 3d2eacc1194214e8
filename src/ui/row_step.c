#include "row_step.h"

enum row_step row_step_key(struct ui_shared *sh, enum action act, const struct snapshot *s)
{
    size_t before = sh->rows.at.sel;
    enum action step = act == ACT_NEXT_ROW ? ACT_DOWN : act == ACT_PREV_ROW ? ACT_UP : act;
    bool moves = step == ACT_UP || step == ACT_DOWN || step == ACT_HOME || step == ACT_END ||
                 step == ACT_PGUP || step == ACT_PGDN;
    if (!moves || !s || !rows_key(&sh->rows, step, s)) {
        return ROW_STEP_NO;
    }
    if (sh->rows.at.sel != before) {
        return ROW_STEP_MOVED;
    }
    bool up = step == ACT_UP || step == ACT_HOME || step == ACT_PGUP;
    message_set(&sh->message,
                up ? "this is the first row of the table" : "this is the last row of the table",
                false);
    return ROW_STEP_EDGE;
}
