/* The terminal: shows a canvas through ncurses and reads keys. Only this unit knows ncurses.
 *
 * Invariant: between term_open and term_close the terminal is ours; term_restore is
 * async-signal-safe enough to be called from a crash handler and leaves a sane terminal. One
 * thread. Works with less on a terminal without colour, on a vt100 and in the C locale. A canvas
 * with shades is shown only where term_has_shades. */
#ifndef KPROF_UI_TERM_H
#define KPROF_UI_TERM_H

#include <kprof/base/err.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>

int term_open(bool no_color, struct err *e); /* -1: not a terminal, or TERM unknown */
void term_theme(enum theme t); /* from the next picture on; cheap if t is the theme in use */
/* Can this terminal show shades (canvas.h), in the theme in use? */
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
