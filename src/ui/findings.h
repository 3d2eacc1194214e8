/* The screen of findings: sentences that explain the values, the highest score first, each with the
 * screen that proves it (Enter). A finding takes one or more lines. The message
 * line of the other screens has a hint while there is an important finding. Core thread only. */
#ifndef UI_FINDINGS_H
#define UI_FINDINGS_H

#include "screen.h"
#include "scroll.h"

struct findings_state {
    struct scroll at;                 /* of findings, not of lines */
    struct rect drawn[SNAP_FINDINGS]; /* where they were drawn last; rows 0: not drawn */
    const char *rule; /* of the selected finding, which stays selected; NULL: the first */
};

/* The best finding, if it explains a lot: other screens say that it is there. */
struct findings_hint {
    const char *rule; /* NULL: none */
    uint64_t seen_ns; /* wall_ns of the last snapshot that had it */
};

extern const struct screen_ops screen_findings;

void findings_look(struct findings_hint *h, const struct snapshot *s);
bool findings_draw_hint(const struct findings_hint *h, struct canvas *c, int row); /* false: none */

#endif
