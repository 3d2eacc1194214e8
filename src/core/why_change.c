/* Rules about changes: what fails, what is more frequent than before, what is slower than the
 * reference. */
#include "why_rules.h"

#include <kprof/base/format.h>
#include <math.h>
#include <stdio.h>

#define ERRORS_LEAST 10   /* calls of a tier that failed, */
#define ERRORS_SHARE 0.05 /* ... and their part of its calls */
#define ONE_TIMES    3.0  /* one identity, not all, if its part is this many times as large */
#define RISEN_LEAST  0.01 /* or at least this part of the latest calls, if it is */
#define RISEN_TIMES  5.0  /* ... this many times the part of the calls before them */
#define RISEN_SCORE  0.2
#define MOST_SCORE   0.95
#define NOW_S        10   /* the last seconds of the trend, which are compared with those before */
#define BEFORE_LEAST 20   /* seconds before that must be known */
#define TIMES        3.0  /* times as often as before, */
#define MORE_PER_S   5.0  /* ... and this many more per second */
#define SLOWER_LEAST 0.25 /* p99 is longer by this fraction, */
#define SLOWER_CALLS 200  /* ... with at least this many calls then and now */

/* ---- the last seconds, compared with those before ---- */

struct rates {
    double now, before;
    unsigned now_s, before_s; /* known seconds */
};

/* value NULL: the mean rate; else the mean of the value over the calls. */
static struct rates rates_of(const float *rate, const float *value)
{
    struct rates r = {0};
    double calls_now = 0, calls_before = 0;

    for (size_t i = 0; i < SNAP_TREND; i++) {
        bool now = i >= SNAP_TREND - NOW_S;
        if (isnan(rate[i]))
            continue;
        double v = !value ? 1 : isnan(value[i]) ? 0 : (double)value[i];
        *(now ? &r.now : &r.before) += v * (double)rate[i];
        *(now ? &calls_now : &calls_before) += (double)rate[i];
        ++*(now ? &r.now_s : &r.before_s);
    }
    if (value) {
        r.now = calls_now > 0 ? r.now / calls_now : 0;
        r.before = calls_before > 0 ? r.before / calls_before : 0;
    } else {
        r.now = r.now_s ? r.now / r.now_s : 0;
        r.before = r.before_s ? r.before / r.before_s : 0;
    }
    return r;
}

static bool enough(const struct rates *r)
{
    return r->now_s >= NOW_S / 2 && r->before_s >= BEFORE_LEAST;
}

/* ---- errors ---- */

static double error_share(const struct snap_row *r)
{
    return r->count ? (double)r->errors / (double)r->count : 0;
}

/* The shares of errors, if they have risen; else with before_s 0. */
static struct rates risen(const struct snap_row *r)
{
    struct rates e = {0};

    if (r->trend_errors)
        e = rates_of(r->trend_rate, r->trend_errors);
    if (!enough(&e) || e.now < RISEN_LEAST || e.now < RISEN_TIMES * e.before)
        return (struct rates){0};
    return e;
}

/* The identity of the tier to which most of its errors belong; NULL: several. */
static const struct snap_row *failing_kind(const struct why_facts *f, const struct snap_row *tier)
{
    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier == tier->tier && r->ident && (double)r->errors >= 0.9 * (double)tier->errors)
            return r;
    }
    return NULL;
}

static void say_errors(const struct snap_row *r, struct snap_finding *out)
{
    struct rates e = risen(r);
    double share = error_share(r);
    int n = snprintf(out->text, sizeof out->text,
                     "%s %% of the calls of %s%s%s end in an exception (%llu of %llu)",
                     why_share(share).s, why_name(r->tier_name).s, r->ident ? " for " : "",
                     r->ident ? why_ident(r).s : "", (unsigned long long)r->errors,
                     (unsigned long long)r->count);

    if (r->exits)
        n += snprintf(out->text + n, sizeof out->text - (size_t)n,
                      "; in %llu of them the process died", (unsigned long long)r->exits);
    if (e.before_s)
        snprintf(out->text + n, sizeof out->text - (size_t)n,
                 "; in the last %u s %s %%, in the %u s before %s %%", e.now_s, why_share(e.now).s,
                 e.before_s, why_share(e.before).s);
    double score = 0.5 + 0.4 * (share < 1 ? share : 1) + (e.before_s ? RISEN_SCORE : 0);
    out->score = score < MOST_SCORE ? score : MOST_SCORE;
    out->proof = PROOF_TABLE;
    out->row = r;
}

/* An exception passes through the callers: of the tiers with as many errors, the shortest calls are
 * those of the innermost tier. */
static const struct snap_row *innermost(const struct why_facts *f, const struct snap_row *most)
{
    const struct snap_row *kind = most->ident ? most : failing_kind(f, most);
    const struct snap_row *in = kind ? kind : most;

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier == TIER_TOTAL || r->ident ||
            (!most->ident && (double)r->errors > 1.1 * (double)most->errors))
            continue;
        r = kind ? why_facts_row(f, r->tier, kind) : r;
        if (r && (double)r->errors <= 1.1 * (double)most->errors &&
            (double)r->errors >= 0.9 * (double)most->errors && r->mean_us < in->mean_us)
            in = r;
    }
    if (!kind)
        kind = failing_kind(f, in);
    return in->ident || !kind ? in : kind;
}

static bool fails(const struct snap_row *r)
{
    return r->errors >= ERRORS_LEAST && (error_share(r) >= ERRORS_SHARE || risen(r).before_s);
}

/* The row with the largest share of errors among those of all identities of a tier, or among those
 * of one. */
static const struct snap_row *failing(const struct why_facts *f, bool of_one)
{
    const struct snap_row *most = NULL;

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier != TIER_TOTAL && (r->ident != NULL) == of_one && !r->former &&
            r->count >= WHY_CALLS && fails(r) && (!most || error_share(r) > error_share(most)))
            most = r;
    }
    return most;
}

static bool has_calls(const struct why_facts *f)
{
    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier != TIER_TOTAL && !r->ident && r->count >= WHY_CALLS)
            return true;
    }
    return false;
}

enum why_answer why_change_errors(const struct why_facts *f, struct snap_finding *out)
{
    const struct snap_row *most = failing(f, false), *kind = failing(f, true);

    if (kind && (!most || error_share(kind) > ONE_TIMES * error_share(most)))
        most = kind;
    bool known = has_calls(f);
    if (!most)
        return known ? WHY_NO : WHY_UNKNOWN;
    say_errors(innermost(f, most), out);
    return WHY_YES;
}

/* ---- more often ---- */

enum why_answer why_change_frequent(const struct why_facts *f, struct snap_finding *out)
{
    bool known = false;
    double most = 0;

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->tier != TIER_TOTAL || !r->trend_rate || (!r->ident && f->s->has_identity))
            continue;
        struct rates rate = rates_of(r->trend_rate, NULL);
        if (!enough(&rate))
            continue;
        known = true;
        double more = rate.now - rate.before;
        if (rate.now < TIMES * rate.before || more < MORE_PER_S || more <= most)
            continue;
        most = more;
        char now[FORMAT_BYTES], before[FORMAT_BYTES];
        format_rate(rate.now, now);
        format_rate(rate.before, before);
        out->score = 0.55;
        out->proof = PROOF_HEAT;
        out->row = r;
        snprintf(out->text, sizeof out->text,
                 "%s: %s requests per second in the last %u s, and %s in the %u s before",
                 why_ident(r).s, now, rate.now_s, before, rate.before_s);
    }
    return most > 0 ? WHY_YES : known ? WHY_NO : WHY_UNKNOWN;
}

/* ---- slower than the reference ---- */

enum why_answer why_change_slower(const struct why_facts *f, struct snap_finding *out)
{
    bool known = false;

    for (size_t i = 0; f->s->compared[0] && i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (isnan(r->d_p99) || r->count < SLOWER_CALLS || r->then_count < SLOWER_CALLS)
            continue;
        known = true;
        /* If a tier is slower, so are the tiers that enclose it: the self time shows which one it
         * is (not used for the requests, because all of their time is self time). If the machine is
         * slower, so are all tiers: the one with the most time matters. */
        bool own = r->tier != TIER_TOTAL && r->mean_us > 0;
        double score = 0.45 + 0.25 * (r->d_p99 < 1 ? r->d_p99 : 1) +
                       0.1 * (own ? r->self_us / r->mean_us : 0) + 0.1 * why_facts_inside(f, r);
        if (r->d_p99 < SLOWER_LEAST || score <= out->score || score > 1)
            continue;
        char change[FORMAT_BYTES];
        format_change(r->d_p99, change);
        out->score = score;
        out->proof = PROOF_TABLE;
        out->row = r;
        snprintf(out->text, sizeof out->text, "p99 of %s%s%s is %s, %s compared with %s",
                 why_name(r->tier == TIER_TOTAL ? "the requests" : r->tier_name).s,
                 r->ident ? " for " : "", r->ident ? why_ident(r).s : "", why_us(r->p99_us).s,
                 change, why_name(f->s->compared).s);
    }
    return out->score > 0 ? WHY_YES : known ? WHY_NO : WHY_UNKNOWN;
}
