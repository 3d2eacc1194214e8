/* The state that all screens share: the rows and the selected row, the slow requests, the time
 * range, the dialog over the screen, the message under it, the contents of the table without tiers.
 * Each part belongs to the unit that declares it.
 *
 * Invariant: nothing here points into a snapshot. Core thread only. */
#ifndef UI_SHARED_H
#define UI_SHARED_H

#include "dialog.h"
#include "message.h"
#include "rows.h"
#include "rule_edit.h"
#include "slow_list.h"
#include "start.h"
#include "time_range.h"

/* For the header. */
struct ui_trigger {
    char text[320]; /* "": none */
    bool acts;
};

struct ui_shared {
    char target[256]; /* the name in "connecting to ..." */
    int cols;         /* of the last draw */
    struct message message;
    struct dialog dialog;
    struct time_range time_range;
    struct rows rows;
    struct slow_list slow;
    struct rule_edit rule;
    struct start start;
    struct ui_trigger trigger;
};

#endif
