/* The reason why a key of the heat map has changed nothing. Core thread only. */
#ifndef UI_HEAT_SAYS_H
#define UI_HEAT_SAYS_H

#include "message.h"

#include <kprof/ui/keys.h>

/* The key did not move map and cursor, because they are at their end. */
void heat_says_end(struct message *m, enum action act);
/* There is no map. False: the key is not a key of the map. */
bool heat_says_none(struct message *m, enum action act, bool has_row);

#endif
