/* The terminal: shows a canvas through ncurses, reads keys. The only unit that knows ncurses.
 *
 * Invariant: between term_open and term_close the terminal is ours; term_restore is
 * async-signal-safe enough to be called from a crash handler and leaves a sane terminal. One
 * thread. Degrades: no colour, vt100, C locale. */
#ifndef KPROF_UI_TERM_H
#define KPROF_UI_TERM_H

#include <kprof/base/err.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>

int term_open(bool no_color, struct err *e); /* -1: not a terminal, or TERM unknown */
void term_theme(enum theme t); /* from the next picture on; cheap when it is the same */
void term_mouse_on(void);      /* clicks and the wheel come as KEY_MOUSE_ */
struct mouse term_mouse(void); /* of the last KEY_MOUSE_ */
void term_close(void);
void term_restore(void);
bool term_is_utf8(void); /* by the locale */
void term_size(int *rows, int *cols);
void term_show(const struct canvas *c); /* sends only what changed */
/* KEY_NONE_ when there is none; never blocks. Of pasted text, its code points with KEY_PASTED_. */
int term_key(void);
int term_fd(void); /* for poll */

#endif
