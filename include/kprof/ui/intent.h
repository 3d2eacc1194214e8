/* What a key asks of app: the ui changes only itself and returns one of these.
 *
 * Invariant: a value; text is NUL-terminated. Which of the other members mean something is said at
 * the kind. */
#ifndef KPROF_UI_INTENT_H
#define KPROF_UI_INTENT_H

#include <kprof/core/snapshot.h>
#include <stdbool.h>
#include <stdint.h>

enum intent_kind {
    INTENT_NONE,
    INTENT_REDRAW, /* only the picture changed */
    INTENT_QUIT,
    INTENT_TOGGLE,     /* tracing on or off; a replay is held, or goes on */
    INTENT_WINDOW,     /* intent.window */
    INTENT_VIEW_QUERY, /* another snapshot is needed at once, even while paused: ui_view_query says
                        * which
                        */
    INTENT_ZERO,
    INTENT_MARK,        /* compare with this moment from now on, or no more */
    INTENT_EXPORT,      /* text: file name; force: overwrite was confirmed; slow_only: the slow
                           calls that filter lets through; picture: as text, it is the screen */
    INTENT_TIER_ADD,    /* text: [NAME=]M:F/A */
    INTENT_TIER_REMOVE, /* tier */
    INTENT_ENTRY,       /* text: tier name or "none" */
    INTENT_IDENTITY,    /* text: the rule; empty: none */
    INTENT_COMPLETE,    /* text: the function typed so far, without NAME=; app answers with
                           ui_set_completions */
    INTENT_WHY,         /* tier: ask why it is empty */
    INTENT_CAPTURE,     /* tier (TIER_TOTAL: the entry): capture its calls, for ui_set_capture */
    INTENT_CAPTURE_END, /* give that up, or: done with it */
    INTENT_SLOW,        /* text: the threshold of slow calls, or "off" */
    INTENT_SAVE,        /* text: name of the profile; force: overwrite was confirmed */
    INTENT_PROFILES,    /* which are there? app answers with ui_choose */
    INTENT_LOAD,        /* text: name of the profile; force: replacing tiers was confirmed */
    INTENT_PRESETS,     /* which can this node have? app answers with ui_choose */
    INTENT_PRESET,      /* text: the preset's name first; force: as with INTENT_LOAD */
    /* The picker's: */
    INTENT_CATALOG,       /* load the node's functions, anew */
    INTENT_CATALOG_STOP,  /* loading takes too long */
    INTENT_CATALOG_CLOSE, /* nobody picks any more */
    INTENT_PICKED,        /* add what ui_picked tells as tiers */
    INTENT_SAMPLE_UP,     /* more requests; a replay goes faster */
    INTENT_SAMPLE_DOWN,
    INTENT_STACK /* pid: where is it now? app answers with ui_set_stack */
};

struct intent {
    uint64_t pid;
    enum intent_kind kind;
    enum window window;
    uint16_t tier;
    bool force, slow_only, picture;
    struct slow_filter filter;
    char text[1024];
};

#endif
