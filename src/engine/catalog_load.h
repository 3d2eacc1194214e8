/* Loads the catalog of the live node page by page, measures the call rates of functions in sight,
 * and takes the answers about functions that the node has. Core thread. */
#ifndef KPROF_ENGINE_CATALOG_LOAD_H
#define KPROF_ENGINE_CATALOG_LOAD_H

#include "state.h"

void catalog_load_poll(struct engine *g);
void catalog_load_take(struct engine *g, struct result *r);
/* Adds the page of an answer to c. False: it is unreadable; a part may have been added. */
bool catalog_load_read(struct catalog *c, const struct result *r, struct code_query_page *page);

#endif
