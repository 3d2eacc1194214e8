/* Keys while a dialog is open, and what follows from what was typed, picked or answered. Above the
 * screens: a dialog may concern any of them. Core thread only. */
#ifndef UI_DIALOG_ANSWER_H
#define UI_DIALOG_ANSWER_H

#include <kprof/ui/intent.h>

struct ui;

struct intent dialog_answer_key(struct ui *u, int key);
/* A code point of a pasted text: only a prompt takes it. */
struct intent dialog_answer_paste(struct ui *u, int cp);

#endif
