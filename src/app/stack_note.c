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

void stack_note_held(const struct snap_sampling *s, char out[STACK_NOTE_BYTES])
{
    *out = '\0';
    if (s->held)
        snprintf(out, STACK_NOTE_BYTES,
                 "%llu process%s not sampled because of faults of this VM (--hazards lists the "
                 "faults)",
                 (unsigned long long)s->held, s->held == 1 ? " was" : "es were");
}

void stack_note_none(const struct snap_sampling *s, bool initial_call, char out[STACK_NOTE_BYTES])
{
    if (s->held && s->processes == 0)
        snprintf(
            out, STACK_NOTE_BYTES,
            "no process was sampled: on this VM it is not safe to ask %s for a stack (--hazards "
            "lists the faults)",
            s->held == 1 ? "the chosen process" : "the chosen processes");
    else
        snprintf(out, STACK_NOTE_BYTES,
                 "no process was sampled: no process was chosen, or none had one of the sampled "
                 "statuses; try --profile wall, or --statuses all%s",
                 initial_call ? " (a process that proc_lib started has the initial call "
                                "proc_lib:init_p/5 or /3; or use its name, or app:NAME)"
                              : "");
}
