/* The contents of the table while there is no tier: three things to do, with data about the node.
 *
 * Invariant: owns its texts; nothing points into a catalog. It sends no requests: app and the
 * picker's catalog pass the data. Core thread only. */
#ifndef UI_START_H
#define UI_START_H

#include "rect.h"

#include <kprof/core/catalog.h>
#include <kprof/ui/canvas.h>

struct start {
    bool presets_known;  /* the node has been asked */
    char presets[300];   /* those that fit the node, by name; "": none */
    char suggested[300]; /* what the preset "suggested" would trace; "": there is none */
    char busiest[300];   /* functions known to be called most, with calls per second; "": none */
};

/* names, text: copied */
void start_set_presets(struct start *t, const char *names);
void start_set_suggested(struct start *t, const char *text);
/* Takes the exported functions that are called most, as far as their calls were counted. c NULL: no
 * change. */
void start_set_catalog(struct start *t, const struct catalog *c);
void start_draw(const struct start *t, struct canvas *c, struct rect a);

#endif
