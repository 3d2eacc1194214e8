/* Takes keys while a dialog is open, and carries out its result. This unit is above the screens,
 * because a dialog may change any of them. Core thread only. */
#ifndef UI_DIALOG_ANSWER_H
#define UI_DIALOG_ANSWER_H

#include <kprof/ui/intent.h>

struct ui;

struct intent dialog_answer_key(struct ui *u, int key);
/* Takes a code point of a pasted text; only a prompt uses it. */
struct intent dialog_answer_paste(struct ui *u, int cp);

#endif
