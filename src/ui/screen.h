/* A screen: one table of operations, one line in the registry (src/ui/screens.c).
 *
 * A screen sees its own state (`own`) and what all screens share. It knows no other screen: it
 * answers which one shall be shown, and src/ui/ui.c shows it. draw gets the area left by header,
 * message line and key bar (or all above the key bar if `whole`) and may only remember where it
 * drew; on_key gets every key first and returns whether it was for it. */
#ifndef UI_SCREEN_H
#define UI_SCREEN_H

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
    SCREEN_LOG,
    SCREEN_HELP,
    SCREEN_PICK,
    SCREEN_ARGUMENTS,
    SCREEN_OPEN_CALLS,
    SCREEN_COUNT,
    SCREEN_MAIN = SCREEN_TABLE
};

/* Which screen to show next, and of what. */
struct screen_request {
    enum screen_id to;
    uint64_t trace; /* SCREEN_WATERFALL: of this slow request */
    uint16_t tier;  /* SCREEN_ARGUMENTS: of calls of this tier */
};

/* What a screen answers to a key. */
struct screen_reply {
    struct intent intent;       /* for app; INTENT_REDRAW unless said */
    struct screen_request open; /* SCREEN_NONE: this screen stays */
};

struct scroll;
struct ui_shared;

struct screen_ops {
    const char *name;
    int key; /* opens it, by ACT_SCREEN or ACT_HELP in keys.c; 0: the main screen, or opened from
                another */
    unsigned context; /* its keys */
    bool whole;       /* draws without the header */
    bool on_request;  /* draws what a snapshot has only when ui_view_query asks for it */
    /* It is shown from now on; may set what app is to do. NULL: nothing to prepare. */
    void (*open)(void *own, const struct screen_request *r, struct intent *out);
    void (*draw)(void *own, struct ui_shared *sh, struct canvas *c, struct rect area,
                 const struct snapshot *s);
    bool (*on_key)(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out);
    /* A code point of a pasted text; false: nothing is typed here. NULL: never. */
    bool (*on_paste)(void *own, int cp);
    struct scroll *(*list)(void *own,
                           struct ui_shared *sh); /* whose lines can be clicked; NULL: none */
    /* A click that is on no line of the list; true: it meant something. May be NULL. */
    bool (*on_click)(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s);
};

#endif
