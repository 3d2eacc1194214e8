#include "history.h"

uint64_t history_oldest_s(const struct windows *w)
{
    uint64_t oldest = w->sec;

    for (int l = 0; l < WIN_LEVELS; l++) {
        uint64_t s = w->ring[l].oldest_s, reach = windows_reach_s(l);
        if (w->sec > reach && s < w->sec - reach) /* overwritten meanwhile */
            s = w->sec - reach;
        oldest = s < oldest ? s : oldest;
    }
    return oldest;
}

void history_begin(struct history *p, const struct windows *w, uint64_t from_s, uint64_t to_s)
{
    uint64_t oldest = history_oldest_s(w);

    from_s = from_s < oldest ? oldest : from_s;
    to_s = to_s < w->sec ? to_s : w->sec;
    *p = (struct history){.w = w, .at_s = from_s, .to_s = to_s};
}

static const struct slot *fitting(const struct history *p, uint64_t *begins_s, uint64_t *ends_s)
{
    for (int l = WIN_LEVELS - 1; l >= 0; l--) {
        uint64_t step = windows_level_s(l);
        const struct slot *s = NULL;
        if (p->at_s % step == 0 && p->at_s + step <= p->to_s)
            s = windows_slot(p->w, l, p->at_s);
        if (!s)
            continue;
        *begins_s = p->at_s;
        *ends_s = p->at_s + step;
        return s;
    }
    return NULL;
}

static const struct slot *sticking_out(const struct history *p, uint64_t *begins_s,
                                       uint64_t *ends_s)
{
    for (int l = 0; l < WIN_LEVELS; l++) {
        uint64_t step = windows_level_s(l), begins = p->at_s / step * step;
        const struct slot *s = begins >= p->from_s ? windows_slot(p->w, l, begins) : NULL;
        if (!s)
            continue;
        *begins_s = begins;
        *ends_s = begins + step;
        return s;
    }
    return NULL;
}

const struct slot *history_next(struct history *p, uint64_t *begins_s, uint64_t *ends_s)
{
    for (; p->at_s < p->to_s; p->at_s++) {
        const struct slot *s = fitting(p, begins_s, ends_s);
        if (!s)
            s = sticking_out(p, begins_s, ends_s);
        if (!s)
            continue;
        p->from_s = p->at_s = *ends_s;
        return s;
    }
    return NULL;
}
