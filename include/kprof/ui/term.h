/* The terminal: shows a canvas through ncurses, reads keys. The only unit that knows ncurses.
 *
 * Invariant: between term_open and term_close the terminal is ours; term_restore is
 * async-signal-safe enough to be called from a crash handler and leaves a sane terminal. One
 * thread. Degrades: no colour, vt100, C locale. */
#ifndef KPROF_UI_TERM_H
#define KPROF_UI_TERM_H

#include <kprof/base/err.h>
#include <kprof/ui/canvas.h>

int term_open(bool no_color, struct err *e); /* -1: not a terminal, or TERM unknown */
void term_close(void);
void term_restore(void);
bool term_is_utf8(void); /* by the locale */
void term_size(int *rows, int *cols);
void term_show(const struct canvas *c); /* sends only what changed */
int term_key(void);                     /* KEY_NONE_ when there is none; never blocks */
int term_fd(void);                      /* for poll */

#endif
