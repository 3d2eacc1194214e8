/* Color themes by name: for a dark terminal, for a light one, and for one with eight colors.
 * ui/paint defines the colors of each theme. Constant data; any thread. */
#ifndef KPROF_BASE_THEME_H
#define KPROF_BASE_THEME_H

#include <stdbool.h>

enum theme { THEME_DARK, THEME_LIGHT, THEME_EIGHT, THEME_COUNT };

const char *theme_name(enum theme t);           /* "dark" "light" "8" */
bool theme_parse(const char *s, enum theme *t); /* false: no such theme */

#endif
