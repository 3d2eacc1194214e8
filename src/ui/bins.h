/* Groups the bins of base/scale into lines, so that they fit. Pure; any thread. */
#ifndef UI_BINS_H
#define UI_BINS_H

#include <stddef.h>

/* bins per line so that bins low .. low + n - 1 fit */
size_t bins_per(size_t low, size_t n, size_t lines);
size_t bins_group(size_t bin, size_t per);
size_t bins_first(size_t group, size_t per);
/* start of the group as text; out: FORMAT_BYTES */
void bins_mark(size_t group, size_t per, char *out);

#endif
