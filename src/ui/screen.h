/* A screen: one table of operations and one line in the registry (src/ui/screens.c).
 *
 * A screen uses its own state (`own`) and the state that all screens share. Screens do not call
 * each other: a reply names the screen to show, and src/ui/ui.c shows it. draw gets the area left
 * by header, message line and key bar (or all above the key bar if `whole`) and may change only the
 * positions of what it drew. on_key gets every key first and returns true if the screen used the
 * key. Core thread only. */
#ifndef UI_SCREEN_H
#define UI_SCREEN_H

#include "full_offer.h"
#include "rect.h"

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>
#include <kprof/ui/intent.h>
#include <kprof/ui/keys.h>

enum screen_id {
    SCREEN_NONE,
    SCREEN_TABLE,
    SCREEN_SLOW,
    SCREEN_WATERFALL,
    SCREEN_HEAT,
    SCREEN_DIST,
    SCREEN_PARTS,
    SCREEN_LOG,
    SCREEN_HELP,
    SCREEN_PICK,
    SCREEN_ARGUMENTS,
    SCREEN_OPEN_CALLS,
    SCREEN_FLAME,
    SCREEN_SUBSECOND,
    SCREEN_INTERNALS,
    SCREEN_PROCESSES,
    SCREEN_FINDINGS,
    SCREEN_FULL_ASK,
    SCREEN_FULL,
    SCREEN_FULL_FLAME,
    SCREEN_FULL_LINE,
    SCREEN_COUNT,
    SCREEN_MAIN = SCREEN_TABLE
};

/* The screen to show next, and its subject. */
struct screen_request {
    enum screen_id to;
    uint64_t trace;   /* SCREEN_WATERFALL: id of the slow request; SCREEN_PICK: see called_by */
    uint16_t tier;    /* SCREEN_ARGUMENTS: tier of the calls; SCREEN_PICK: see called_by */
    const char *name; /* SCREEN_PICK: name of the tier; SCREEN_FULL_ASK: the identity rule; valid
                         while the screen opens */
    uint64_t pid, start_ns;        /* SCREEN_OPEN_CALLS: the call to select; pid 0: the oldest */
    unsigned process_sort;         /* SCREEN_PROCESSES: process_query.sort, plus 1; 0: as before */
    const struct full_offer *full; /* SCREEN_FULL_ASK: what can be traced; NULL: as before */
    bool called_by; /* SCREEN_PICK: only functions that `tier` calls, for the waterfall `trace` */
};

/* The answer of a screen to a key. */
struct screen_reply {
    struct intent intent;       /* for app; INTENT_REDRAW if the screen sets no other */
    struct screen_request open; /* SCREEN_NONE: this screen stays */
    struct full_offer full;     /* what open.full points at */
};

struct scroll;
struct ui_shared;

struct screen_ops {
    const char *name;
    int key; /* key that opens the screen, by ACT_SCREEN or ACT_HELP in keys.c; 0: the main screen,
                or a screen that another one opens */
    unsigned context; /* context of its keys */
    bool whole;       /* draws without the header, but for a warning */
    bool on_request;  /* draws data that a snapshot has only if ui_view_query requests it */
    /* Called when the screen is opened; may set an intent for app. NULL: nothing to prepare. */
    void (*open)(void *own, const struct screen_request *r, struct intent *out);
    void (*draw)(void *own, struct ui_shared *sh, struct canvas *c, struct rect area,
                 const struct snapshot *s);
    bool (*on_key)(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out);
    /* Takes a code point of a pasted text; false: the screen takes no text now. NULL: never. */
    bool (*on_paste)(void *own, int cp);
    struct scroll *(*list)(void *own,
                           struct ui_shared *sh); /* whose lines can be clicked; NULL: none */
    /* Takes a click that is on no line of the list; true: the click had an effect. May be NULL. */
    bool (*on_click)(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s);
};

#endif
