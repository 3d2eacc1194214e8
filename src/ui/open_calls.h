/* The screen of open calls, the oldest first, and where the selected one's process is now. Core
 * thread only. */
#ifndef UI_OPEN_CALLS_H
#define UI_OPEN_CALLS_H

#include "screen.h"
#include "scroll.h"

struct open_calls_state {
    struct scroll at;
    uint64_t pid, start_ns; /* the selected call; 0: the oldest, whatever it is */
    uint64_t stack;         /* whose stack is shown; 0: nobody's */
    bool dead, asked;
    char lines[4096]; /* of the stack */
};

extern const struct screen_ops screen_open_calls;

/* Of another pid than that asked for last: dropped. */
void open_calls_set_stack(struct open_calls_state *t, uint64_t pid, const char *lines, bool dead);

#endif
