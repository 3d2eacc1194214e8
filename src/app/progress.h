/* One line on stderr that says how far long work is; only where stderr is a terminal.
 *
 * Zeroed is ready. One thread. Interrupting the work is its owner's (stop_asked). */
#ifndef KPROF_APP_PROGRESS_H
#define KPROF_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    uint64_t next_ns;
    bool shown;
};

void progress_show(struct progress *p, const char *what, double share); /* 0..1; 5 times a second */
void progress_end(struct progress *p);                                  /* the line goes away */

#endif
