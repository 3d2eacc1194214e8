/* The colors of the styles of flame graphs: a part of paint.h. Constant data; any thread. */
#ifndef UI_FLAME_COLOR_H
#define UI_FLAME_COLOR_H

#include "paint.h"

/* st: STYLE_FRAME or a later one. */
struct paint flame_color(enum theme t, enum style st, int colors);

#endif
