/* Rules about the parts of the time of calls, if the node reports them. */
#include "why_rules.h"

#include <stdio.h>
#include <string.h>

#define PART_CALLS 10  /* calls of a row whose parts are known */
#define SLOW_CALLS 500 /* with this many, the slowest 1 % are several calls */
#define PART_LEAST 0.3 /* of the time of the calls of a row, or of its slowest calls, */
#define ROW_LEAST  0.2 /* ... which take this part of the time of all requests */
/* The parts of a call include those of the calls inside it: a tier inside that has this share of
 * the outer tier's part is named instead. */
#define INNER_LEAST 0.8

/* The part's share of the time of the calls; of the slowest ones if they are several. */
static double share_of(const struct time_part_view *v, enum time_part p)
{
    double all = v->share[p], slow = v->calls >= SLOW_CALLS ? v->slow_share[p] : 0;
    return slow > all ? slow : all;
}

static bool is_known(const struct snap_row *r)
{
    return r->parts && r->parts->calls >= PART_CALLS && r->tier != TIER_TOTAL;
}

static bool is_enough(const struct why_facts *f, const struct snap_row *r, enum time_part p)
{
    return is_known(r) && share_of(r->parts, p) >= PART_LEAST &&
           why_facts_inside(f, r) >= ROW_LEAST;
}

static double part_us(const struct snap_row *r, enum time_part p)
{
    return r->parts->share[p] * (double)r->count * r->mean_us;
}

static const struct snap_row *innermost(const struct why_facts *f, const struct snap_row *outer,
                                        enum time_part p)
{
    const struct snap_row *in = outer;

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (r->ident_n == outer->ident_n && is_enough(f, r, p) &&
            part_us(r, p) >= INNER_LEAST * part_us(outer, p) &&
            (double)r->count * r->mean_us < (double)in->count * in->mean_us)
            in = r;
    }
    return in;
}

struct why_part why_part_most(const struct why_facts *f, enum time_part p)
{
    struct why_part most = {0};

    for (size_t i = 0; i < f->s->n_rows; i++) {
        const struct snap_row *r = &f->s->rows[i];
        if (!is_known(r))
            continue;
        most.known = true;
        double score = 0.55 + 0.4 * share_of(r->parts, p) * (0.5 + 0.5 * why_facts_inside(f, r));
        if (!is_enough(f, r, p) || score <= most.score)
            continue;
        most.row = r;
        most.score = score;
    }
    if (most.row) {
        most.row = innermost(f, most.row, p);
        most.share = share_of(most.row->parts, p);
        most.slow = most.share > most.row->parts->share[p];
    }
    return most;
}

struct why_part_text why_part_calls(const struct why_part *p)
{
    struct why_part_text t;
    const struct snap_row *r = p->row;

    if (p->slow)
        snprintf(t.s, sizeof t.s, "the slowest 1 %% of the calls of %s%s%s (%s and longer)",
                 why_name(r->tier_name).s, r->ident ? " for " : "", r->ident ? why_ident(r).s : "",
                 why_us(r->parts->slow_from_us).s);
    else
        snprintf(t.s, sizeof t.s, "the calls of %s%s%s (%llu of them were followed)",
                 why_name(r->tier_name).s, r->ident ? " for " : "", r->ident ? why_ident(r).s : "",
                 (unsigned long long)r->parts->calls);
    return t;
}

/* what: the subject of the sentence, with its verb */
static enum why_answer find(const struct why_facts *f, enum time_part p, const char *what,
                            struct snap_finding *out)
{
    struct why_part most = why_part_most(f, p);
    struct why_piece piece = why_facts_piece(f, p);

    if (!most.row)
        return most.known ? WHY_NO : WHY_UNKNOWN;
    out->score = most.score;
    out->proof = PROOF_PARTS;
    out->row = most.row;
    snprintf(out->text, sizeof out->text, "%s %d %% of the time of %s%s%s", what,
             why_percent(most.share), why_part_calls(&most).s, piece.what ? ", mostly " : "",
             piece.what ? why_name(piece.what).s : "");
    return WHY_YES;
}

enum why_answer why_part_gc(const struct why_facts *f, struct snap_finding *out)
{
    enum why_answer a = find(f, PART_GC, "garbage collection is", out);

    return a == WHY_NO && f->s->node.no_gc ? WHY_UNKNOWN : a;
}

/* Without parts: the polls of slow requests found them in a module whose functions are dirty jobs.
 */
static bool polled_dirty(const struct why_facts *f, struct snap_finding *out)
{
    static const char *const modules[] = {"prim_file:", "crypto:"};
    struct why_polls p = why_facts_polls(f, NULL);
    bool dirty = false;

    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        dirty |= strncmp(p.place.s, modules[i], strlen(modules[i])) == 0;
    if (!dirty)
        return false;
    out->score = 0.5 + 0.4 * p.share;
    out->proof = PROOF_SLOW;
    snprintf(out->text, sizeof out->text,
             "in %d %% of %.0f polls the slow requests were in dirty jobs: %s",
             why_percent(p.share), p.polls, p.place.s);
    return true;
}

enum why_answer why_part_dirty(const struct why_facts *f, struct snap_finding *out)
{
    if (!why_part_most(f, PART_DIRTY).known && polled_dirty(f, out))
        return WHY_YES;
    return find(f, PART_DIRTY, "dirty jobs (files, crypto, other native code) are", out);
}

enum why_answer why_part_port(const struct why_facts *f, struct snap_finding *out)
{
    return find(f, PART_PORT, "waiting for a port is", out);
}
