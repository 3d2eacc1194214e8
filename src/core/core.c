/* The public functions of core: creation, tiers, events. */
#include "state.h"

#include <kprof/base/buf.h>
#include <stdlib.h>
#include <string.h>

/* Lean returns report all exceptions from OTP 27.1 on. Only the major release is known, so 27.0
 * counts as reporting them, too. */
#define REPORTS_EXCEPTIONS 27

enum { CALLS_PER_PROCESS = 8, CALLS_MIN = 1024, CALLS_MAX = 1 << 20 };

void core_limits_default(struct core_limits *l)
{
    *l = (struct core_limits){.identities = 64,
                              .open_requests = 65536,
                              .processes = 131072,
                              .stack_depth = 256,
                              .request_calls = 256,
                              .expire_ns = UINT64_C(60000000000),
                              .grace_ns = UINT64_C(20000000),
                              .history_bytes = (size_t)36 << 20,
                              .slow_entries = 1000,
                              .history = true};
}

static uint32_t calls_of(const struct core_limits *l)
{
    uint64_t n = (uint64_t)l->processes * CALLS_PER_PROCESS;
    return n < CALLS_MIN ? CALLS_MIN : n > CALLS_MAX ? CALLS_MAX : (uint32_t)n;
}

struct core *core_new(const struct core_limits *l, const struct intern *names)
{
    struct core *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->set.limits = *l;
    c->set.names = names;
    c->tiers.entry = TIER_NONE;
    calls_init(&c->calls, calls_of(l), l->processes, l->stack_depth);
    requests_init(&c->requests, l->open_requests);
    idents_init(&c->idents, l->identities);
    windows_init(&c->windows, c->idents.cap, l->history_bytes);
    windows_keep_history(&c->windows, l->history);
    heat_init(&c->heat);
    trend_init(&c->trend);
    gaps_init(&c->gaps);
    slow_store_init(&c->slow, l->slow_entries);
    inside_init(&c->inside);
    sampled_init(&c->sampled);
    mailbox_init(&c->mailbox);
    hang_init(&c->hangs);
    detail_init(&c->detail);
    return c;
}

void core_free(struct core *c)
{
    if (!c)
        return;
    calls_release(&c->calls);
    requests_release(&c->requests);
    idents_release(&c->idents);
    windows_release(&c->windows);
    heat_release(&c->heat);
    trend_release(&c->trend);
    slow_store_release(&c->slow);
    counted_release(&c->counted);
    for (int i = 0; i < TIER_MAX; i++)
        free(c->set.note[i]);
    self_time_release(&c->self_time);
    inside_release(&c->inside);
    sampled_release(&c->sampled);
    mailbox_release(&c->mailbox);
    hang_release(&c->hangs);
    detail_release(&c->detail);
    free(c);
}

/* ---- tiers ---- */

const struct tierset *core_tiers(const struct core *c)
{
    return &c->tiers;
}

static void copy_name(char *to, size_t cap, const char *from)
{
    size_t n = strlen(from);
    if (n >= cap)
        n = cap - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

uint16_t core_tier_add(struct core *c, const char *name, const char *mfa)
{
    if (c->tiers.n == TIER_MAX)
        return TIER_NONE;
    struct tier *t = &c->tiers.tier[c->tiers.n];
    memset(t, 0, sizeof *t);
    copy_name(t->name, sizeof t->name, name);
    copy_name(t->mfa, sizeof t->mfa, mfa);
    t->active = true;
    c->set_at[c->tiers.n].since_ns = c->now_ns;
    return c->tiers.n++;
}

void core_tier_confirmed(struct core *c, uint16_t tier)
{
    if (tier >= c->tiers.n || c->set_at[tier].confirmed)
        return;
    c->set_at[tier].confirmed = true;
    if (!c->tiers.tier[tier].fn) /* else calls of it were seen before the answer arrived */
        c->set_at[tier].since_ns = c->now_ns;
}

void core_tier_remove(struct core *c, uint16_t tier)
{
    if (tier >= c->tiers.n || !c->tiers.tier[tier].active)
        return;
    c->tiers.tier[tier].active = false;
    core_tier_note(c, tier, NULL);
    for (uint32_t at = 0; at < c->calls.high; at++) {
        struct call *f = &c->calls.call[at];
        if (f->tier == tier && f->kind != CALL_FREE)
            account_expire(c, at);
    }
    finalize_expiring(c);
    windows_forget_tier(&c->windows, tier);
    part_sums_forget_tier(&c->detail.sums, tier);
    slow_store_forget_tier(&c->slow, tier);
}

void core_keep_hists(struct core *c, bool on)
{
    c->set.hists = on;
}

void core_tier_note(struct core *c, uint16_t tier, const char *note)
{
    if (tier >= c->tiers.n)
        return;
    free(c->set.note[tier]);
    c->set.note[tier] = note ? buf_dup(note) : NULL;
}

bool core_tier_loops(const struct core *c, uint16_t tier)
{
    bool loops;

    if (tier >= c->tiers.n)
        return false;
    loops = c->tracker.loops[tier];
    for (uint16_t i = 0; i < c->idents.n; i++)
        if (windows_run_count(&c->windows, tier, i))
            return false;
    for (uint32_t at = 0; at < c->calls.high; at++) {
        const struct call *f = &c->calls.call[at];
        if (f->tier != tier || f->kind == CALL_FREE)
            continue;
        if (f->flags & CALL_ON_STACK)
            loops |= f->below != CALL_NIL && c->calls.call[f->below].tier == tier;
        else if (f->kind == CALL_MEMBER)
            return false; /* it has ended; its request has not */
    }
    return loops;
}

void core_set_entry(struct core *c, uint16_t tier)
{
    if (c->tiers.entry == tier)
        return;
    finalize_flush(c); /* a request of the former entry would take the calls of the new one */
    requests_disown(&c->requests); /* so would messages with their labels */
    c->tiers.entry = tier;
    c->set_at[ROW_TOTAL].since_ns = c->now_ns;
    part_sums_forget_tier(&c->detail.sums, ROW_TOTAL);
    windows_forget_tier(&c->windows, ROW_TOTAL); /* the totals of the former entry */
}

void core_set_identity(struct core *c, bool has_rule)
{
    c->tiers.has_identity = has_rule;
    idents_age(&c->idents, seconds(c->now_ns));
}

void core_names(const struct core *c, struct core_names *out)
{
    bool each = c->tiers.entry == TIER_NONE;

    memset(out, 0, sizeof *out);
    for (uint16_t i = 0; i < c->idents.n; i++) {
        uint64_t n = 0;
        for (uint16_t t = each ? 0 : ROW_TOTAL; t < (each ? c->tiers.n : ROW_TIERS); t++)
            n += windows_run_count(&c->windows, t, i);
        out->all += n;
        if (i == IDENT_UNDEFINED)
            out->undefined = n;
        else if (i >= IDENT_FIRST &&
                 strcmp(intern_str(c->set.names, c->idents.name[i]), CORE_COMPOUND) == 0)
            out->compound = n;
    }
}

void core_set_returns(struct core *c, enum returns_mode m)
{
    if (c->tiers.returns != m)
        finalize_flush(c); /* stacks of one returns mode do not match the returns of the other */
    c->tiers.returns = m;
}

void core_set_release(struct core *c, const char *otp)
{
    int release = atoi(otp);

    c->tiers.silent_exceptions = release > 0 && release < REPORTS_EXCEPTIONS;
}

void core_set_text_ring(struct core *c, const struct text_ring *s)
{
    c->set.text_ring = s;
}

void core_set_slow(struct core *c, uint64_t threshold_ns)
{
    slow_store_set(&c->slow, threshold_ns, c->now_ns);
}

/* ---- events and time ---- */

void core_feed(struct core *c, const struct event *ev, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tracker_event(c, &ev[i]);
}

void core_pass(struct core *c, uint64_t now_ns)
{
    if (now_ns > c->now_ns)
        c->now_ns = now_ns;
    if (c->now_ns >= c->finalizer.next_due_ns)
        finalize_due(c);
    windows_advance(&c->windows, c->now_ns);
}

void core_advance(struct core *c, uint64_t now_ns)
{
    if (now_ns > c->complete_ns)
        c->complete_ns = now_ns;
    core_pass(c, now_ns);
}

uint64_t core_now(const struct core *c)
{
    return c->now_ns;
}

uint64_t core_closed_s(const struct core *c)
{
    return c->windows.sec;
}

void core_gap(struct core *c, uint64_t at_ns, enum gap_reason reason)
{
    gaps_begin(&c->gaps, at_ns, reason);
}

void core_run_end(struct core *c, uint64_t since_ns, uint64_t late_ns)
{
    uint64_t off_ns = gaps_forget(&c->gaps, since_ns);

    windows_end(&c->windows, off_ns ? off_ns : c->now_ns);
    core_advance(c, c->now_ns + late_ns);
}

/* Identities get new numbers; numbers of a former rule's identities become free. */
static void renumber_identities(struct core *c)
{
    struct idents old = c->idents;

    idents_init(&c->idents, (uint32_t)(old.cap - IDENT_FIRST));
    c->idents.former_until_s = old.former_until_s;
    for (uint32_t at = 0; at < c->calls.high; at++) {
        struct call *f = &c->calls.call[at];
        if (f->flags & CALL_ON_STACK && f->req == CALL_NIL && f->ident >= IDENT_FIRST)
            f->ident =
                idents_of(&c->idents, old.name[f->ident], seconds(f->start_ns), seconds(c->now_ns));
    }
    idents_release(&old);
}

void core_zero(struct core *c)
{
    account_zero(&c->account);
    windows_advance(&c->windows, c->now_ns);
    windows_zero(&c->windows);
    part_sums_clear(&c->detail.sums);
    gaps_zero(&c->gaps, c->now_ns);
    slow_store_clear(&c->slow);
    vm_events_clear(&c->vm_events);
    hang_clear(&c->hangs);
    for (uint32_t i = 0; i < c->requests.high; i++)
        c->requests.req[i].slow_seq = 0;
    counted_release(&c->counted);
    sampled_forget_calls(&c->sampled);
    renumber_identities(c);
    c->finalizer.next_due_ns = 0; /* seconds start again */
}
