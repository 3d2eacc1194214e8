/* The reason why a key did nothing, if the screen has not given one. Core thread only. */
#ifndef UI_NO_EFFECT_H
#define UI_NO_EFFECT_H

#include "message.h"

#include <kprof/ui/keys.h>
#include <stdbool.h>
#include <stddef.h>

/* refused: no screen used the key; instead: the next action, such as "? shows the keys". line: the
 * selection before the key, if there is a list. Shows nothing if there is a message, or if the key
 * always has an effect. */
void no_effect_say(struct message *m, int key, enum action act, bool refused, const char *instead,
                   size_t line);

#endif
