/* The keys that the key bar shows now. Core thread only. */
#ifndef UI_BAR_KEYS_H
#define UI_BAR_KEYS_H

#include "bar.h"

#include <kprof/core/snapshot.h>

struct ui;

struct bar bar_keys(const struct ui *u, const struct snapshot *s); /* s: may be NULL */

#endif
