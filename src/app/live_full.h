/* Full traces on the live screen: begins and ends them as the operator wants, and passes progress
 * and result to the screen. A part of app/live. Core thread. */
#ifndef KPROF_APP_LIVE_FULL_H
#define KPROF_APP_LIVE_FULL_H

#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

struct live_full {
    enum full_stage state; /* of the last poll */
    uint64_t next_ns;
};

/* Carries out INTENT_FULL and INTENT_FULL_END. */
void live_full(struct live_full *p, struct engine *g, struct ui *u, const struct intent *in);
/* True: the screen is out of date. */
bool live_full_poll(struct live_full *p, struct engine *g, struct ui *u);
/* Carries out INTENT_EXPORT_STACKS to a text file while the call tree is shown. False: none is
 * shown, or the file is not a text file.
 */
bool live_full_export(struct ui *u, const struct intent *in);

#endif
