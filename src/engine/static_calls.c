#include "static_calls.h"

#include "catalog_load.h"

#include <kprof/engine/engine.h>

int engine_calls_ask(struct engine *g, const char *function, struct err *e)
{
    if (engine_can_ask(g, e) < 0)
        return -1;
    static_calls_release(g);
    g->static_calls.gen++;
    control_code_query(g->control, CONTROL_CALLS, g->static_calls.gen, function);
    return 0;
}

struct catalog *engine_calls_take(struct engine *g)
{
    struct catalog *c = g->static_calls.catalog;

    g->static_calls.catalog = NULL;
    return c;
}

/* A function whose code is not there calls nothing that is known. */
void static_calls_take(struct engine *g, struct result *r)
{
    struct code_query_page page;

    if (r->ix != g->static_calls.gen || g->static_calls.catalog)
        return;
    g->static_calls.catalog = catalog_new();
    if (!r->failed)
        (void)catalog_load_read(g->static_calls.catalog, r, &page);
}

void static_calls_release(struct engine *g)
{
    catalog_free(g->static_calls.catalog);
    g->static_calls.catalog = NULL;
}
