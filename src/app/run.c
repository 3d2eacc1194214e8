#include "run.h"

#include "baseline.h"
#include "notice.h"
#include "reach_hint.h"
#include "receipt.h"
#include <stdio.h>
#include <string.h>

int run_baseline(struct engine *g, const struct options *o, struct err *e)
{
    const char *slash = o->baseline ? strrchr(o->baseline, '/') : NULL;
    struct snapshot *s = o->baseline ? baseline_load(o->baseline, e) : NULL;

    if (s)
        engine_compare(g, s, slash ? slash + 1 : o->baseline);
    return o->baseline && !s ? -1 : 0;
}

int run_begin(struct engine *g, const struct options *o, const struct conn_target *t, struct err *e)
{
    if (!t->node)
        return engine_replay(g, o->replay, e);
    if (engine_first_settings(g, e) < 0)
        return -1;
    return engine_attach(g, t, e);
}

void run_receipt(const struct conn_target *t, const struct session_receipt *r)
{
    struct buf line;

    if (!t->node)
        return;
    buf_init(&line, 0);
    receipt_text(t->node, r, &line);
    notice(line.data);
    buf_release(&line);
}

void run_hint(const struct conn_target *t, uint16_t port)
{
    struct buf line;

    buf_init(&line, 0);
    if (!t->connect && reach_hint(t->node, port, &line))
        fprintf(stderr, "kprof-top: %s\n", line.data);
    buf_release(&line);
}

int run_end(struct engine *g, const struct conn_target *t)
{
    struct session_receipt receipt;

    if (!g)
        return 0;
    uint16_t port;
    if (t->node && engine_unreached(g, &port))
        run_hint(t, port);
    bool attached = engine_state(g) != ENGINE_FAILED && engine_state(g) != ENGINE_CONNECTING;
    engine_detach(g, &receipt);
    if (attached)
        run_receipt(t, &receipt);
    return engine_free(g);
}
