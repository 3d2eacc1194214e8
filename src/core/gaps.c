#include "gaps.h"

#include <string.h>

/* An "off" that is shorter than this, right after a lost connection, is the setup of the new
 * connection. */
#define SETUP_NS UINT64_C(2000000000)

const char *gap_name(enum gap_reason r)
{
    static const char *const name[GAP_COUNT] = {"none",  "off",  "overload",
                                                "lease", "lost", "silent"};
    return (unsigned)r < GAP_COUNT ? name[r] : "?";
}

const char *gap_text(enum gap_reason r)
{
    static const char *const text[GAP_COUNT] = {[GAP_LEASE] = "nothing received from kprof-top",
                                                [GAP_LOST] = "connection lost",
                                                [GAP_SILENT] = "node sent nothing"};
    return (unsigned)r < GAP_COUNT && text[r] ? text[r] : gap_name(r);
}

void gaps_init(struct gaps *g)
{
    memset(g, 0, sizeof *g);
}

static struct gap *at(struct gaps *g, size_t i)
{
    return &g->gap[i % GAPS_MAX];
}

static struct gap *last(struct gaps *g)
{
    return g->n > g->least ? at(g, g->n - 1) : NULL;
}

static struct gap *open_one(struct gaps *g)
{
    struct gap *l = last(g);
    return l && l->to_ns == UINT64_MAX ? l : NULL;
}

static void begin(struct gaps *g, uint64_t from_ns, uint64_t to_ns, enum gap_reason reason)
{
    const struct gap *l = last(g);

    if (l && from_ns < l->to_ns)
        from_ns = l->to_ns;
    if (from_ns >= to_ns)
        return;
    *at(g, g->n++) = (struct gap){from_ns, to_ns, reason};
    if (g->n - g->least > GAPS_MAX)
        g->least = g->n - GAPS_MAX;
}

static void end(struct gaps *g, struct gap *o, uint64_t at_ns)
{
    bool nothing = at_ns <= o->from_ns;

    if (o->reason == GAP_SILENT && at_ns - o->from_ns <= GAPS_SILENCE_NS)
        nothing = true; /* only the report was late */
    if (nothing) {
        g->n--;
        return;
    }
    o->to_ns = at_ns;
    struct gap *before = g->n - g->least > 1 ? at(g, g->n - 2) : NULL;
    if (o->reason == GAP_OFF && before && before->reason == GAP_LOST &&
        before->to_ns == o->from_ns && at_ns - o->from_ns < SETUP_NS) {
        before->to_ns = at_ns;
        g->n--;
    }
}

void gaps_report(struct gaps *g, uint64_t ts_ns, enum gap_reason reason, uint64_t called_ns)
{
    uint64_t before = called_ns > g->report_ns ? called_ns : g->report_ns;
    struct gap *o = open_one(g);

    if (ts_ns < g->report_ns)
        ts_ns = g->report_ns; /* a report that was delayed by the connection */
    g->report_ns = ts_ns;
    if (!g->begun && reason == GAP_NONE) {
        g->begun = true;
        g->begun_ns = ts_ns;
    }
    if (!g->begun)
        return;
    if (o && o->reason == reason)
        return;
    if (o)
        end(g, o, ts_ns);
    else if (before && ts_ns > before && ts_ns - before > GAPS_SILENCE_NS)
        begin(g, before, ts_ns, GAP_SILENT);
    if (reason != GAP_NONE)
        begin(g, ts_ns, UINT64_MAX, reason);
}

void gaps_begin(struct gaps *g, uint64_t at_ns, enum gap_reason reason)
{
    struct gap *o = open_one(g);

    if (!g->begun)
        return;
    if (o && o->reason == GAP_SILENT) {
        o->reason = reason; /* the reason of the silence is known now */
    } else if (!o || (reason == GAP_LOST && o->reason != GAP_LOST && o->reason != GAP_OFF)) {
        if (o) /* the agent that opened its breaker, or whose lease ended, has gone */
            end(g, o, at_ns);
        begin(g, at_ns, UINT64_MAX, reason);
    }
}

uint64_t gaps_forget(struct gaps *g, uint64_t since_ns)
{
    const struct gap *o = open_one(g);

    if (!o || o->from_ns < since_ns || (o->reason != GAP_OFF && o->reason != GAP_LOST))
        return 0;
    g->n--;
    return o->from_ns;
}

void gaps_zero(struct gaps *g, uint64_t now_ns)
{
    struct gap *o = open_one(g);
    struct gap keep = o ? *o : (struct gap){0};

    g->n = g->least = g->marks = 0;
    if (o) {
        keep.from_ns = keep.from_ns > now_ns ? keep.from_ns : now_ns;
        *at(g, g->n++) = keep;
    }
}

const struct gap *gaps_newest(const struct gaps *g, size_t i)
{
    return i < g->n - g->least ? &g->gap[(g->n - 1 - i) % GAPS_MAX] : NULL;
}

uint64_t gaps_ns(const struct gaps *g, uint64_t from_ns, uint64_t to_ns, enum gap_reason *most)
{
    uint64_t of[GAP_COUNT] = {0}, sum = 0;
    const struct gap *k;
    enum gap_reason best = GAP_NONE;

    for (size_t i = 0; (k = gaps_newest(g, i)) && k->to_ns > from_ns; i++) {
        uint64_t a = k->from_ns > from_ns ? k->from_ns : from_ns;
        uint64_t b = k->to_ns < to_ns ? k->to_ns : to_ns;
        if (a >= b)
            continue;
        sum += b - a;
        of[k->reason] += b - a;
        if (of[k->reason] > of[best])
            best = k->reason;
    }
    if (most)
        *most = best;
    return sum;
}

void gaps_mark(struct gaps *g, uint64_t at_ns, uint32_t text)
{
    size_t i = g->marks++ % MARKS_MAX;

    g->mark[i].at_ns = at_ns;
    g->mark[i].text = text;
}
