/* Settings with presets, as they are traced: the node is asked which functions it has, and what it
 * lacks is left out. A part of app/live and app/batch.
 *
 * Invariant: no tier of a preset reaches the engine before the node has said that it exists;
 * nothing is loaded for it. At most one question at a time; a newer one takes the place of an
 * older. Core thread. */
#ifndef KPROF_APP_PRESET_TAKE_H
#define KPROF_APP_PRESET_TAKE_H

#include <kprof/cli/options_preset.h>
#include <kprof/engine/engine.h>

#define PRESET_TAKE_TAG 2 /* tags of its questions are not below */

struct preset_take {
    struct options want; /* owned; want.preset: what the node is asked for; NULL: nothing */
    char what[300];      /* it, for people: "preset cowboy", "profile shop" */
    uint16_t tag;        /* of the question about it */
    bool asked;
    uint64_t retry_at_ns;
};

/* Remembers what of o is traced; it is asked for once the node is attached. o stays the caller's.
 */
void preset_take_want(struct preset_take *p, const struct options *o, const char *what);
/* The same for the options of a run, if they have a preset: first, its settings, then begin without
 * tiers. */
void preset_take_first(struct preset_take *p, const struct options *o, struct settings *first);
void preset_take_drop(struct preset_take *p); /* nothing more is wanted */
bool preset_take_wanted(const struct preset_take *p);
/* Asks when the node can be asked; a question that failed, again after a second. */
void preset_take_poll(struct preset_take *p, struct engine *g);
/* Is that the answer to its latest question? To an older one it is not. */
bool preset_take_is_mine(const struct preset_take *p, uint16_t tag);
/* The answer, as engine_hooks.exist has it. said: what was left out, in a sentence, or "". -1 with
 * err: the node could not be asked (it is asked again), or has too little of the preset. */
int preset_take_answer(struct preset_take *p, struct engine *g, const bool *there, const char *why,
                       char said[PRESET_SAID_BYTES], struct err *e);

#endif
