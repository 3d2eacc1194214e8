/* Rules about which tier takes the time of the requests. */
#include "why_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TIER_LEAST    0.5  /* of the time of an identity: less explains it only in part */
#define ENTRY_ALL     0.99 /* of the time of an identity is in the entry itself: reported only if */
#define ENTRY_LEAST   0.5  /* ... the identity takes this part of the time of all requests */
#define DIFFERS_CALLS 20   /* of an identity: so large a difference shows with few calls */
#define DIFFERS_TIMES 3.0  /* times as long as the others */
#define DIFFERS_LEAST 0.9  /* of the difference is in one tier */
#define REPEATS_LEAST 8.0  /* calls of a tier per request, */
#define REPEATS_SHARE 0.2  /* ... which take this part of its time */

static bool is_request(const struct snap_row *r)
{
    return r->tier == TIER_TOTAL && r->count > 0 && r->mean_us > 0 && !r->former &&
           (!r->ident || (strcmp(r->ident, "undefined") != 0 && strcmp(r->ident, "<other>") != 0));
}

/* The rows to explain: each named identity; all requests together if there are no identities. */
static bool is_kind(const struct why_facts *f, const struct snap_row *r)
{
    return is_request(r) && r->count >= WHY_CALLS &&
           (f->s->has_identity ? r->ident != NULL : r == f->total);
}

static const struct snap_row *tier_row(const struct why_facts *f, const char *name,
                                       const struct snap_row *kind)
{
    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier != TIER_TOTAL && !r->ident && strcmp(r->tier_name, name) == 0)
            return why_facts_row(f, r->tier, kind);
    }
    return NULL;
}

/* The share of this kind of request in the time of all requests. */
static double weight(const struct why_facts *f, const struct snap_row *kind)
{
    double all = (double)f->total->count * f->total->mean_us;
    double w = all > 0 ? (double)kind->count * kind->mean_us / all : 0;
    return w < 1 ? w : 1;
}

/* ---- the tier with most of the self time ---- */

/* Adds where the slow requests of this kind hang, if most polls found them in one place. */
static void say_place(const struct why_facts *f, const struct snap_row *kind,
                      struct snap_finding *out)
{
    struct why_polls p = why_facts_polls(f, kind->ident);
    size_t len = strlen(out->text);

    if (p.place.s[0])
        snprintf(out->text + len, sizeof out->text - len,
                 "; %d %% of %.0f polls found its slow requests in %s", why_percent(p.share),
                 p.polls, p.place.s);
}

struct most {
    const char *tier;
    double share;
    unsigned n;     /* slow requests that it is computed from; 0: from all requests of the kind */
    uint64_t pid;   /* the process of the tier in all of them; 0: several */
    uint64_t trace; /* of the slowest of them; 0: none */
};

struct self_sum {
    const char *tier;
    double us;
    uint64_t pid;
};

static size_t add_sums(struct self_sum *sum, size_t n, const struct snap_slow *w)
{
    for (size_t i = 0; i < w->n_sums; i++) {
        size_t k = 0;
        while (k < n && strcmp(sum[k].tier, w->sums[i].name) != 0)
            k++;
        if (k == TIER_MAX)
            continue;
        if (k == n)
            sum[n++] = (struct self_sum){.tier = w->sums[i].name, .pid = w->sums[i].pid};
        sum[k].us += w->sums[i].self_us;
        if (sum[k].pid != w->sums[i].pid)
            sum[k].pid = 0;
    }
    return n;
}

/* Of the stored requests of this kind that took as long as its p95 or longer. */
static struct most most_of_slow(const struct why_facts *f, const struct snap_row *kind)
{
    struct most m = {0};
    struct self_sum sum[TIER_MAX];
    size_t n = 0;
    double whole_us = 0, longest_us = 0;

    for (size_t i = 0; i < f->s->n_slow; i++) {
        const struct snap_slow *w = &f->s->slow[i];
        if (!why_facts_is_slow(f, w, kind->ident, kind->p95_us))
            continue;
        n = add_sums(sum, n, w);
        whole_us += w->request_us;
        m.n++;
        if (w->trace && w->request_us > longest_us) {
            longest_us = w->request_us;
            m.trace = w->trace;
        }
    }
    if (m.n < WHY_SLOWS)
        return (struct most){0};
    for (size_t k = 0; k < n; k++) {
        if (sum[k].us <= m.share * whole_us)
            continue;
        m.share = sum[k].us / whole_us;
        m.tier = sum[k].tier;
        m.pid = sum[k].pid;
    }
    m.share = fmin(m.share, 1); /* calls in several processes, or longer than their request */
    return m;
}

/* Of all requests of this kind. */
static struct most most_of_all(const struct why_facts *f, const struct snap_row *kind)
{
    struct most m = {0};

    for (uint16_t t = 0; t < TIER_MAX; t++) {
        const struct snap_row *r = why_facts_row(f, t, kind);
        if (!r)
            continue;
        double share = r->share < 1 ? r->share : 1;
        if (share > m.share)
            m = (struct most){.tier = r->tier_name, .share = share};
    }
    return m;
}

static unsigned tiers(const struct snapshot *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->n_rows; i++)
        n += s->rows[i].tier != TIER_TOTAL && !s->rows[i].ident && s->rows[i].count > 0;
    return n;
}

static void say_tier(const struct why_facts *f, const struct snap_row *kind, const struct most *m,
                     struct snap_finding *out)
{
    struct why_name of = why_ident(kind), tier = why_name(m->tier);
    struct why_process process = why_process(f, m->pid);
    const struct snap_row *row = tier_row(f, m->tier, kind);
    bool entry = row && row->tier == f->s->entry;
    const char *own = entry ? " itself, outside of the other tiers" : "";

    if (m->n)
        snprintf(out->text, sizeof out->text,
                 "p99 of %s is %s: in its %u slowest requests, %d %% of the time is self time of "
                 "%s%s%s%s",
                 of.s, why_us(kind->p99_us).s, m->n, why_percent(m->share), tier.s, own,
                 m->pid ? ", always in process " : "", m->pid ? process.s : "");
    else
        snprintf(out->text, sizeof out->text,
                 "the mean of %s is %s: %d %% of it is self time of %s%s", of.s,
                 why_us(kind->mean_us).s, why_percent(m->share), tier.s, own);
    say_place(f, kind, out);
    out->proof = m->trace ? PROOF_WATERFALL : PROOF_TABLE;
    out->trace = m->trace;
    out->row = row ? row : kind;
    out->pid = m->pid;
}

/* On average, such requests do nothing outside of the entry. */
static bool is_in_entry(const struct why_facts *f, const struct snap_row *kind,
                        const struct most *m)
{
    const struct snap_row *row = tier_row(f, m->tier, kind);
    return !m->n && m->share >= ENTRY_ALL && row && row->tier == f->s->entry;
}

enum why_answer why_time_tier(const struct why_facts *f, struct snap_finding *out)
{
    bool known = false;

    if (!f->total || tiers(f->s) < 2) /* with one tier, all time is its self time */
        return WHY_UNKNOWN;
    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *kind = &f->s->rows[i];
        if (!is_kind(f, kind))
            continue;
        struct most m = most_of_slow(f, kind);
        if (!m.tier)
            m = most_of_all(f, kind);
        known = true;
        double score = 0.7 * m.share * (0.5 + 0.5 * weight(f, kind));
        if (m.share < TIER_LEAST || score <= out->score ||
            (is_in_entry(f, kind, &m) && weight(f, kind) < ENTRY_LEAST))
            continue;
        out->score = score;
        say_tier(f, kind, &m, out);
    }
    return out->score > 0 ? WHY_YES : known ? WHY_NO : WHY_UNKNOWN;
}

/* ---- an identity that differs in one tier ---- */

/* Self time of a tier per request of the kind. */
static double per_request_us(const struct why_facts *f, uint16_t tier, const struct snap_row *kind)
{
    const struct snap_row *r = why_facts_row(f, tier, kind);
    return r ? r->self_us * (double)r->count / (double)kind->count : 0;
}

/* The named identities other than one of them, together. */
struct others {
    double count, us; /* us: of all of them */
    unsigned n;
    const struct snap_row *one;
};

static bool is_other(const struct snap_row *r, const struct snap_row *than)
{
    return r != than && r->ident && is_request(r);
}

static struct others others_of(const struct why_facts *f, const struct snap_row *than)
{
    struct others o = {0};

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (!is_other(r, than))
            continue;
        o.count += (double)r->count;
        o.us += (double)r->count * r->mean_us;
        o.one = r;
        o.n++;
    }
    return o;
}

static double others_tier_us(const struct why_facts *f, uint16_t tier, const struct snap_row *than)
{
    double us = 0;

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (is_other(r, than))
            us += per_request_us(f, tier, r) * (double)r->count;
    }
    return us;
}

/* The identity with the highest mean of those with at least this many calls. */
static const struct snap_row *slowest(const struct why_facts *f, uint64_t least)
{
    const struct snap_row *slow = NULL;

    for (size_t i = 0; f->total && f->s->has_identity && i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (is_other(r, NULL) && r->count >= least && (!slow || r->mean_us > slow->mean_us))
            slow = r;
    }
    return slow;
}

static bool is_slow(const struct snap_row *r, const struct others *o)
{
    return r->mean_us >= DIFFERS_TIMES * o->us / o->count;
}

/* The tier with most of the difference; NULL: it is in several. */
static const struct snap_row *differing_tier(const struct why_facts *f, const struct snap_row *slow,
                                             const struct others *o)
{
    double more = slow->mean_us - o->us / o->count;

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier == TIER_TOTAL || r->ident)
            continue;
        double us = per_request_us(f, r->tier, slow) - others_tier_us(f, r->tier, slow) / o->count;
        if (us >= DIFFERS_LEAST * more)
            return r;
    }
    return NULL;
}

static void say_differs(const struct why_facts *f, const struct snap_row *slow,
                        const struct others *o, const struct snap_row *tier,
                        struct snap_finding *out)
{
    out->score = 0.5;
    out->proof = PROOF_TABLE;
    out->row = why_facts_row(f, tier->tier, slow);
    snprintf(out->text, sizeof out->text,
             "%s takes %s on average, %s %s: the difference is mostly self time of %s (%s instead "
             "of %s)",
             why_ident(slow).s, why_us(slow->mean_us).s,
             o->n == 1 ? why_ident(o->one).s : "the others", why_us(o->us / o->count).s,
             why_name(tier->tier_name).s, why_us(per_request_us(f, tier->tier, slow)).s,
             why_us(others_tier_us(f, tier->tier, slow) / o->count).s);
}

enum why_answer why_time_differs(const struct why_facts *f, struct snap_finding *out)
{
    const struct snap_row *slow = slowest(f, DIFFERS_CALLS), *any = slowest(f, 1);
    struct others o = slow ? others_of(f, slow) : (struct others){0};

    if (o.count < DIFFERS_CALLS)
        return WHY_UNKNOWN;
    const struct snap_row *tier = is_slow(slow, &o) ? differing_tier(f, slow, &o) : NULL;
    if (tier) {
        say_differs(f, slow, &o, tier, out);
        return WHY_YES;
    }
    if (any == slow)
        return WHY_NO;
    o = others_of(f, any); /* too few calls to say anything about them */
    return is_slow(any, &o) ? WHY_UNKNOWN : WHY_NO;
}

/* ---- a tier that a request calls many times ---- */

enum why_answer why_time_repeats(const struct why_facts *f, struct snap_finding *out)
{
    bool known = false;

    for (size_t i = 0; f->total && i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        const struct snap_row *kind =
            r->tier == TIER_TOTAL ? NULL : why_facts_row(f, TIER_TOTAL, r);
        if (!kind || !is_kind(f, kind) || r->tier == f->s->entry)
            continue;
        known = true;
        double calls = (double)r->count / (double)kind->count;
        double share = (double)r->count * r->mean_us / ((double)kind->count * kind->mean_us);
        share = share < 1 ? share : 1;
        double score = 0.35 + 0.5 * share * (0.5 + 0.5 * weight(f, kind));
        if (calls < REPEATS_LEAST || share < REPEATS_SHARE || score <= out->score)
            continue;
        out->score = score;
        out->proof = PROOF_TABLE;
        out->row = r;
        snprintf(out->text, sizeof out->text,
                 "%s call%s %s %.0f times per request, %s each: %d %% of the time",
                 why_ident(kind).s, kind->ident ? "s" : "", why_name(r->tier_name).s, calls,
                 why_us(r->mean_us).s, why_percent(share));
    }
    return out->score > 0 ? WHY_YES : known ? WHY_NO : WHY_UNKNOWN;
}
