/* The gaps and marks of a snapshot's window, and why a row is empty. */
#include "snapshot_impl.h"
#include "state.h"

#include <math.h>

/* The start and end of a gap have an error of some ms. A rate over less time than this would be
 * mostly error, so it is not shown. */
#define TRACED_LEAST_S 0.05

static double ago(const struct core *c, uint64_t ts_ns)
{
    return ts_ns < c->windows.now_ns ? (double)(c->windows.now_ns - ts_ns) / 1e9 : 0;
}

static void add_gaps(const struct core *c, struct snapshot *s, uint64_t from_ns, uint64_t to_ns)
{
    struct snap_gap *to = snapshot_take(s, SNAP_GAPS * sizeof *to);
    const struct gap *g;

    for (size_t i = 0; (g = gaps_newest(&c->gaps, i)) && g->to_ns > from_ns; i++) {
        uint64_t from = g->from_ns > from_ns ? g->from_ns : from_ns;
        if (from < to_ns && s->n_gaps < SNAP_GAPS)
            to[s->n_gaps++] = (struct snap_gap){ago(c, from), ago(c, g->to_ns), g->reason};
    }
    s->gaps = to;
}

static void add_marks(const struct core *c, struct snapshot *s, uint64_t from_ns, uint64_t to_ns,
                      uint64_t wall_ns)
{
    struct snap_mark *to = snapshot_take(s, MARKS_MAX * sizeof *to);

    for (size_t i = 0; i < c->gaps.marks && i < MARKS_MAX; i++) {
        size_t at = (c->gaps.marks - 1 - i) % MARKS_MAX;
        double since = ago(c, c->gaps.mark[at].at_ns);
        uint64_t since_ns = (uint64_t)(since * 1e9);
        if (c->gaps.mark[at].at_ns < from_ns)
            break;
        if (s->time.history && c->gaps.mark[at].at_ns >= to_ns)
            continue;
        to[s->n_marks++] = (struct snap_mark){
            .wall_ns = wall_ns > since_ns ? wall_ns - since_ns : 0,
            .ago_s = since,
            .module = snapshot_text(s, intern_str(c->set.names, c->gaps.mark[at].text))};
    }
    s->marks = to;
}

double snapshot_add_gaps(const struct core *c, struct snapshot *s, uint64_t wall_ns)
{
    uint64_t from_ns, to_ns;

    windows_viewed_time(&c->windows, &from_ns, &to_ns);
    s->gap_s = fmin((double)gaps_ns(&c->gaps, from_ns, to_ns, NULL) / 1e9, s->window_s);
    add_gaps(c, s, from_ns, to_ns);
    add_marks(c, s, from_ns, to_ns, wall_ns);
    double traced_s = s->window_s - s->gap_s;
    return s->gap_s > 0 && traced_s < TRACED_LEAST_S ? 0 : traced_s;
}

const char *snapshot_note(const struct core *c, struct snapshot *s, const struct view_query *l,
                          const struct snap_row *r)
{
    bool empty = !r->count && !r->counted && r->oldest_open_us <= 0;
    uint64_t from_ns, to_ns;

    if (c->set.note[r->tier])
        return snapshot_text(s, c->set.note[r->tier]);
    windows_viewed_time(&c->windows, &from_ns, &to_ns);
    return empty && !l->end_s && c->account.unattributed_ns[r->tier] > from_ns
               ? "calls arrive, but their requests are not known: unattributed, not counted"
               : NULL;
}

uint64_t snapshot_set_ns(const struct core *c, uint16_t tier)
{
    uint64_t first = UINT64_MAX;

    if (tier == ROW_TOTAL && c->tiers.entry != TIER_NONE) {
        uint64_t entry = c->set_at[c->tiers.entry].since_ns, chosen = c->set_at[tier].since_ns;
        return entry > chosen ? entry : chosen;
    }
    if (tier != ROW_TOTAL)
        return c->set_at[tier].since_ns;
    for (uint16_t i = 0; i < c->tiers.n; i++)
        if (c->tiers.tier[i].active && c->set_at[i].since_ns < first)
            first = c->set_at[i].since_ns;
    return first == UINT64_MAX ? 0 : first;
}

double snapshot_traced_s(const struct core *c, uint16_t tier, double traced_s)
{
    uint64_t from_ns, to_ns, since_ns = snapshot_set_ns(c, tier);

    windows_viewed_time(&c->windows, &from_ns, &to_ns);
    since_ns = since_ns > c->gaps.begun_ns ? since_ns : c->gaps.begun_ns;
    if (since_ns <= from_ns)
        return traced_s;
    if (since_ns >= to_ns)
        return 0;
    uint64_t gap_ns = gaps_ns(&c->gaps, since_ns, to_ns, NULL);
    double there_s = (double)(to_ns - since_ns - gap_ns) / 1e9;
    return there_s < TRACED_LEAST_S ? 0 : fmin(there_s, traced_s);
}

double snapshot_gap_s(const struct snapshot *s, double from_s, double to_s, enum gap_reason *most)
{
    double of[GAP_COUNT] = {0}, sum = 0;
    enum gap_reason best = GAP_NONE;

    for (size_t i = 0; i < s->n_gaps; i++) {
        const struct snap_gap *g = &s->gaps[i];
        double part = fmin(g->from_s, from_s) - fmax(g->to_s, to_s);
        if (part <= 0)
            continue;
        sum += part;
        of[g->reason] += part;
        if (of[g->reason] > of[best])
            best = g->reason;
    }
    if (most)
        *most = best;
    return sum;
}
