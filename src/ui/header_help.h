/* The labels of the header and what they mean, for the help: one table. Those of internals, which
 * the header shows when they mean a problem, are in src/ui/internals.c.
 *
 * Invariant: every label that src/ui/header.c draws is known here (it asserts that). Constant; any
 * thread. */
#ifndef UI_HEADER_HELP_H
#define UI_HEADER_HELP_H

#include <stddef.h>

struct header_label {
    const char *label, *help;
};

const struct header_label *header_labels(size_t *n); /* in the order in which they are drawn */
const char *header_help(const char *label);          /* NULL: there is no such label */

#endif
