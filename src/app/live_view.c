/* New snapshots for the screen. */
#include "live_impl.h"

#include <kprof/base/clock.h>

#define FRESH_NS 500000000u /* a new snapshot this often */

void live_view(struct live *l)
{
    ui_view_query(l->ui, l->snap, &l->query);
    snapshot_free(l->snap);
    l->snap = engine_view(l->g, &l->query);
    l->fresh_at_ns = clock_mono_ns() + FRESH_NS;
    l->dirty = true;
}

void live_refresh(struct live *l)
{
    if (!l->snap || !ui_is_paused(l->ui)) {
        live_view(l);
        return;
    }
    engine_view_state(l->g, l->snap);
    l->fresh_at_ns = clock_mono_ns() + FRESH_NS;
    l->dirty = true;
}
