#include "progress.h"

#include <kprof/base/clock.h>
#include <kprof/cli/optval.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY_NS 200000000u

void progress_show(struct progress *p, const char *what, double share)
{
    uint64_t now = clock_mono_ns();
    if (now < p->next_ns || !isatty(STDERR_FILENO))
        return;
    /* Short work shows no progress. */
    if (p->next_ns) {
        fprintf(stderr, "\rreading %s: %.0f %% (^C stops) ", optval_show(what).s, share * 100);
        p->shown = true;
    }
    p->next_ns = now + EVERY_NS;
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    *p = (struct progress){0};
}
