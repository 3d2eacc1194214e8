/* The time in mailboxes of a row, beside the duration of its calls, and how busy its processes
 * are: lines for the screen of the parts.
 *
 * Invariant: draws only in its rectangle; draws nothing for a row without such times and without
 * busy processes. Core thread only. */
#ifndef UI_MAILBOX_LINES_H
#define UI_MAILBOX_LINES_H

#include "rect.h"

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>

/* Returns the number of lines drawn: at most a.rows, and at most MAILBOX_LINES. */
enum { MAILBOX_LINES = 4 };
int mailbox_lines_draw(struct canvas *c, struct rect a, const struct snap_row *r);

#endif
