/* What became of events, calls and requests, and how tracing is done: the figures that say whether
 * those of the table can be trusted. The screen of internals shows all of them, the header only
 * those that mean something is wrong.
 *
 * Invariant: each figure comes from the snapshot alone; texts are printable ASCII, but for values
 * with a name from the node (`via`). Pure; any thread. */
#ifndef UI_INTERNALS_H
#define UI_INTERNALS_H

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>
#include <stdbool.h>
#include <stddef.h>

#define INTERNALS_MAX 40

struct internal {
    const char *label;
    char value[120];       /* "": the label is the title of those that follow */
    const char *meaning;   /* in a sentence without a stop; NULL: a title */
    enum style style;      /* of the value: normal, a warning, bad */
    bool in_header;        /* it means that something is wrong: the header shows it, too */
    char header_text[140]; /* what the header shows instead of label and value; "": these */
};

/* Writes all figures to out, which has INTERNALS_MAX places. Returns how many. */
size_t internals_list(const struct snapshot *s, struct internal *out);

#endif
