/* Counters of events, calls and requests, and the state of tracing: the values that show whether
 * the table can be trusted. The screen of internals shows all of them, the header only those that
 * indicate a problem.
 *
 * Invariant: each value comes from the snapshot alone; texts are printable ASCII, except values
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
    char value[144];       /* "": the label is the title of the following values */
    const char *meaning;   /* a sentence without a full stop; NULL: a title */
    enum style style;      /* of the value: normal, a warning, bad */
    bool in_header;        /* it indicates a problem: the header shows it, too */
    char header_text[140]; /* text in the header instead of label and value; "": label and value */
};

/* Writes all values to out, which has room for INTERNALS_MAX. Returns the number. */
size_t internals_list(const struct snapshot *s, struct internal *out);
const char *internals_meaning(const char *label); /* NULL: there is no such label */

#endif
