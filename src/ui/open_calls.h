/* The screen of open calls, the oldest first, with the current stack of the selected call's
 * process. Core thread only. */
#ifndef UI_OPEN_CALLS_H
#define UI_OPEN_CALLS_H

#include "screen.h"
#include "scroll.h"

struct open_calls_state {
    struct scroll at;
    uint64_t pid, start_ns; /* the selected call; 0: always the oldest call */
    uint64_t stack;         /* pid of the process whose stack is shown; 0: none */
    bool dead, asked;
    char lines[4096]; /* lines of the stack */
};

extern const struct screen_ops screen_open_calls;

/* Sets the stack of pid. A stack of another pid than the last requested one is dropped. */
void open_calls_set_stack(struct open_calls_state *t, uint64_t pid, const char *lines, bool dead);

#endif
