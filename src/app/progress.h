/* One line on stderr that shows the progress of long work; only if stderr is a terminal.
 *
 * A zeroed struct is ready for use. One thread. The caller must interrupt the work itself
 * (stop_asked). */
#ifndef KPROF_APP_PROGRESS_H
#define KPROF_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    uint64_t next_ns;
    bool shown;
};

void progress_show(struct progress *p, const char *what, double share); /* 0..1; 5 times a second */
void progress_end(struct progress *p);                                  /* removes the line */

#endif
