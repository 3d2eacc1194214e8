/* Rules about the node (run queue, memory) and about tracing (gaps, lost events). */
#include "why_load.h"
#include "why_rules.h"

#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

#define BUSY       0.95                 /* use of the schedulers */
#define GROWTH_S   60                   /* seconds of memory that are needed, */
#define GROWTH     1.25                 /* ... in which it grows by this factor, */
#define GROWTH_MIN (UINT64_C(64) << 20) /* ... and by this many bytes, */
#define QUARTERS   4                    /* ... in each quarter of the time */
#define GAP_LEAST  0.1                  /* of the window without tracing */

/* ---- the run queue ---- */

/* Writes "since 14:02:11", or "since 14:02:11 or before" if the period may have begun earlier than
 * the stored seconds. */
static void since(const struct snapshot *s, size_t from, char *out, size_t cap)
{
    char at[FORMAT_BYTES];
    format_time(s->load[from].wall_ns, false, at);
    snprintf(out, cap, "since %s%s", at, from == 0 ? " or before" : "");
}

static void say_part(const struct why_facts *f, struct snap_finding *out)
{
    struct why_part most = why_part_most(f, PART_RUN_QUEUE);
    size_t n = strlen(out->text);

    if (!most.row)
        return;
    snprintf(out->text + n, sizeof out->text - n,
             "; %d %% of the time of %s is spent waiting for a scheduler", why_percent(most.share),
             why_part_calls(&most).s);
    out->score = most.score > out->score ? most.score : out->score;
    out->row = most.row;
    out->proof = PROOF_PARTS;
}

enum why_answer why_node_run_queue(const struct why_facts *f, struct snap_finding *out)
{
    const struct snapshot *s = f->s;
    struct why_run_queue q = why_run_queue(s, WHY_NORMAL);
    char at[60];

    if (!q.known)
        return WHY_UNKNOWN;
    if (!q.is_long && q.use < BUSY)
        return WHY_NO;
    since(s, q.from, at, sizeof at);
    out->proof = PROOF_PROCESSES;
    if (q.is_long) {
        snprintf(
            out->text, sizeof out->text,
            "%s, %.0f processes per scheduler have been ready and waiting to run (%u scheduler%s)",
            at, q.mean, s->node.schedulers, s->node.schedulers == 1 ? "" : "s");
        out->score = 0.6 + 0.03 * (q.mean < 12 ? q.mean : 12);
        say_part(f, out);
        return WHY_YES;
    }
    snprintf(out->text, sizeof out->text, "the schedulers were %d %% busy in the last %zu s",
             why_percent(q.use), s->n_load - q.from);
    out->score = 0.45;
    return WHY_YES;
}

/* ---- the queue of the dirty CPU schedulers ---- */

enum why_answer why_node_dirty_queue(const struct why_facts *f, struct snap_finding *out)
{
    struct why_run_queue q = why_run_queue(f->s, WHY_DIRTY);
    char at[60];

    if (!q.known)
        return WHY_UNKNOWN;
    if (!q.is_long)
        return WHY_NO;
    since(f->s, q.from, at, sizeof at);
    snprintf(out->text, sizeof out->text,
             "%s, %.1f processes per scheduler have been waiting for a dirty CPU scheduler: for "
             "garbage collection of a large heap, or native code",
             at, q.mean);
    /* where the parts show the collections, they are the better explanation */
    out->score = why_part_most(f, PART_GC).row ? 0.6 : 0.7 + 0.03 * (q.mean < 8 ? q.mean : 8);
    out->proof = PROOF_PROCESSES;
    return WHY_YES;
}

/* ---- memory ---- */

/* The second with the least memory in a quarter of the time. */
static const struct snap_load *least_memory(const struct snapshot *s, size_t quarter)
{
    size_t at = s->n_load * quarter / QUARTERS;

    for (size_t i = at; i < s->n_load * (quarter + 1) / QUARTERS; i++)
        at = s->load[i].memory_bytes < s->load[at].memory_bytes ? i : at;
    return &s->load[at];
}

enum why_answer why_node_memory(const struct why_facts *f, struct snap_finding *out)
{
    const struct snapshot *s = f->s;
    const struct snap_load *least[QUARTERS];
    char then[FORMAT_BYTES], now[FORMAT_BYTES], each[FORMAT_BYTES], at[FORMAT_BYTES];

    if (s->n_load < GROWTH_S)
        return WHY_UNKNOWN;
    for (size_t q = 0; q < QUARTERS; q++) {
        least[q] = least_memory(s, q);
        if (q > 0 && least[q]->memory_bytes <= least[q - 1]->memory_bytes)
            return WHY_NO;
    }
    uint64_t first = least[0]->memory_bytes, last = least[QUARTERS - 1]->memory_bytes;
    if ((double)last < GROWTH * (double)first || last - first < GROWTH_MIN)
        return WHY_NO;
    double took_s = (double)(least[QUARTERS - 1]->wall_ns - least[0]->wall_ns) / 1e9;
    if (took_s <= 0) /* the clock of this machine was set back */
        return WHY_UNKNOWN;
    format_bytes(first, then);
    format_bytes(s->load[s->n_load - 1].memory_bytes, now);
    format_bytes((uint64_t)((double)(last - first) / took_s), each);
    format_time(least[0]->wall_ns, false, at);
    out->score = 0.5;
    out->proof = PROOF_PROCESSES;
    snprintf(out->text, sizeof out->text,
             "the memory of the node grows: %s at %s, %s now, about %s per second", then, at, now,
             each);
    return WHY_YES;
}

/* ---- tracing ---- */

enum why_answer why_node_gap(const struct why_facts *f, struct snap_finding *out)
{
    const struct snapshot *s = f->s;
    enum gap_reason most = GAP_NONE;

    if (s->window_s <= 0)
        return WHY_UNKNOWN;
    double part = s->gap_s / s->window_s;
    if (part < GAP_LEAST)
        return WHY_NO;
    part = part < 1 ? part : 1;
    snapshot_gap_s(s, s->window_s, 0, &most);
    out->score = 0.4 + 0.55 * part;
    out->proof = PROOF_LOG;
    bool reason = most == GAP_OVERLOAD && s->breaker.reason[0];
    snprintf(
        out->text, sizeof out->text,
        "the values do not cover %d %% of the window: nothing was traced for %.1f s (%s%s%.200s)",
        why_percent(part), s->gap_s,
        most == GAP_OFF        ? "tracing was off"
        : most == GAP_OVERLOAD ? "the breaker was open"
        : most == GAP_LEASE    ? "the node received nothing from kprof-top"
        : most == GAP_LOST     ? "the connection was lost"
        : most == GAP_SILENT   ? "the node sent nothing"
                               : "the reason is not known",
        reason ? ": " : "", reason ? s->breaker.reason : "");
    return WHY_YES;
}

enum why_answer why_node_lost(const struct why_facts *f, struct snap_finding *out)
{
    const struct snapshot *s = f->s;
    uint64_t lost = s->lost.target + s->lost.ring;
    char n[FORMAT_BYTES];

    if (lost == 0)
        return WHY_NO;
    format_count(lost, n);
    out->score = 0.45;
    out->proof = PROOF_INTERNALS;
    snprintf(out->text, sizeof out->text,
             "%s events were lost since the start: some calls are missing", n);
    return WHY_YES;
}
