/* Typing in a menu: the cursor moves to the first item that begins with the typed text, else to the
 * first that contains it. A letter with which no item begins is handled as a key of the menu, if
 * the menu has such a key and nothing has been typed. Core thread only. */
#ifndef UI_MENU_TYPE_H
#define UI_MENU_TYPE_H

#include "dialog.h"

#include <kprof/ui/keys.h>

/* act: what the key means in a menu. False: the key is not typed text. */
bool menu_type(struct menu *m, int key, enum action act);
/* Moves the cursor to the item that begins with this word, if there is one. */
void menu_select(struct menu *m, const char *name);

#endif
