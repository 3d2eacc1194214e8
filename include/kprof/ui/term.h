/* The terminal: shows a canvas through ncurses and reads keys. Only this unit uses ncurses.
 *
 * Invariant: between term_open and term_close this unit controls the terminal; term_restore is
 * async-signal-safe enough to be called from a crash handler and restores the terminal. One thread.
 * Also works, with fewer features, on a terminal without color, on a vt100 and in the C locale. A
 * canvas with shades is shown only if term_has_shades. */
#ifndef KPROF_UI_TERM_H
#define KPROF_UI_TERM_H

#include <kprof/base/err.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>

int term_open(bool no_color, struct err *e); /* -1: not a terminal, or TERM unknown */
void term_theme(enum theme t); /* from the next draw on; does nothing if t is the theme in use */
/* True: this terminal can show shades (canvas.h), in the theme in use. */
bool term_has_shades(void);
void term_mouse_on(void);      /* clicks and the wheel come as KEY_MOUSE_ */
struct mouse term_mouse(void); /* the event of the last KEY_MOUSE_ */
void term_close(void);
void term_restore(void);
bool term_is_utf8(void); /* by the locale */
void term_size(int *rows, int *cols);
void term_show(const struct canvas *c); /* sends only what changed */
/* Returns the next key, or KEY_NONE_ if there is none; never blocks. Pasted text comes as its code
 * points with KEY_PASTED_. */
int term_key(void);
int term_fd(void); /* for poll */

#endif
