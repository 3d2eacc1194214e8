/* Loads the catalog of the live node page by page, measures the call rates of functions in sight,
 * and takes the answers about functions that the node has. Core thread. */
#ifndef KPROF_ENGINE_CATALOG_LOAD_H
#define KPROF_ENGINE_CATALOG_LOAD_H

#include "state.h"

void catalog_load_poll(struct engine *g);
void catalog_load_take(struct engine *g, struct result *r);

#endif
