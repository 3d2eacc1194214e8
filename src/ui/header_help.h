/* The labels of the header and what they mean, for the help: one table.
 *
 * Invariant: every label that src/ui/header.c draws is here (it asserts that). Constant; any
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
