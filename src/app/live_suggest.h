/* The suggested preset on the live screen: searched automatically if there is no tier, offered in
 * the list of presets, and shown line by line before it is applied. A part of app/live. Core
 * thread.
 *
 * Invariant: nothing is traced before the operator has accepted the lines. */
#ifndef KPROF_APP_LIVE_SUGGEST_H
#define KPROF_APP_LIVE_SUGGEST_H

#include "survey.h"
#include <kprof/ui/ui.h>

#define LIVE_SUGGEST_NAME "suggested" /* among the presets */

struct live_suggest {
    struct survey survey;
    bool looked; /* automatically, once per run */
    bool asked;  /* the operator waits for it */
};

/* Starts the search when it is due, continues it, and reports the result. */
void live_suggest_poll(struct live_suggest *p, struct engine *g, struct ui *u);
/* Writes its description, for the list of presets. */
void live_suggest_about(const struct live_suggest *p, char *text, size_t cap);
/* Opens the lines of the suggestion; searches for one first if there is none. */
void live_suggest_open(struct live_suggest *p, struct engine *g, struct ui *u);
/* Carries out INTENT_SUGGESTED: sets tiers, entry and rule of the lines that are ticked. */
void live_suggest_take(struct live_suggest *p, struct engine *g, struct ui *u,
                       const struct intent *in);

#endif
