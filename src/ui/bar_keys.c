#include "bar_keys.h"
#include "screens.h"
#include "state.h"

/* On the table, the next steps of the setup first: tiers, then the identity rule. On the flame
 * graph of a node, what is sampled. */
struct bar bar_keys(const struct ui *u, const struct snapshot *s)
{
    struct bar b = {.context = screens_context(u)};
    if (b.context == CTX_TABLE && s && !rows_have_tier(s)) {
        b.first[0] = ACT_PRESETS;
        b.first[1] = ACT_ADD;
        b.first[2] = ACT_CAPTURE;
    } else if (b.context == CTX_TABLE && s && !s->has_identity) {
        b.first[0] = ACT_CAPTURE;
    } else if (b.context == CTX_FLAME && u->flame.live && !u->flame.sampling.replay) {
        b.first[0] = ACT_CHOOSE;
        b.first[1] = ACT_TOGGLE;
        b.first[2] = ACT_STATUSES;
    }
    return b;
}
