/* The menu of what a trigger does. Core thread only. */
#ifndef UI_TRIGGER_MENU_H
#define UI_TRIGGER_MENU_H

#include "dialog.h"

/* set: there is a trigger, which can be ended. */
void trigger_menu_ask(struct dialog *d, bool set);
/* The selected item: asks for the condition, or ends the trigger. */
struct intent trigger_menu_picked(struct dialog *d);

#endif
