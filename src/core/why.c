#include "why_rules.h"

#include <assert.h>
#include <kprof/core/why.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rule needs besides calls. */
enum { NEEDS_ENTRY = 1, NEEDS_DETAIL = 2, NEEDS_SLOW = 4, NEEDS_REFERENCE = 8, NEEDS_GC = 16 };

/* The thresholds are in the files of the rules (why_*.c). A cause gets a higher score than the tier
 * in which it shows: causes reach 0.95, "most of the time is in tier X" reaches 0.7. */
static const struct {
    struct why_rule_text text;
    enum why_answer (*find)(const struct why_facts *f, struct snap_finding *out);
    unsigned needs;
} rules[] = {
    {{"gap", "time without tracing"}, why_node_gap, 0},
    {{"lost", "lost events"}, why_node_lost, 0},
    {{"queue", "waiting for a busy process"}, why_wait_queue, NEEDS_SLOW},
    {{"lock", "calls that run one at a time"}, why_wait_lock, NEEDS_ENTRY | NEEDS_SLOW},
    {{"run_queue", "the run queue"}, why_node_run_queue, 0},
    {{"gc", "garbage collection"}, why_part_gc, NEEDS_DETAIL | NEEDS_GC},
    {{"dirty", "dirty jobs"}, why_part_dirty, NEEDS_DETAIL},
    {{"port", "ports"}, why_part_port, NEEDS_DETAIL},
    {{"tier", "self time of each tier"}, why_time_tier, NEEDS_ENTRY},
    {{"differs", "what distinguishes slow identities"}, why_time_differs, NEEDS_ENTRY},
    {{"repeats", "calls per request"}, why_time_repeats, NEEDS_ENTRY},
    {{"hangs", "calls that do not end"}, why_wait_hangs, 0},
    {{"errors", "exceptions and exits"}, why_change_errors, 0},
    {{"frequent", "identities that are more frequent than before"}, why_change_frequent, 0},
    {{"slower", "changes since the reference"}, why_change_slower, NEEDS_REFERENCE},
    {{"memory", "memory of the node"}, why_node_memory, 0},
    {{"dirty_queue", "waiting for a dirty scheduler"}, why_node_dirty_queue, 0},
};

#define RULES          (sizeof rules / sizeof *rules)
#define QUEUE_EXPLAINS 0.75 /* score of "queue": it explains at least half of the time */
_Static_assert(RULES <= 32, "each of snap_why.unknown has 32 bits");

const struct why_rule_text *why_rule(size_t i)
{
    return i < RULES ? &rules[i].text : NULL;
}

const char *why_proof_name(enum snap_proof p)
{
    static const char *const name[] = {
        [PROOF_TABLE] = "table",         [PROOF_HEAT] = "heat",
        [PROOF_SLOW] = "slow",           [PROOF_WATERFALL] = "waterfall",
        [PROOF_OPEN_CALLS] = "open",     [PROOF_PROCESSES] = "processes",
        [PROOF_INTERNALS] = "internals", [PROOF_LOG] = "messages",
        [PROOF_PARTS] = "parts",
    };
    assert(p < PROOF_COUNT);
    return name[p];
}

static const struct {
    const char *name, *text;
    const char *key, *option; /* what gives it to the rules: on the screen, without one */
} missing[] = {
    [MISSING_CALLS] = {"calls", "Not enough data yet", "", ""},
    [MISSING_VM] = {"vm", "Not known on this VM", "", ""},
    [MISSING_DETAIL] = {"detail", "Not recorded", " (--detail is off)", " (--detail is off)"},
    [MISSING_THRESHOLD] = {"threshold", "Needs a slow-call threshold", " (S, then s)",
                           " (--slow TIME)"},
    [MISSING_REFERENCE] = {"reference", "Needs a reference to compare with", " (m)",
                           " (--baseline FILE)"},
    [MISSING_ENTRY] = {"entry", "Needs an entry", " (E, in the table)", " (--entry NAME)"},
    [MISSING_SHORT_QUEUE] = {"run_queue", "Not known while the run queue is long", "", ""},
};

const char *why_missing_name(enum snap_missing m)
{
    assert(m < MISSING_COUNT);
    return missing[m].name;
}

struct why_missing_text why_missing_text(enum snap_missing m, bool screen)
{
    struct why_missing_text t;

    assert(m < MISSING_COUNT);
    snprintf(t.s, sizeof t.s, "%s%s", missing[m].text, screen ? missing[m].key : missing[m].option);
    return t;
}

enum snap_missing why_missing(const struct snap_why *w, size_t i)
{
    unsigned m = 0;

    while (m < MISSING_COUNT && !(w->unknown[m] & UINT32_C(1) << i))
        m++;
    return (enum snap_missing)m;
}

/* Why a rule with these needs could not say anything. */
static enum snap_missing lacks(const struct why_facts *f, unsigned needs)
{
    const struct snapshot *s = f->s;

    if ((needs & NEEDS_ENTRY && !s->has_entry) ||
        (needs & NEEDS_DETAIL && s->detail.state == DETAIL_NO_ENTRY))
        return MISSING_ENTRY;
    if (needs & NEEDS_DETAIL && s->detail.state == DETAIL_NOT_HERE)
        return MISSING_VM;
    if (needs & NEEDS_GC && s->node.no_gc)
        return MISSING_VM;
    if (needs & NEEDS_DETAIL && s->detail.state == DETAIL_OFF)
        return MISSING_DETAIL;
    if (needs & NEEDS_SLOW && f->waits_to_run)
        return MISSING_SHORT_QUEUE;
    if (needs & NEEDS_SLOW && s->slow_ns == 0)
        return MISSING_THRESHOLD;
    if (needs & NEEDS_REFERENCE && !s->compared[0])
        return MISSING_REFERENCE;
    return MISSING_CALLS;
}

/* Findings with the same score stay in the order of the table. */
static void add(struct snap_why *w, const struct snap_finding *one)
{
    size_t i = w->n < SNAP_FINDINGS ? w->n : SNAP_FINDINGS;

    while (i > 0 && w->of[i - 1].score < one->score)
        i--;
    if (i == SNAP_FINDINGS)
        return;
    w->n += w->n < SNAP_FINDINGS;
    memmove(&w->of[i + 1], &w->of[i], (w->n - i - 1) * sizeof *w->of);
    w->of[i] = *one;
}

static struct snap_finding *found(struct snap_why *w, const char *rule)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->of[i].rule, rule) == 0)
            return &w->of[i];
    return NULL;
}

/* The time in which a call waits for a busy process counts as self time of its tier. Then "tier"
 * names the tier of the caller, and "queue" the tier that is slow, so "tier" is dropped. */
static void drop_repeated(struct snap_why *w)
{
    const struct snap_finding *queue = found(w, "queue");
    struct snap_finding *tier = found(w, "tier");

    if (!queue || !tier || queue->score < QUEUE_EXPLAINS || queue->row == tier->row)
        return;
    memmove(tier, tier + 1, (size_t)(w->of + w->n - (tier + 1)) * sizeof *tier);
    w->n--;
}

void why_add(struct snapshot *s, snapshot_who *who, void *arg)
{
    struct why_facts *f = malloc(sizeof *f);

    if (!f)
        abort();
    why_facts_make(f, s, who, arg);
    s->why = (struct snap_why){.there = true};
    for (size_t i = 0; i < RULES; i++) {
        struct snap_finding one = {.rule = rules[i].text.name};
        switch (rules[i].find(f, &one)) {
        case WHY_UNKNOWN:
            s->why.unknown[lacks(f, rules[i].needs)] |= UINT32_C(1) << i;
            break;
        case WHY_NO:
            break;
        case WHY_YES:
            assert(one.text[0] && one.score > 0);
            one.score = fmin(one.score, 1);
            add(&s->why, &one);
            break;
        }
    }
    drop_repeated(&s->why);
    why_facts_release(f);
    free(f);
}
