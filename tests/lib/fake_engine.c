#include "fake_engine.h"

#include <unistd.h>

struct engine *fake_engine_new(const struct settings *s, const struct engine_hooks *hooks,
                               hear_fn *hear, unsigned most)
{
    struct err e;

    peers_begin(hear, most);
    return engine_new(s, hooks, &e);
}

int fake_engine_attach(struct engine *g)
{
    static const struct conn_target node = {.node = "n@h", .cookie = "cookie"};
    struct err e;

    return engine_attach(g, &node, &e);
}

void fake_engine_turn(struct engine *g)
{
    engine_poll(g);
    usleep(200);
}

void fake_engine_free(struct engine *g)
{
    engine_free(g);
    peers_end();
}
