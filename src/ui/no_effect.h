/* Why a key did nothing, where the screen itself has not said so. Core thread only. */
#ifndef UI_NO_EFFECT_H
#define UI_NO_EFFECT_H

#include "message.h"

#include <kprof/ui/keys.h>
#include <stdbool.h>
#include <stddef.h>

/* refused: nobody took the key; instead: what to do then, as "? shows the keys". line: where the
 * selection was, and still is, if there is a list. Says nothing if there is a message, or if the
 * key is known to do something. */
void no_effect_say(struct message *m, int key, enum action act, bool refused, const char *instead,
                   size_t line);

#endif
