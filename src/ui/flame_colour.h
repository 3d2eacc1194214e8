/* The colours of the styles of flame graphs, in a terminal of 256 colours or of eight. Constant
 * data; any thread. */
#ifndef UI_FLAME_COLOUR_H
#define UI_FLAME_COLOUR_H

#include <kprof/ui/canvas.h>
#include <stdbool.h>

/* Sets the numbers of the colours of character and background. False: the style is none of flame
 * graphs. */
bool flame_colour(enum theme t, enum style st, int colours, short *ink, short *paper);

#endif
