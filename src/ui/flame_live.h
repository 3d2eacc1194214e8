/* The flame graph screen while a node is sampled: the choice of processes, the keys that start, end
 * and change the sampling, the line with its cost, and the reason for missing samples.
 *
 * Invariant: pure, except for the state of the screen; the node is asked by app, through intents.
 * Core thread only. */
#ifndef UI_FLAME_LIVE_H
#define UI_FLAME_LIVE_H

#include "dialog.h"
#include "flame_state.h"
#include "message.h"

#include <kprof/ui/canvas.h>
#include <kprof/ui/intent.h>
#include <kprof/ui/keys.h>

/* Takes the state of the node's sampler. A new choice of processes starts a new graph: not frozen,
 * compared only with a baseline, and only of running processes if the choice has many. */
void flame_live_set(struct flame_state *t, const struct snap_sampling *s);
/* Opens the menu of choices. */
void flame_live_ask(struct dialog *d);
/* An item of that menu was picked: an intent, or the prompt for the other choices. */
struct intent flame_live_picked(struct dialog *d);
/* Keys of sampling; false: it is not one of them. */
bool flame_live_key(struct flame_state *t, struct dialog *d, struct message *m, enum action act,
                    struct intent *out);
/* Shows running processes only, or those of all statuses; the caller makes the graph again. */
void flame_live_statuses(struct flame_state *t, struct message *m);
bool flame_live_only_running(const struct flame_state *t);
void flame_live_draw(const struct flame_state *t, struct canvas *c, struct rect a);
/* Why there are no samples, a sentence or two. */
void flame_live_why(const struct flame_state *t, char *out, size_t cap);

#endif
