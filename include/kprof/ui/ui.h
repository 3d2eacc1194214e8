/* The screens: draw a snapshot, turn keys into intents. Knows no node, no socket, no tracker.
 *
 * Invariant: ui_draw changes nothing but the picture; ui_key changes nothing but the ui's own state
 * (selection, sort, folding, typed text) and returns an intent for app to carry out. Runs on any
 * `canvas` (ncurses or a plain grid in memory), so every screen is tested without a terminal. Core
 * thread only. */
#ifndef KPROF_UI_UI_H
#define KPROF_UI_UI_H

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>
#include <stdbool.h>

enum intent_kind {
    INTENT_NONE,
    INTENT_REDRAW, /* only the picture changed */
    INTENT_QUIT,
    INTENT_TOGGLE, /* tracing on or off */
    INTENT_WINDOW, /* intent.window */
    INTENT_ZERO,
    INTENT_EXPORT,      /* text: file name; force: overwrite was confirmed */
    INTENT_TIER_ADD,    /* text: [NAME=]M:F/A */
    INTENT_TIER_REMOVE, /* tier */
    INTENT_ENTRY,       /* text: tier name or "none" */
    INTENT_IDENTITY,    /* text: the rule; empty: none */
    INTENT_COMPLETE,    /* text: the function typed so far, without NAME=; app answers with
                           ui_set_completions */
    INTENT_WHY,         /* tier: ask why it is empty */
    INTENT_SAMPLE_UP,
    INTENT_SAMPLE_DOWN,
    INTENT_STACK /* current stack of the selected open call */
};

struct intent {
    enum intent_kind kind;
    enum window window;
    uint16_t tier;
    bool force;
    char text[1024];
};

struct ui;

struct ui_opts {
    bool ascii, no_color;
    const char *target; /* what "connecting to ..." names; copied, may be NULL */
};

struct ui *ui_new(const struct ui_opts *o);
void ui_free(struct ui *u);

/* s may be NULL (nothing known yet). Pause and folding are the ui's: while paused it keeps drawing
 * the snapshot that ui_paused_needs says it holds; the caller passes the same pointer again. */
void ui_draw(struct ui *u, struct canvas *c, const struct snapshot *s);
struct intent ui_key(struct ui *u, int key,
                     const struct snapshot *s); /* key: enum key in canvas.h, or a code point */
bool ui_is_paused(const struct ui *u);

/* Answers from app. */
void ui_message(struct ui *u, const char *text, bool is_error); /* one line above the key bar */
/* typed: the text of the INTENT_COMPLETE this answers (an answer to an older one is dropped). An
 * item replaces what follows `NAME=` on the line, or all of it when the item itself starts with
 * `NAME=`. */
void ui_set_completions(struct ui *u, const char *typed, const char *const *items, size_t n);
void ui_ask_overwrite(struct ui *u,
                      const char *path); /* file exists: ask y/n, then INTENT_EXPORT with force */
/* Opens a prompt again with its text and the error under it, caret at byte `at` (a rule that does
 * not parse). */
void ui_reprompt(struct ui *u, enum intent_kind which, const char *text, size_t at,
                 const char *error);

#endif
