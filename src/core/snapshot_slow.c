/* The slow requests of a snapshot. */
#include "snapshot_impl.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <kprof/core/call_parts.h>
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
                                       .mailbox_us = f->mailbox_us,
                                       .mailbox_known = f->mailbox_known,
                                       .error = f->error};
    }
    for (uint8_t i = 0; i < e->n_sums; i++)
        sum[i] = (struct snap_slow_sum){.name = tier_name(n, e->sums[i].tier),
                                        .calls = e->sums[i].calls,
                                        .sum_us = us(e->sums[i].sum_ns),
                                        .self_us = us(e->sums[i].self_ns),
                                        .pid = e->sums[i].pid};
    to->tiers = t;
    to->n_tiers = e->n_calls;
    to->sums = sum;
    to->n_sums = e->n_sums;
}

static void add_calls(struct naming *n, struct snap_slow *to, const struct slow_entry *e)
{
    struct snap_slow_call *calls = snapshot_take(n->s, e->slow_tiers * sizeof *calls);

    for (uint8_t i = 0; i < e->slow_tiers; i++) {
        const struct slow_entry_slow *f = &e->slow[i];
        calls[i] = (struct snap_slow_call){.tier_name = tier_name(n, f->tier),
                                           .calls = f->calls,
                                           .duration_us = us(f->duration_ns),
                                           .pid = f->pid,
                                           .args = f->args[0] ? snapshot_text(n->s, f->args) : NULL,
                                           .error = f->error};
    }
    to->calls = calls;
    to->n_calls = e->slow_tiers;
    to->args = calls[slow_entry_longest(e) - e->slow].args;
}

static void add_entry(struct naming *n, struct snap_slow *to, const struct slow_entry *e,
                      uint64_t wall_ns)
{
    const struct slow_entry_slow *f = slow_entry_longest(e);
    uint64_t now_ns = n->c->now_ns, ago = now_ns > e->end_ns ? now_ns - e->end_ns : 0;

    *to = (struct snap_slow){.seq = e->seq,
                             .done = e->done,
                             .wall_ns = wall_ns > ago ? wall_ns - ago : 0,
                             .first_ns = e->end_ns - e->soonest_ns,
                             .pid = f->pid,
                             .tier_name = tier_name(n, f->tier),
                             .ident = ident_name(n, e->ident),
                             .request = e->request,
                             .trace = e->trace,
                             .duration_us = us(f->duration_ns),
                             .request_us = us(e->request_ns),
                             .error = f->error,
                             .exit = f->exit,
                             .n_slow = e->n_slow};
    add_calls(n, to, e);
    add_tiers(n, to, e);
    to->n_places = snapshot_places(n->c, n->s, e->request, &to->places, &to->polls);
}

/* Adds the ended lines with a number above `since`, newest first; open: before them, those that
 * have not ended. */
static void add_slow(const struct core *c, struct snapshot *s, uint64_t since, bool open,
                     uint64_t wall_ns)
{
    struct naming n = {.c = c, .s = s};
    const struct slow_entry *e;
    uint32_t recent = c->slow.log.n_open + c->slow.log.n;
    uint32_t from = open ? 0 : c->slow.log.n_open, k = from;

    s->slow_ns = c->slow.threshold_ns;
    uint64_t ago = c->now_ns - c->slow.since_ns;
    s->slow_since_wall_ns = s->slow_ns && c->slow.since_ns && ago < wall_ns ? wall_ns - ago : 0;
    while ((open || k < recent) && (e = slow_store_entry(&c->slow, k)) &&
           (!e->done || e->done > since))
        k++;
    n.ident =
        memset(snapshot_take(s, c->idents.n * sizeof *n.ident), 0, c->idents.n * sizeof *n.ident);
    struct snap_slow *to = snapshot_take(s, (k - from + 1) * sizeof *to);
    for (uint32_t i = from; i < k; i++)
        add_entry(&n, &to[i - from], slow_store_entry(&c->slow, i), wall_ns);
    s->slow = to;
    s->n_slow = k - from;
    s->n_slow_recent = (k < recent ? k : recent) - from;
}

void snapshot_add_slow(const struct core *c, struct snapshot *s, uint64_t wall_ns)
{
    add_slow(c, s, 0, true, wall_ns);
}

void snapshot_add_slow_traces(const struct core *c, struct snapshot *s, uint64_t wall_ns)
{
    struct snap_slow_trace *to = snapshot_take(s, (c->slow.n + SLOW_KEPT) * sizeof *to);
    const struct slow_trace_request *r;
    size_t n = 0;
    const char **names = snapshot_take(s, (c->tiers.n + 1u) * sizeof *names);

    for (uint16_t i = 0; i < c->tiers.n; i++)
        names[i] = snapshot_text(s, c->tiers.tier[i].name);
    while ((r = slow_store_request(&c->slow, (uint32_t)n))) {
        uint64_t ago = c->now_ns > r->start_ns ? c->now_ns - r->start_ns : 0;
        to[n++] = (struct snap_slow_trace){.request = slow_trace_ref(r),
                                           .wall_ns = wall_ns > ago ? wall_ns - ago : 0};
    }
    s->slow_traces = to;
    s->n_slow_traces = n;
    s->tier_names = names;
    s->n_tier_names = c->tiers.n;
}

uint64_t core_slow_done(const struct core *c)
{
    return c->slow.log.done;
}

void core_slow_end_all(struct core *c)
{
    slow_store_end_all(&c->slow);
}

struct snapshot *core_slow_since(const struct core *c, uint64_t since, uint64_t wall_of_now_ns)
{
    struct snapshot *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    add_slow(c, s, since, false, wall_of_now_ns);
    snapshot_add_slow_traces(c, s, wall_of_now_ns); /* with the parts of their calls */
    return s;
}

static const struct snap_slow_sum *named_sums(struct snapshot *s, const struct snap_slow *w,
                                              snapshot_who *who, void *arg)
{
    const struct snap_slow_sum *most = slow_most(w);
    struct snap_slow_sum *own = snapshot_take(s, w->n_sums * sizeof *own);

    for (size_t i = 0; i < w->n_sums; i++) {
        own[i] = w->sums[i];
        if (&w->sums[i] != most)
            continue;
        const char *name = most->pid == w->pid ? w->who : who(arg, most->pid, w->wall_ns);
        own[i].who = name && name != w->who ? snapshot_text(s, name) : name;
    }
    return own;
}

/* The processes that slow requests waited for. */
static void name_others(struct snapshot *s, snapshot_who *who, void *arg)
{
    struct snap_slow_trace *own = snapshot_take(s, (s->n_slow_traces + 1) * sizeof *own);

    for (size_t i = 0; i < s->n_slow_traces; i++) {
        uint64_t pid[SNAP_WHO];
        const struct slow_trace_request *r = s->slow_traces[i].request;
        size_t n = call_parts_others(r, pid, SNAP_WHO), known = 0;
        struct snap_who *to = snapshot_take(s, (n + 1) * sizeof *to);
        own[i] = s->slow_traces[i];
        for (size_t k = 0; k < n; k++) {
            const char *name = who(arg, pid[k], own[i].wall_ns + (r->end_ns - r->start_ns));
            if (name)
                to[known++] = (struct snap_who){pid[k], snapshot_text(s, name)};
        }
        own[i].who = to;
        own[i].n_who = known;
    }
    s->slow_traces = own;
}

void snapshot_set_who(struct snapshot *s, snapshot_who *who, void *arg)
{
    name_others(s, who, arg);

    struct snap_slow *own = snapshot_take(s, s->n_slow * sizeof *own);

    for (size_t i = 0; i < s->n_slow; i++) {
        const char *name = who(arg, s->slow[i].pid, s->slow[i].wall_ns);
        own[i] = s->slow[i];
        if (name)
            own[i].who = snapshot_text(s, name);
        own[i].sums = named_sums(s, &own[i], who, arg);
    }
    s->slow = own;
    struct snap_open *open = snapshot_take(s, (s->n_open + 1) * sizeof *open);
    for (size_t i = 0; i < s->n_open; i++) {
        const char *name = who(arg, s->open[i].pid, UINT64_MAX);
        open[i] = s->open[i];
        open[i].who = name ? snapshot_text(s, name) : NULL;
    }
    s->open = open;
    snapshot_name_vm_events(s, who, arg);
}

/* ---- contents of a line ---- */

const struct snap_slow_sum *slow_most(const struct snap_slow *w)
{
    const struct snap_slow_sum *most = NULL;

    for (size_t i = 0; i < w->n_sums; i++)
        if (!most || w->sums[i].self_us > most->self_us)
            most = &w->sums[i];
    return most;
}

double slow_took_us(const struct snap_slow *w)
{
    return w->request_us > 0 ? w->request_us : w->duration_us;
}

const char *slow_tier(const struct snap_slow *w)
{
    const struct snap_slow_sum *most = slow_most(w);
    return most ? most->name : w->tier_name;
}

uint64_t slow_pid(const struct snap_slow *w)
{
    const struct snap_slow_sum *most = slow_most(w);
    return most ? most->pid : w->pid;
}

const char *slow_who(const struct snap_slow *w)
{
    const struct snap_slow_sum *most = slow_most(w);
    return most ? most->who : w->who;
}

static bool has_text(const struct snap_slow *w, const char *text)
{
    char pid[SNAPSHOT_PID_BYTES];
    const char *who = slow_who(w);

    snapshot_pid(slow_pid(w), pid);
    if (text_contains(slow_tier(w), text) || text_contains(snapshot_name(w->ident), text) ||
        (who && text_contains(who, text)) || text_contains(pid, text))
        return true;
    snapshot_pid(w->pid, pid);
    if (text_contains(w->tier_name, text) || (w->who && text_contains(w->who, text)) ||
        (w->args && text_contains(w->args, text)) || text_contains(pid, text))
        return true;
    for (size_t i = 0; i < w->n_calls; i++)
        if (text_contains(w->calls[i].tier_name, text) ||
            (w->calls[i].args && text_contains(w->calls[i].args, text)))
            return true;
    return false;
}

bool slow_filter_set(const struct slow_filter *f)
{
    return f->text[0] || f->from_ns || f->to_ns;
}

bool slow_matches(const struct slow_filter *f, const struct snap_slow *w)
{
    if (w->wall_ns < f->from_ns || (f->to_ns && w->wall_ns - w->first_ns >= f->to_ns))
        return false;
    return !f->text[0] || has_text(w, f->text);
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

const char *snapshot_slow_who(const struct snapshot *s, uint64_t trace, uint64_t pid)
{
    for (size_t i = 0; i < s->n_slow_traces; i++) {
        const struct snap_slow_trace *t = &s->slow_traces[i];
        for (size_t k = 0; t->request->id == trace && k < t->n_who; k++)
            if (t->who[k].pid == pid)
                return t->who[k].name;
    }
    for (size_t i = 0; i < s->n_slow; i++) {
        const struct snap_slow *w = &s->slow[i];
        if (w->trace != trace || trace == 0)
            continue;
        if (w->pid == pid && w->who)
            return w->who;
        for (size_t k = 0; k < w->n_sums; k++)
            if (w->sums[k].pid == pid && w->sums[k].who)
                return w->sums[k].who;
    }
    return NULL;
}
