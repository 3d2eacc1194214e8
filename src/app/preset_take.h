/* Applies settings with presets: asks the node which functions it has, and leaves out tiers that it
 * does not have. A part of app/live and app/batch.
 *
 * Invariant: a tier of a preset reaches the engine only after the node has reported that the
 * function exists; the node loads no module for the request. There is at most one request at a
 * time; a newer request replaces an older one. Core thread. */
#ifndef KPROF_APP_PRESET_TAKE_H
#define KPROF_APP_PRESET_TAKE_H

#include <kprof/cli/options_preset.h>
#include <kprof/engine/engine.h>

#define PRESET_TAKE_TAG 8 /* minimum tag of its requests */

struct preset_take {
    struct options want; /* owned; want.preset: the preset that the node is asked for; NULL: none */
    char what[300];      /* its name on the screen: "preset cowboy", "profile shop" */
    uint16_t tag;        /* tag of the request */
    bool asked;
    uint64_t retry_at_ns;
};

/* Copies the trace configuration of o; the request is sent once the node is attached. The caller
 * still owns o. */
void preset_take_want(struct preset_take *p, const struct options *o, const char *what);
/* Does the same for the options of a run if they have a preset; the settings in `first` then have
 * no tiers. */
void preset_take_first(struct preset_take *p, const struct options *o, struct settings *first);
void preset_take_drop(struct preset_take *p); /* drops the settings */
bool preset_take_wanted(const struct preset_take *p);
/* Sends the request when the node can be asked, and sends a failed request again after a second. */
void preset_take_poll(struct preset_take *p, struct engine *g);
/* True: tag is the tag of the latest request. False: of an older request, or of another unit. */
bool preset_take_is_mine(const struct preset_take *p, uint16_t tag);
/* Takes the answer, as passed to engine_hooks.exist. said: a sentence about the tiers that were
 * left out, or "". -1 with err: the node could not be asked (the request is sent again), or has too
 * few tiers of the preset. */
int preset_take_answer(struct preset_take *p, struct engine *g, const bool *there, const char *why,
                       char said[PRESET_SAID_BYTES], struct err *e);

#endif
