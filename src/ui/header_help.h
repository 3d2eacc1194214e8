/* The labels of the header with their meanings, for the help: one table. Labels of internals, which
 * the header shows when they indicate a problem, are in src/ui/internals.c.
 *
 * Invariant: it has every label that src/ui/header.c draws (header.c asserts this). Constant; any
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
