#include "redraw_limit.h"

bool redraw_limit_draw(struct redraw_limit *p, uint64_t now_ns, bool key)
{
    uint64_t since = now_ns - p->at_ns, least = key ? 1 : REDRAW_LIMIT_BURST;

    p->at_ns = now_ns;
    p->used_ns = p->used_ns > since ? p->used_ns - since : 0;
    if (p->used_ns + least * REDRAW_LIMIT_GAP_NS > REDRAW_LIMIT_BURST * REDRAW_LIMIT_GAP_NS)
        return false;
    p->used_ns += REDRAW_LIMIT_GAP_NS;
    return true;
}
