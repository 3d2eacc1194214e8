#include "static_calls.h"

#include <kprof/engine/engine.h>

int engine_calls_ask(struct engine *g, const char *function, struct err *e)
{
    if (!g->control || g->state != ENGINE_UP)
        return err_set(e, "the node cannot be asked: it is not connected");
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

static void add_module(void *arg, const char *shown, const char *app, enum code_query_origin origin,
                       const char *behaviours)
{
    (void)origin;
    (void)behaviours;
    catalog_module(arg, shown, app, CATALOG_OWN);
}

static void add_function(void *arg, const char *shown, unsigned arity, bool exported)
{
    catalog_function(arg, shown, arity, exported);
}

/* A function whose code is not there calls nothing that is known. */
void static_calls_take(struct engine *g, const struct result *r)
{
    struct code_query_page page;

    if (r->ix != g->static_calls.gen || g->static_calls.catalog)
        return;
    g->static_calls.catalog = catalog_new();
    struct code_query_sink sink = {g->static_calls.catalog, add_module, add_function};
    if (!r->failed)
        (void)code_query_read(r->text, r->n, &sink, &page);
}

void static_calls_release(struct engine *g)
{
    catalog_free(g->static_calls.catalog);
    g->static_calls.catalog = NULL;
}
