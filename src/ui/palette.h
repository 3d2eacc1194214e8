/* The colors of shades (canvas.h): a ramp from little to most, for a dark and for a light
 * background.
 *
 * Invariant: the lightness (CIE L*) of shade 1, 2, ... SHADES changes in even steps, away from the
 * background, so equal steps look equal, also to people who see few hues. The hue changes from
 * violet (dark) through blue and green to yellow (bright). Among the 256 fixed colors of terminals
 * the steps are as even as these allow. Pure; any thread. */
#ifndef UI_PALETTE_H
#define UI_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

/* shade: 1 to SHADES, or SHADE_CURSOR. Returns 0xRRGGBB. */
uint32_t palette_rgb(bool light, unsigned shade);
/* The same as one of 256 colors: one that is the same on all terminals, 16 to 255. */
unsigned palette_256(bool light, unsigned shade);
/* Returns the shade for a part of the maximum, 0 to 1; at least 1. It grows as the cube root, so
 * that small counts stay visible. */
unsigned palette_shade(double part);

#endif
