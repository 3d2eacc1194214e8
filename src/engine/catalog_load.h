/* The catalog of the live node, page by page, call rates of what is in sight, and whether functions
 * are there. Core thread. */
#ifndef KPROF_ENGINE_CATALOG_LOAD_H
#define KPROF_ENGINE_CATALOG_LOAD_H

#include "state.h"

void catalog_load_poll(struct engine *g);
void catalog_load_take(struct engine *g, struct result *r);

#endif
