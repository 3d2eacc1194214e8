/* Colour themes by name: for a dark or a light terminal, or for one of eight colours. What a theme
 * looks like is the terminal's affair. Constant data; any thread. */
#ifndef KPROF_BASE_THEME_H
#define KPROF_BASE_THEME_H

#include <stdbool.h>

enum theme { THEME_DARK, THEME_LIGHT, THEME_EIGHT, THEME_COUNT };

const char *theme_name(enum theme t);           /* "dark" "light" "8" */
bool theme_parse(const char *s, enum theme *t); /* false: no such theme */

#endif
