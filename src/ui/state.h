/* The state of the ui: the part that all screens share, and the part of each screen. Only units
 * above the screens use it.
 *
 * Invariant: nothing here points into a snapshot. Core thread only. */
#ifndef UI_STATE_H
#define UI_STATE_H

#include "argument_picker.h"
#include "findings.h"
#include "flame_screen.h"
#include "full_form.h"
#include "full_state.h"
#include "heat.h"
#include "help.h"
#include "open_calls.h"
#include "pick_list.h"
#include "process_screen.h"
#include "screen.h"
#include "shared.h"
#include "table_state.h"
#include "waterfall_screen.h"

#include <kprof/base/theme.h>

struct ui {
    struct ui_shared shared;
    enum screen_id screen;     /* the one that is shown */
    enum screen_id home;       /* the screen to which Esc returns from others */
    enum screen_id flame_from; /* the screen from which the flame graph was opened */
    enum screen_id full_from; /* where the full trace was opened; SCREEN_NONE: Esc goes to `home` */
    enum screen_id calls_from; /* the same for the open calls of a process */
    bool of_finding;           /* the screen proves a finding: Esc goes back to the findings */
    enum screen_id asked_on;   /* the screen that requested app's last menu */
    enum theme theme;
    int bar_row;      /* of the last draw; -1: no bar */
    char profile[80]; /* the name it was last saved under or loaded from */
    char preset[80];  /* the last chosen preset */
    uint64_t
        log_seen_ns; /* lines of the log up to this time were in sight when a key was pressed */
    struct table_state table;
    struct waterfall_state waterfall;
    struct heat_state heat;
    struct open_calls_state open_calls;
    struct process_state processes;
    struct findings_state findings;
    struct findings_hint hint;
    struct flame_state flame;
    struct full_form full_form;
    struct full_state full;
    struct scroll log, internals;
    struct help_state help;
    struct pick_list pick;
    struct argument_picker_state argument_picker;
};

#endif
