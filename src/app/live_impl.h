/* The private state of the live screen. Only live.c (the loop, the engine's hooks), live_view.c
 * (new snapshots) and live_dispatch.c (the operator's intents) use it. Core thread. */
#ifndef KPROF_APP_LIVE_IMPL_H
#define KPROF_APP_LIVE_IMPL_H

#include "live_full.h"
#include "live_preset.h"
#include "live_stacks.h"
#include "live_suggest.h"
#include "live_trigger.h"
#include "redraw_limit.h"
#include <kprof/cli/options.h>
#include <kprof/core/view_query.h>
#include <kprof/engine/engine.h>
#include <kprof/trace/trace_config.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/ui.h>

struct live {
    const struct options *o;
    struct engine *g;
    struct ui *ui;
    struct canvas canvas;
    struct snapshot *snap;
    struct view_query query;
    struct redraw_limit redraw_limit;
    uint64_t fresh_at_ns, rates_at_ns;
    uint32_t catalog_version;
    struct live_preset preset;
    struct live_suggest suggest;
    struct live_stacks stacks;
    struct live_full full;
    struct live_trigger trigger;
    bool dirty, keyed;   /* the screen is out of date; the operator waits for a new one */
    bool detail_refused; /* reported */
    bool quit;
    char rule[TRACE_CONFIG_RULE_BYTES]; /* the rule that the ui received last */
};

/* ---- live_view.c ---- */
void live_view(struct live *l); /* takes a new snapshot */
/* The same; while the screen is paused, only the state of the node and of tracing is renewed. */
void live_refresh(struct live *l);

/* ---- live_dispatch.c ---- */
void live_dispatch(struct live *l, const struct intent *in);

#endif
