/* Requests to app, caused by a key: the ui changes only its own state and returns an intent.
 *
 * Invariant: a value; text is NUL-terminated. The comment of each kind names the other members that
 * the kind uses. */
#ifndef KPROF_UI_INTENT_H
#define KPROF_UI_INTENT_H

#include <kprof/core/full_trace.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>
#include <stdbool.h>
#include <stdint.h>

enum intent_kind {
    INTENT_NONE,
    INTENT_REDRAW, /* only the screen has changed */
    INTENT_QUIT,
    INTENT_TOGGLE,     /* switch tracing on or off; pause or resume a replay */
    INTENT_WINDOW,     /* intent.window */
    INTENT_VIEW_QUERY, /* another snapshot is needed at once, even while paused: ui_view_query says
                        * which
                        */
    INTENT_ZERO,
    INTENT_COMPARE, /* compare with the time shown now, or end the comparison */
    INTENT_EXPORT, /* text: file name; force: overwrite was confirmed; slow_only: only slow requests
                      that pass the filter; processes: the process table; picture: the text format
                      has the content of the screen
                    */
    INTENT_EXPORT_STACKS, /* text: file name; force: overwrite was confirmed */
    INTENT_TIER_ADD,      /* text: [NAME=]M:F/A */
    INTENT_TIER_REMOVE,   /* tier */
    INTENT_ENTRY,         /* text: tier name or "none" */
    INTENT_IDENTITY,      /* text: the rule; empty: none */
    INTENT_TEMPLATE,      /* name by path(...) or shape(...), or undo this */
    INTENT_COMPLETE,      /* text: the function typed so far, without NAME=; app answers with
                             ui_set_completions */
    INTENT_WHY,           /* tier: ask why this tier is empty */
    INTENT_CAPTURE,       /* tier (TIER_TOTAL: the entry): capture its calls, for ui_set_capture */
    INTENT_CAPTURE_END,   /* the capture is canceled or no longer needed */
    INTENT_SLOW,          /* text: the threshold of slow calls, or "off" */
    INTENT_SAVE,          /* text: name of the profile; force: overwrite was confirmed */
    INTENT_PROFILES,      /* list the profiles; app answers with ui_choose */
    INTENT_LOAD,          /* text: name of the profile; force: replacing tiers was confirmed */
    INTENT_PRESETS,       /* list the presets for this node; app answers with ui_choose */
    INTENT_PRESET,        /* text: begins with the preset's name; force: as with INTENT_LOAD */
    INTENT_SUGGESTED,     /* text: 1 or 0 for each item of ui_tick; force: as with INTENT_LOAD */
    /* For the picker: */
    INTENT_CATALOG,       /* load the node's functions again */
    INTENT_CALLEES,       /* tier: load only the functions that it calls */
    INTENT_CATALOG_STOP,  /* stop the loading */
    INTENT_CATALOG_CLOSE, /* the picker is closed */
    INTENT_PICKED,        /* add the functions of ui_picked as tiers */
    INTENT_SAMPLE_UP,     /* sample more requests; play a replay faster */
    INTENT_SAMPLE_DOWN,
    INTENT_MAILBOX, /* measure the time in mailboxes, or stop */
    INTENT_STACK,   /* pid: ask for its current stack; app answers with ui_set_stack */
    /* For the flame graph: */
    INTENT_FLAME,    /* it was opened: continue sampling, or ask what to sample (ui_ask_sampling) */
    INTENT_SAMPLING, /* text: sample these processes from now on (process_choice_parse) */
    INTENT_SAMPLING_TOGGLE,
    INTENT_SAMPLING_END,
    INTENT_SAMPLING_MORE, /* sample each process more often */
    INTENT_SAMPLING_LESS,
    INTENT_FLAME_INSIDE,   /* cells: show the samples inside their requests (ui_show_inside). text:
                              the cells, for the title */
    INTENT_TRIGGER_SAMPLE, /* text: the condition; when it holds, sample stacks */
    INTENT_TRIGGER_RECORD, /* text: the condition; when it holds, write a recording */
    INTENT_TRIGGER_END,
    INTENT_FULL, /* full: begin a full trace */
    INTENT_FULL_END
};

struct intent {
    uint64_t pid;
    enum intent_kind kind;
    enum window window;
    uint16_t tier;
    bool force, slow_only, picture, processes;
    struct slow_filter filter;
    struct view_cells cells;
    struct full_ask full;
    char text[1024];
};

#endif
