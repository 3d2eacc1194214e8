#include "stack_note.h"

#include <stdio.h>
#include <string.h>

void stack_note(const struct snap_sampling *s, char out[STACK_NOTE_BYTES])
{
    int n = 0;

    *out = '\0';
    if (s->cut_share > 0)
        n = snprintf(out, STACK_NOTE_BYTES,
                     "%.0f%% of the stacks are deeper than the %u functions that the node reports "
                     "(its backtrace_depth): their outer callers are missing",
                     s->cut_share * 100, (unsigned)s->depth);
    if (s->born > 0 && s->born_s > 0 && strcmp(s->who, "inside") != 0)
        snprintf(out + n, (size_t)(STACK_NOTE_BYTES - n),
                 "%s%.1f processes were started per second: those that ended before they were "
                 "chosen were not sampled",
                 n ? "; " : "", (double)s->born / s->born_s);
}
