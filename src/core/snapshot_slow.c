/* The slow calls of a snapshot. */
#include "snapshot_impl.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct naming { /* names already copied into the snapshot */
    const struct core *c;
    struct snapshot *s;
    const char *tier[TIER_MAX];
    const char **ident; /* by index */
};

static const char *tier_name(struct naming *n, uint8_t tier)
{
    if (!n->tier[tier])
        n->tier[tier] = snapshot_text(n->s, n->c->tiers.tier[tier].name);
    return n->tier[tier];
}

static const char *ident_name(struct naming *n, uint32_t ident)
{
    const struct core *c = n->c;

    if (ident == IDENT_UNDEFINED || ident >= c->idents.n)
        return "undefined";
    if (ident == IDENT_OTHER)
        return "<other>";
    if (!n->ident[ident])
        n->ident[ident] = snapshot_text(n->s, intern_str(c->set.names, c->idents.name[ident]));
    return n->ident[ident];
}

static void add_tiers(struct naming *n, struct snap_slow *to, const struct slow_entry *e)
{
    struct snap_slow_tier *t = snapshot_take(n->s, e->n_calls * sizeof *t);
    struct snap_slow_sum *sum = snapshot_take(n->s, e->n_sums * sizeof *sum);

    for (uint8_t i = 0; i < e->n_calls; i++) {
        const struct slow_entry_call *f = &e->calls[i];
        t[i] = (struct snap_slow_tier){.tier = f->tier,
                                       .name = tier_name(n, f->tier),
                                       .start_us = f->start_ns / 1000,
                                       .duration_us = f->duration_ns / 1000,
                                       .self_us = f->self_ns / 1000,
                                       .pid = f->pid,
                                       .error = f->error};
    }
    for (uint8_t i = 0; i < e->n_sums; i++)
        sum[i] = (struct snap_slow_sum){.name = tier_name(n, e->sums[i].tier),
                                        .calls = e->sums[i].calls,
                                        .sum_us = us(e->sums[i].sum_ns),
                                        .self_us = us(e->sums[i].self_ns)};
    to->tiers = t;
    to->n_tiers = e->n_calls;
    to->sums = sum;
    to->n_sums = e->n_sums;
}

void snapshot_add_slow(const struct core *c, struct snapshot *s, uint64_t since, uint64_t wall_ns)
{
    struct naming n = {.c = c, .s = s};
    const struct slow_entry *e;
    uint32_t k = 0;

    s->slow_ns = c->slow.threshold_ns;
    while ((e = slow_store_entry(&c->slow, k)) && e->seq > since)
        k++;
    n.ident =
        memset(snapshot_take(s, c->idents.n * sizeof *n.ident), 0, c->idents.n * sizeof *n.ident);
    struct snap_slow *to = snapshot_take(s, (k + 1) * sizeof *to);
    for (uint32_t i = 0; i < k; i++) {
        e = slow_store_entry(&c->slow, i);
        uint64_t ago = c->now_ns > e->end_ns ? c->now_ns - e->end_ns : 0;
        to[i] = (struct snap_slow){.seq = e->seq,
                                   .wall_ns = wall_ns > ago ? wall_ns - ago : 0,
                                   .pid = e->pid,
                                   .tier_name = tier_name(&n, e->tier),
                                   .ident = ident_name(&n, e->ident),
                                   .args = e->args[0] ? snapshot_text(s, e->args) : NULL,
                                   .request = e->request,
                                   .trace = e->trace,
                                   .duration_us = us(e->duration_ns),
                                   .request_us = us(e->request_ns),
                                   .error = e->error,
                                   .exit = e->exit};
        add_tiers(&n, &to[i], e);
    }
    s->slow = to;
    s->n_slow = k;
}

void snapshot_add_slow_traces(const struct core *c, struct snapshot *s, uint64_t wall_ns)
{
    struct snap_slow_trace *to = snapshot_take(s, (c->slow.n + 1) * sizeof *to);
    const char **names = snapshot_take(s, (c->tiers.n + 1u) * sizeof *names);

    for (uint16_t i = 0; i < c->tiers.n; i++)
        names[i] = snapshot_text(s, c->tiers.tier[i].name);
    for (uint32_t i = 0; i < c->slow.n; i++) {
        const struct slow_trace_request *r = slow_store_request(&c->slow, i);
        uint64_t ago = c->now_ns > r->start_ns ? c->now_ns - r->start_ns : 0;
        to[i] = (struct snap_slow_trace){.request = slow_trace_ref(r),
                                         .wall_ns = wall_ns > ago ? wall_ns - ago : 0};
    }
    s->slow_traces = to;
    s->n_slow_traces = c->slow.n;
    s->tier_names = names;
    s->n_tier_names = c->tiers.n;
}

uint64_t core_slow_seq(const struct core *c)
{
    return c->slow.log.seq;
}

struct snapshot *core_slow_since(const struct core *c, uint64_t since, uint64_t wall_of_now_ns)
{
    struct snapshot *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    snapshot_add_slow(c, s, since, wall_of_now_ns);
    return s;
}

void snapshot_set_who(struct snapshot *s, snapshot_who *who, void *arg)
{
    struct snap_slow *own = snapshot_take(s, s->n_slow * sizeof *own);

    for (size_t i = 0; i < s->n_slow; i++) {
        const char *name = who(arg, s->slow[i].pid, s->slow[i].wall_ns);
        own[i] = s->slow[i];
        if (name)
            own[i].who = snapshot_text(s, name);
    }
    s->slow = own;
    struct snap_open *open = snapshot_take(s, (s->n_open + 1) * sizeof *open);
    for (size_t i = 0; i < s->n_open; i++) {
        const char *name = who(arg, s->open[i].pid, UINT64_MAX);
        open[i] = s->open[i];
        open[i].who = name ? snapshot_text(s, name) : NULL;
    }
    s->open = open;
}

bool slow_filter_set(const struct slow_filter *f)
{
    return f->text[0] || f->from_ns || f->to_ns;
}

bool slow_matches(const struct slow_filter *f, const struct snap_slow *w)
{
    char pid[SNAPSHOT_PID_BYTES];

    if (w->wall_ns < f->from_ns || (f->to_ns && w->wall_ns >= f->to_ns))
        return false;
    if (!f->text[0])
        return true;
    snapshot_pid(w->pid, pid);
    return text_contains(w->tier_name, f->text) || text_contains(w->ident, f->text) ||
           (w->who && text_contains(w->who, f->text)) ||
           (w->args && text_contains(w->args, f->text)) || text_contains(pid, f->text);
}

struct slow_filter slow_filter_at(const struct slow_filter *f, const struct snapshot *s)
{
    struct slow_filter at = *f;

    if (s->time.history && !f->from_ns && !f->to_ns) {
        at.from_ns = snapshot_wall_ns(s, s->time.from_s);
        at.to_ns = snapshot_wall_ns(s, s->time.to_s);
    }
    return at;
}
