/* The screens: draw a snapshot, turn keys into intents. Knows no node, no socket, no tracker.
 *
 * Invariant: ui_draw changes the picture, and of the ui only what belongs to it: how far lists are
 * scrolled so that the selection is seen, and where things were drawn, for keys and clicks that
 * follow. ui_key changes nothing but the ui's own state (selection, sort, folding, typed text) and
 * returns an intent for app to carry out. Runs on any `canvas` (ncurses or a plain grid in memory),
 * so every screen is tested without a terminal. Core thread only. */
#ifndef KPROF_UI_UI_H
#define KPROF_UI_UI_H

#include <kprof/base/value_tree.h>
#include <kprof/core/catalog.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>
#include <kprof/ui/intent.h>
#include <stdbool.h>

struct ui;

/* What of the screen is worth remembering between runs: order, columns, theme, window; a line each.
 */
void ui_layout_write(const struct ui *u, enum window w, struct buf *out);
/* Takes what it understands of the text; *w is set when a window is named. Survives any bytes. */
void ui_layout_read(struct ui *u, const char *text, size_t n_bytes, enum window *w);
enum theme ui_theme(const struct ui *u);
void ui_set_theme(struct ui *u, enum theme t);

struct ui *ui_new(const char *target); /* what "connecting to ..." names; copied, may be NULL */
void ui_free(struct ui *u);

/* s may be NULL (nothing known yet). Pause and folding are the ui's. It keeps no snapshot: while
 * ui_is_paused, the caller passes the one that it has again, until an intent wants another
 * (INTENT_VIEW_QUERY, INTENT_WINDOW), which then is of the same moment (ui_view_query). */
void ui_draw(struct ui *u, struct canvas *c, const struct snapshot *s);
struct intent ui_key(struct ui *u, int key,
                     const struct snapshot *s); /* key: enum key, a code point, or a code point
                                                   with KEY_PASTED_ */
/* The mouse does what keys do: a click selects, on the key bar it is the key, on a column's title
 * it sorts; a double click is Enter; the wheel moves three lines. */
struct intent ui_mouse(struct ui *u, const struct mouse *m, const struct snapshot *s);
bool ui_is_paused(const struct ui *u);
/* What the next snapshot shall show, of the moment it was paused at when it is. l->window stays
 * what it is until the operator chooses one. s: the last snapshot, or NULL. */
void ui_view_query(struct ui *u, const struct snapshot *s, struct view_query *l);

/* The picker. c: valid until the next call; called again when it has changed. NULL: none. */
void ui_set_catalog(struct ui *u, const struct catalog *c);
/* Functions in sight, whose call rates would be of use; 0 when nobody picks. */
size_t ui_pick_wanted(const struct ui *u, uint32_t *ids, size_t max);
/* After INTENT_PICKED: the i-th, [NAME=]M:F/A; NULL past the last. */
const char *ui_picked(const struct ui *u, size_t i);

/* The identity rule in force, as often as it changes: it is what is edited. */
void ui_set_rule(struct ui *u, const char *rule);

/* Answers from app. */
void ui_message(struct ui *u, const char *text, bool is_error); /* one line above the key bar */
/* How far a capture is, or what it brought: then c->set is taken. Nobody waiting: ignored. */
void ui_set_capture(struct ui *u, struct capture *c);
/* The answer to INTENT_STACK: a line a function, innermost first, or why it is not known. Of
 * another pid than that asked for last: dropped. */
void ui_set_stack(struct ui *u, uint64_t pid, const char *lines, bool dead);
/* typed: the text of the INTENT_COMPLETE this answers (an answer to an older one is dropped). An
 * item replaces what follows `NAME=` on the line, or all of it when the item itself starts with
 * `NAME=`. */
void ui_set_completions(struct ui *u, const char *typed, const char *const *items, size_t n);
void ui_ask_overwrite(struct ui *u,
                      const char *path); /* file exists: ask y/n, then INTENT_EXPORT with force */
/* Asks y/n; yes is the intent for y. */
void ui_ask(struct ui *u, const char *question, const struct intent *yes);
/* A menu of items (at most TIER_MAX + 2); the one that is picked comes as the text of an intent
 * `pick`. title: constant. False: nothing was done, the operator is at something else by now (a
 * dialog, another screen than that on which INTENT_PROFILES or INTENT_PRESETS was asked for). */
bool ui_choose(struct ui *u, enum intent_kind pick, const char *title, const char *const *items,
               size_t n);
/* Opens a prompt again with its text and the error under it, caret at byte `at` (a rule that does
 * not parse). When another dialog is open, or the text is a rule that no line can hold, the error
 * is a message instead; a rule that a line can hold is what is edited next all the same. */
void ui_reprompt(struct ui *u, enum intent_kind which, const char *text, size_t at,
                 const char *error);

#endif
