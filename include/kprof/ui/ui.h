/* The screens: draw a snapshot and turn keys into intents. The ui uses no node, no socket, no
 * tracker.
 *
 * Invariant: ui_draw changes the canvas and only the part of the ui's state that belongs to
 * drawing: the scroll position that keeps the selection visible, and the positions of what was
 * drawn, for later keys and clicks. ui_key changes only the ui's own state (selection, sort,
 * folding, typed text) and returns an intent for app to carry out. The ui runs on any `canvas`
 * (ncurses or a plain grid in memory), so tests of a screen need no terminal. Core thread only. */
#ifndef KPROF_UI_UI_H
#define KPROF_UI_UI_H

#include <kprof/base/value_tree.h>
#include <kprof/core/call_tree.h>
#include <kprof/core/catalog.h>
#include <kprof/core/flame.h>
#include <kprof/core/full_trace.h>
#include <kprof/core/process_table.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/view_query.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>
#include <kprof/ui/intent.h>
#include <stdbool.h>

struct ui;

/* Writes the settings of the screen that are stored between runs: order, columns, theme, window;
 * one line each. */
void ui_layout_write(const struct ui *u, enum window w, struct buf *out);
/* Applies the known lines of the text; sets *w if the text names a window. Survives any bytes. */
void ui_layout_read(struct ui *u, const char *text, size_t n_bytes, enum window *w);
enum theme ui_theme(const struct ui *u);
void ui_set_theme(struct ui *u, enum theme t);

/* target: the name in "connecting to ..."; copied, may be NULL. */
struct ui *ui_new(const char *target);
void ui_free(struct ui *u);

/* Draws s, which may be NULL (no data yet). The ui stores pause and folding, but no snapshot. While
 * ui_is_paused, the caller passes the same snapshot again, with the present state of the node and
 * of tracing, until an intent requests another one (INTENT_VIEW_QUERY, INTENT_WINDOW), which then
 * shows the same time (ui_view_query). */
void ui_draw(struct ui *u, struct canvas *c, const struct snapshot *s);
struct intent ui_key(struct ui *u, int key,
                     const struct snapshot *s); /* key: enum key, a code point, or a code point
                                                   with KEY_PASTED_ */
/* Does for the mouse what ui_key does for keys: a click selects a line, presses a key of the key
 * bar, or sorts by the column whose title is clicked; a double click is Enter; the wheel moves
 * three lines. */
struct intent ui_mouse(struct ui *u, const struct mouse *m, const struct snapshot *s);
bool ui_is_paused(const struct ui *u);
/* Writes to l what the next snapshot must contain; while the ui is paused, for the time of the
 * pause. l->window does not change until the operator chooses a window. s: the last snapshot, or
 * NULL. */
void ui_view_query(struct ui *u, const struct snapshot *s, struct view_query *l);

/* Sets the catalog of the picker. c: valid until the next call; NULL: none. The caller calls this
 * again when the catalog has changed. */
void ui_set_catalog(struct ui *u, const struct catalog *c);
/* Stores the functions of the picker whose call rates are needed: those in sight, or the first ones
 * if they are sorted by calls; 0 while the picker is closed. */
size_t ui_pick_wanted(const struct ui *u, uint32_t *ids, size_t max);
/* After INTENT_PICKED: returns the i-th picked function, [NAME=]M:F/A; NULL if i is beyond the
 * last. */
const char *ui_picked(const struct ui *u, size_t i);

/* True: the process table is shown; *o is the order to request from the node. */
bool ui_wants_processes(const struct ui *u, struct process_order *o);
/* Hands over the newest table. NULL: why says why there is none. */
void ui_set_processes(struct ui *u, struct process_table *t, const char *why);
/* The table on the screen, and how it is shown (q may be NULL). NULL: there is none. */
const struct process_table *ui_processes(const struct ui *u, struct process_query *q);

/* Passes stack samples to the flame graph screen, which takes ownership of the view. source: their
 * origin, for the title; copied. */
void ui_set_stacks(struct ui *u, struct stack_view *v, const char *source);
/* Passes the samples to compare with, of any profile; takes ownership. */
void ui_set_stacks_base(struct ui *u, struct stack_view *v);
/* Shows the flame graph. home: other screens return to it, not to the table. */
void ui_show_stacks(struct ui *u, bool home);
/* True: the flame graph is on the screen, or behind the help. */
bool ui_shows_stacks(const struct ui *u);
/* Passes the node's report about its sampler to the flame graph screen. A new choice of processes
 * begins a new graph. */
void ui_set_sampling(struct ui *u, const struct snap_sampling *s);
/* After INTENT_FLAME, if nothing is sampled: asks which processes; INTENT_SAMPLING has the answer.
 * Does nothing if a dialog is open or another screen is shown now. */
void ui_ask_sampling(struct ui *u);
/* The operator wants the sampling to go on when the flame graph is left. */
bool ui_keeps_sampling(const struct ui *u);
/* After INTENT_FLAME_INSIDE: shows the flame graph of the samples inside these requests, and takes
 * them over (malloc'ed, ascending). what: of the intent. */
void ui_show_inside(struct ui *u, const struct view_cells *cells, uint64_t *requests, size_t n,
                    const char *what);
/* True: the flame graph shows only samples inside the requests of these cells. */
bool ui_stacks_inside(const struct ui *u, struct view_cells *cells);
/* Sets the requests that these cells have now, before ui_set_stacks; takes ownership. */
void ui_set_stacks_inside(struct ui *u, uint64_t *requests, size_t n);
/* After INTENT_EXPORT_STACKS: the samples on the screen, and the query of the graph. NULL: none. */
const struct stack_view *ui_stacks(const struct ui *u, struct flame_query *q);
/* Sets what the screen shows while there is no tier. names: the presets that fit the node, with ",
 * " between, each with its calls per second if known; "": none fits. Copied. */
void ui_set_presets(struct ui *u, const char *names);
/* Sets the line that shows what the suggested preset would trace; "": there is none. Copied. */
void ui_set_suggested(struct ui *u, const char *text);

/* What the header says about the trigger; "": there is none. acts: its action is under way. Copied.
 */
void ui_set_trigger(struct ui *u, const char *text, bool acts);

/* Passes the progress of the full trace to its screen. */
void ui_set_full(struct ui *u, const struct full_now *now);
/* Passes the result of the full trace, after ui_set_full; takes ownership. */
void ui_set_full_result(struct ui *u, struct call_tree *tree, struct stack_profile *profile);
bool ui_shows_full(const struct ui *u); /* it is on the screen, or behind the help */
/* The call tree on the screen, and what is hidden in it (call_tree_sum was called with it). NULL:
 * none is shown. */
const struct call_tree *ui_call_tree(const struct ui *u, struct call_tree_hide *hide);

/* Sets the identity rule in use, which the operator edits. app calls this at each change of the
 * rule. */
void ui_set_rule(struct ui *u, const char *rule);

/* Answers from app. */
void ui_message(struct ui *u, const char *text, bool is_error); /* one line above the key bar */
/* Passes the progress of a capture, or its result; the ui takes ownership of c->set of a result.
 * Ignored if the argument picker is not open. */
void ui_set_capture(struct ui *u, struct capture *c);
/* Passes the answer to INTENT_STACK: one function per line, innermost first, or the reason why the
 * stack is not known. An answer for another pid than the last requested one is dropped. */
void ui_set_stack(struct ui *u, uint64_t pid, const char *lines, bool dead);
/* Passes the answer to INTENT_COMPLETE. typed: the text of that intent (the answer to an older text
 * is dropped). An item replaces the text after `NAME=` on the line, or the whole line if the item
 * itself starts with `NAME=`. */
void ui_set_completions(struct ui *u, const char *typed, const char *const *items, size_t n);
void ui_ask_overwrite(struct ui *u,
                      const char *path); /* file exists: ask y/n, then INTENT_EXPORT with force */
/* Asks a question with y/n; yes: the intent for y. */
void ui_ask(struct ui *u, const char *question, const struct intent *yes);
/* Opens a menu of items (at most TIER_MAX + 2); the picked item comes as the text of an intent
 * `pick`. title: borrowed while the menu is open. False: the menu was not opened, because a dialog
 * is open or the screen is not the one that requested INTENT_PROFILES or INTENT_PRESETS. */
bool ui_choose(struct ui *u, enum intent_kind pick, const char *title, const char *const *items,
               size_t n);
/* Replaces title and items of the open menu with this intent; the selected item (found by its first
 * word) and the typed text stay. Does nothing if there is no such menu. */
void ui_choose_again(struct ui *u, enum intent_kind pick, const char *title,
                     const char *const *items, size_t n);
/* As ui_choose, but each item can be ticked; at first, all are. The text of the intent has for each
 * item 1, or 0 if it was left out. */
bool ui_tick(struct ui *u, enum intent_kind pick, const char *title, const char *const *items,
             size_t n);
/* Opens a prompt again with its text, the error under it and the caret at byte `at` (for example
 * for a rule that does not parse). If another dialog is open, or the rule does not fit on a line,
 * the error is a message instead; the next edit still starts from the rule, if it fits on a line.
 */
void ui_reprompt(struct ui *u, enum intent_kind which, const char *text, size_t at,
                 const char *error);

#endif
