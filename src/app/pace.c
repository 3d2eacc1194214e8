#include <kprof/app/pace.h>

bool pace_draw(struct pace *p, uint64_t now_ns, bool key)
{
    uint64_t since = now_ns - p->at_ns, least = key ? 1 : PACE_BURST;

    p->at_ns = now_ns;
    p->used_ns = p->used_ns > since ? p->used_ns - since : 0;
    if (p->used_ns + least * PACE_GAP_NS > PACE_BURST * PACE_GAP_NS)
        return false;
    p->used_ns += PACE_GAP_NS;
    return true;
}
