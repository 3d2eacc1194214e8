#include "palette.h"

#include <assert.h>
#include <kprof/ui/canvas.h>
#include <math.h>

#define PI 3.14159265358979323846

/* CIE L* at the start and end of the ramp. On white it ends darker, because yellow is hardly
 * visible. */
static const double dark_from = 24, dark_to = 94, light_from = 84, light_to = 14;

/* The hue follows the lightness, so both backgrounds have the same colors. Degrees. */
static const double violet = 318, violet_lightness = 24, yellow = 108, yellow_lightness = 94;

#define CHROMA 75 /* the maximum; less if that cannot be shown */

/* A hue that is not in the ramp; number 198 of 256. */
#define CURSOR     0xff0087u
#define CURSOR_256 198

/* Even steps of lightness among the 6 x 6 x 6 colors, each near the ramp; the result of a search
 * over all. */
static const uint8_t of_256[2][SHADES] = {{54, 91, 26, 31, 36, 41, 185, 191},
                                          {185, 41, 36, 31, 26, 91, 54, 18}};

struct rgb {
    double red, green, blue; /* linear; 0 to 1 if it can be shown */
};

static double lab_cube(double t)
{
    return t > 6.0 / 29 ? t * t * t : (116 * t - 16) * 27 / 24389;
}

/* CIE Lab, white D65, to linear sRGB. */
static struct rgb rgb_of_lab(double l, double a, double b)
{
    double fy = (l + 16) / 116;
    double x = 0.95047 * lab_cube(fy + a / 500), y = lab_cube(fy);
    double z = 1.08883 * lab_cube(fy - b / 200);
    return (struct rgb){3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
                        -0.9692660 * x + 1.8760108 * y + 0.0415560 * z,
                        0.0556434 * x - 0.2040259 * y + 1.0572252 * z};
}

static bool can_be_shown(const struct rgb *k)
{
    return fmin(fmin(k->red, k->green), k->blue) >= 0 && fmax(fmax(k->red, k->green), k->blue) <= 1;
}

/* The highest chroma that can be shown. */
static struct rgb of_lightness(double l)
{
    double part = (l - violet_lightness) / (yellow_lightness - violet_lightness);
    double hue = violet + (yellow - violet) * fmin(fmax(part, 0), 1);
    double along = cos(hue * PI / 180), across = sin(hue * PI / 180);
    for (double chroma = CHROMA; chroma > 0; chroma -= 0.5) {
        struct rgb k = rgb_of_lab(l, chroma * along, chroma * across);
        if (can_be_shown(&k)) {
            return k;
        }
    }
    return rgb_of_lab(l, 0, 0);
}

static uint32_t byte_of(double v)
{
    v = fmin(fmax(v, 0), 1);
    double s = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
    return (uint32_t)(s * 255 + 0.5);
}

uint32_t palette_rgb(bool light, unsigned shade)
{
    assert(shade >= 1 && shade <= SHADE_CURSOR);
    if (shade == SHADE_CURSOR) {
        return CURSOR;
    }
    double from = light ? light_from : dark_from, to = light ? light_to : dark_to;
    struct rgb k = of_lightness(from + (to - from) * (shade - 1) / (SHADES - 1));
    return byte_of(k.red) << 16 | byte_of(k.green) << 8 | byte_of(k.blue);
}

unsigned palette_256(bool light, unsigned shade)
{
    assert(shade >= 1 && shade <= SHADE_CURSOR);
    return shade == SHADE_CURSOR ? CURSOR_256 : of_256[light][shade - 1];
}

unsigned palette_shade(double part)
{
    int above = (int)(cbrt(fmin(fmax(part, 0), 1)) * SHADES);
    return above >= SHADES ? SHADES : (unsigned)above + 1;
}
