/* Rules about waiting: for one process, for a lock; and about calls that do not end. */
#include "why_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CALLS_LEAST 20  /* calls of a tier in the slow traces */
#define WAIT_LEAST  0.3 /* of the time of the slow requests */
#define ONE_PROCESS 0.9 /* of the calls of a tier are in this process: it serves them */
#define BUSY_LEAST  0.7 /* of the time; then the requests queue for it */
#define UNEVEN      5.0 /* p99 to mean: a few long calls block the process, which is idle otherwise */
#define USE_LEAST   0.85 /* of the time: then there is a queue even if no slow requests show it */
#define USE_SCORE   0.75
#define USE_OPEN    1.5 /* requests open at the same time, per process: fewer do not queue */
#define USE_WAIT                                                                                   \
    0.1 /* of the time of a call: if calls wait less in the mailbox, there is no queue */
#define FULL_LEAST   0.4  /* calls that fill this part of the time would overlap by chance */
#define OVERLAP_MOST 0.01 /* of the time of the calls */
#define LOCK_PIDS    5    /* processes that run the calls */
#define LOCK_OPEN    3.0  /* requests that are open at the same time */
#define HANGS_TIMES  10.0 /* open for this many times the p99 of its tier, */
#define HANGS_US     1e6  /* ... and for this long */

/* The row of the tier over all identities; NULL: too few calls. */
static const struct snap_row *tier_total(const struct why_facts *f, uint16_t tier)
{
    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier == tier && !r->ident)
            return r->count >= WHY_CALLS ? r : NULL;
    }
    return NULL;
}

/* ---- a queue ---- */

/* Uses the parts of the time: the messages of these calls wait in a mailbox. */
static bool queue_by_parts(const struct why_facts *f, struct snap_finding *out, bool *known)
{
    struct why_part most = why_part_most(f, PART_MAILBOX);

    *known |= most.known;
    if (!most.row)
        return false;
    struct why_piece piece = why_facts_piece(f, PART_MAILBOX);
    struct why_process process = why_process(f, piece.other);
    out->score = most.score;
    out->proof = PROOF_PARTS;
    out->row = most.row;
    out->pid = piece.other;
    snprintf(out->text, sizeof out->text,
             "%d %% of the time of %s is spent waiting in the mailbox of another process%s%s",
             why_percent(most.share), why_part_calls(&most).s, piece.other ? ", mostly " : "",
             piece.other ? process.s : "");
    return true;
}

/* The share of time in which a process, or each of several, runs calls: of a tier, and of all
 * tiers, for which the calls of the tier wait too. */
struct use {
    double tier, all;
};

static struct use use_within(double tier, double all)
{
    struct use u;

    u.all = all > 0 ? (all < 1 ? all : 1) : 0; /* it may not be a number */
    u.tier = tier > 0 ? (tier < u.all ? tier : u.all) : 0;
    return u;
}

/* Of the process in which the slow requests call the tier. */
static struct use use_of_process(const struct why_tier *t, const struct snap_row *row)
{
    double busy = why_facts_open(row); /* correct if all of them run in this process */
    double others = 0;

    /* of the last seconds, which may not be those of the window */
    if (row->busiest_pid == t->pid && row->busiest > 0) {
        if (t->processes > 1)
            busy = row->busiest;
        others = fmax(row->busiest_all - row->busiest, 0);
    }
    return use_within(busy, busy + others);
}

/* "90 % busy with calls of put, 1.00ms each" */
struct busy_text {
    char s[200];
};

static struct busy_text say_busy(struct use u, const struct snap_row *r)
{
    struct busy_text t;
    struct why_name tier = why_name(r->tier_name);
    int all = why_percent(u.all), own = why_percent(u.tier);

    if (own == all)
        snprintf(t.s, sizeof t.s, "%d %% busy with calls of %s, %s each", all, tier.s,
                 why_us(r->mean_us).s);
    else
        snprintf(t.s, sizeof t.s,
                 "%d %% busy, %d %% with calls of %s (%s each) and %d %% with those of other tiers",
                 all, own, tier.s, why_us(r->mean_us).s, all - own);
    return t;
}

static void say_queue(const struct why_facts *f, const struct why_tier *t, double share,
                      const struct snap_row *row, struct snap_finding *out)
{
    struct why_process process = why_process(f, t->pid);
    struct why_name tier = why_name(row->tier_name);
    struct use use = use_of_process(t, row);
    bool busy = use.all >= BUSY_LEAST, alone = why_percent(use.tier) == why_percent(use.all);
    bool uneven = row->p99_us >= UNEVEN * row->mean_us &&
                  row->p99_us >= t->wait_us / (double)f->traces / 2; /* it explains the wait */

    if (busy)
        snprintf(
            out->text, sizeof out->text,
            "%d %% of the time of the %zu newest slow requests is spent waiting for process %s, "
            "which is %s",
            why_percent(share), f->traces, process.s, say_busy(use, row).s);
    else if (uneven)
        snprintf(out->text, sizeof out->text,
                 "%d %% of the time of the %zu newest slow requests passes before process %s "
                 "begins a call of %s: some of these calls take %s (p99; mean %s), and the others "
                 "wait for them",
                 why_percent(share), f->traces, process.s, tier.s, why_us(row->p99_us).s,
                 why_us(row->mean_us).s);
    else
        snprintf(
            out->text, sizeof out->text,
            "%d %% of the time of the %zu newest slow requests passes before process %s begins "
            "a call of %s, though %s keep it only %d %% busy",
            why_percent(share), f->traces, process.s, tier.s,
            alone ? "these calls" : "the calls of all tiers", why_percent(use.all));
    out->score = busy || uneven ? 0.55 + 0.4 * share : 0.4 + 0.4 * share;
    out->proof = PROOF_WATERFALL;
    out->trace = t->trace;
    out->row = row;
    out->pid = t->pid;
}

/* Of the processes of the tier, on average. */
static struct use use_of_row(const struct snap_row *r)
{
    double n = r->processes;

    if (r->processes == 0)
        return (struct use){0, 0};
    return use_within(r->processes == 1 ? r->busiest : r->busy / n, r->load / n);
}

static void say_use(const struct why_facts *f, const struct snap_row *r, struct snap_finding *out)
{
    struct why_process process = why_process(f, r->busiest_pid);
    bool one = r->processes == 1, waits = r->waits >= WHY_CALLS;
    char who[120];

    if (one)
        snprintf(who, sizeof who, "process %s is", process.s);
    else
        snprintf(who, sizeof who, "%u processes are", r->processes);
    snprintf(out->text, sizeof out->text, "%s %s: calls wait for %s%s%s%s", who,
             say_busy(use_of_row(r), r).s, one ? "it" : "one of them", waits ? ", " : "",
             waits ? why_us(r->wait_mean_us).s : "", waits ? " on average" : "");
    out->proof = PROOF_TABLE;
    out->row = r;
    out->pid = one ? r->busiest_pid : 0;
}

/* A process can be busy all the time with one client, which never waits for another. */
static bool is_queued(const struct why_facts *f, const struct snap_row *r)
{
    if (r->waits >= WHY_CALLS)
        return r->wait_mean_us >= USE_WAIT * r->mean_us;
    return !f->total || why_facts_open(f->total) >= USE_OPEN * r->processes;
}

/* Needs no slow requests: finds the queue by how busy the process is. It is not known then how long
 * the requests wait. Nobody waits for calls that begin after their request has ended. */
static bool queue_by_use(const struct why_facts *f, struct snap_finding *out, bool *known)
{
    double most = 0; /* of the tiers of one process, the one with most of its time is named */

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier == TIER_TOTAL || r->ident || r->count < WHY_CALLS || r->busiest_pid == 0)
            continue;
        *known = true;
        struct use use = use_of_row(r);
        double score = USE_SCORE * use.all;
        if (use.all < USE_LEAST || !is_queued(f, r) || r->late > r->count / 2 ||
            score < out->score || (score <= out->score && use.tier <= most))
            continue;
        out->score = score;
        most = use.tier;
        say_use(f, r, out);
    }
    return out->score > 0;
}

enum why_answer why_wait_queue(const struct why_facts *f, struct snap_finding *out)
{
    bool known = false;

    for (uint16_t i = 0; i < TIER_MAX && f->traces >= WHY_SLOWS && !f->waits_to_run; i++) {
        const struct why_tier *t = &f->tier[i];
        const struct snap_row *row = t->remote ? tier_total(f, i) : NULL;
        if (t->calls < CALLS_LEAST || !row)
            continue;
        known = true;
        double share = fmin(t->wait_us / f->traces_us, 1); /* waits at the same time add up */
        struct snap_finding one = *out;
        if (share < WAIT_LEAST || t->pid_calls < ONE_PROCESS * t->calls)
            continue;
        say_queue(f, t, share, row, &one);
        if (one.score > out->score)
            *out = one;
    }
    if (out->score > 0 || queue_by_parts(f, out, &known))
        return WHY_YES;
    if (!f->waits_to_run && queue_by_use(f, out, &known))
        return WHY_YES;
    return known ? WHY_NO : WHY_UNKNOWN;
}

/* ---- a lock ---- */

enum why_answer why_wait_lock(const struct why_facts *f, struct snap_finding *out)
{
    double open = f->total ? why_facts_open(f->total) : 0;
    bool known = false;

    if (!f->total || f->traces < WHY_SLOWS || f->waits_to_run)
        return WHY_UNKNOWN;
    for (uint16_t i = 0; i < TIER_MAX; i++) {
        const struct why_tier *t = &f->tier[i];
        const struct snap_row *row = t->calls >= CALLS_LEAST ? tier_total(f, i) : NULL;
        double full = t->range_us > 0 ? t->sum_us / t->range_us : 0;
        known |= row != NULL;
        if (!row || i == f->s->entry || t->processes < LOCK_PIDS || full < FULL_LEAST ||
            t->overlap_us > OVERLAP_MOST * t->sum_us || open < LOCK_OPEN)
            continue;
        double score = 0.5 + 0.4 * (full < 1 ? full : 1);
        if (score <= out->score)
            continue;
        out->score = score;
        out->proof = PROOF_WATERFALL;
        out->trace = t->longest;
        out->row = row;
        snprintf(
            out->text, sizeof out->text,
            "%s runs in one process at a time, as behind a lock: its %u calls in %u%s "
            "processes do not overlap and fill %d %% of the time, while %.0f requests are open",
            why_name(row->tier_name).s, t->calls, t->processes,
            t->processes == WHY_PIDS ? " or more" : "", why_percent(full < 1 ? full : 1), open);
    }
    return out->score > 0 ? WHY_YES : known ? WHY_NO : WHY_UNKNOWN;
}

/* ---- calls that do not end ---- */

static const struct snap_row *row_of(const struct why_facts *f, const struct snap_open *o)
{
    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier != TIER_TOTAL && !r->ident && strcmp(r->tier_name, o->tier_name) == 0)
            return r->count >= WHY_CALLS ? r : NULL;
    }
    return NULL;
}

/* While nothing is traced, calls that have ended seem open. */
static bool traced_now(const struct snapshot *s)
{
    bool gap = s->n_gaps > 0 && s->gaps[0].to_s <= 0; /* the newest */
    return !s->time.history && s->node.connected && s->node.tracing && !gap &&
           s->breaker.state == BREAKER_CLOSED;
}

enum why_answer why_wait_hangs(const struct why_facts *f, struct snap_finding *out)
{
    const struct snap_open *oldest = NULL;
    const struct snap_row *row = NULL;
    unsigned n = 0;
    bool known = f->s->n_open == 0;

    if (!traced_now(f->s))
        return WHY_UNKNOWN;
    for (size_t i = 0; i < f->s->n_open; i++) {
        const struct snap_open *o = &f->s->open[i];
        const struct snap_row *r = row_of(f, o);
        known |= r != NULL;
        if (!r || o->age_us < HANGS_US || o->age_us < HANGS_TIMES * r->p99_us)
            continue;
        n++;
        /* of calls inside of each other, the innermost one hangs: it began last */
        if (!oldest || o->pid == oldest->pid) {
            oldest = o;
            row = r;
        }
    }
    if (!oldest)
        return known ? WHY_NO : WHY_UNKNOWN;
    out->score = n < 5 ? 0.55 : n < 20 ? 0.65 : 0.75;
    out->proof = PROOF_OPEN_CALLS;
    out->pid = oldest->pid;
    out->start_ns = oldest->start_ns;
    snprintf(out->text, sizeof out->text,
             "%u call%s open far longer than usual: %s in process %s for %s; its p99 is %s", n,
             n == 1 ? " is" : "s are", why_name(oldest->tier_name).s, why_process(f, oldest->pid).s,
             why_us(oldest->age_us).s, why_us(row->p99_us).s);
    return WHY_YES;
}
