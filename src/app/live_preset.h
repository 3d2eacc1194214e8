/* Presets on the live screen: offers them, asks for a module if a preset needs one, and applies
 * them. A part of app/live. Core thread. */
#ifndef KPROF_APP_LIVE_PRESET_H
#define KPROF_APP_LIVE_PRESET_H

#include "live_suggest.h"
#include "preset_take.h"
#include <kprof/engine/engine.h>
#include <kprof/ui/ui.h>

#define LIVE_PRESETS 32

struct live_preset {
    struct live_suggest *suggest; /* offered after the presets that fit */
    struct preset_take
        take; /* the preset that is applied when the node has reported its functions */
    bool there[ENGINE_EXIST]; /* candidates of the presets offered last, one after another: the node
                                 has them */
    bool known;               /* `there` is set */
    bool start_asked;  /* the node was asked once which presets fit it, for a table without tiers */
    bool wanted;       /* P was pressed before the node could be asked */
    char title[100];   /* of the list */
    uint32_t counts;   /* the count of calls (survey.counts) that the lists show */
    bool counting;     /* the list says that calls are counted */
    uint64_t offer_ns; /* the list opens when calls are counted, or at this time at the latest; 0:
                          none */
};

/* Carries out INTENT_PRESETS and INTENT_PRESET. */
void live_preset(struct live_preset *p, struct engine *g, struct ui *u, const struct intent *in);
/* When the node can be asked: asks it about the chosen preset. Asks which presets fit it if the
 * operator waits for that, and once if there is no tier. Shows new counts of calls, and opens the
 * menu that waits for them. */
void live_preset_poll(struct live_preset *p, struct engine *g, struct ui *u);
/* Takes the answer of engine_hooks.exist: names the presets on the table without tiers and opens
 * the menu (not before the first count of calls has ended, because the count sets the order),
 * unless a dialog or another screen is open then; or applies the chosen preset. */
void live_preset_exist(struct live_preset *p, struct engine *g, struct ui *u, uint16_t tag,
                       const bool *there, const char *why);

#endif
