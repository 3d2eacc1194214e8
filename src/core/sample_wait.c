#include <kprof/base/must.h>
#include <kprof/core/sample_wait.h>

#include <stdlib.h>
#include <string.h>

#define PASS_NS UINT64_C(5000000) /* core's time between two passes over the waiting samples */

struct waiting {
    struct stack_sample sample;
    struct stack_metrics metrics;
};

struct sample_wait {
    struct core *core;
    struct stack_profile *profile;
    struct waiting *waiting; /* in the order of arrival, a ring */
    size_t first, n;
    uint64_t passed_ns; /* core's time at the last pass */
    struct sample_wait_counts counts;
};

struct sample_wait *sample_wait_new(struct core *c, struct stack_profile *to)
{
    struct sample_wait *w = must(calloc(1, sizeof *w));

    w->core = c;
    w->profile = to;
    w->waiting = must(calloc(SAMPLE_WAIT_MOST, sizeof *w->waiting));
    core_keep_inside(c, true);
    return w;
}

void sample_wait_free(struct sample_wait *w)
{
    if (!w)
        return;
    core_keep_inside(w->core, false);
    free(w->waiting);
    free(w);
}

static struct waiting *at(const struct sample_wait *w, size_t i)
{
    return &w->waiting[(w->first + i) % SAMPLE_WAIT_MOST];
}

static uint32_t text(struct sample_wait *w, const char *s)
{
    return s ? stack_profile_text(w->profile, s, strlen(s)) : 0;
}

static void resolve(struct sample_wait *w, struct waiting *k, const struct core_inside *in)
{
    struct stack_sample *s = &k->sample;

    s->request = in->request;
    if (in->tier != TIER_NONE) {
        s->tier = text(w, core_tiers(w->core)->tier[in->tier].name);
        s->identity = text(w, in->ident);
    }
    if (in->request)
        core_sampled(w->core, in->request);
    w->counts.resolved++;
    w->counts.inside += in->request != 0;
    w->counts.missed += !in->known;
    stack_profile_add(w->profile, s, &k->metrics);
}

static struct core_inside inside(const struct sample_wait *w, const struct waiting *k)
{
    return core_inside_at(w->core, k->sample.process, k->sample.time_ns);
}

void sample_wait_add(struct sample_wait *w, const struct stack_sample *s,
                     const struct stack_metrics *m)
{
    if (w->n == SAMPLE_WAIT_MOST) {
        struct core_inside in = inside(w, at(w, 0));
        resolve(w, at(w, 0), &in);
        w->first = (w->first + 1) % SAMPLE_WAIT_MOST;
        w->n--;
        w->counts.early++;
    }
    struct waiting *k = at(w, w->n++);
    k->sample = *s;
    if (m)
        k->metrics = *m;
    else
        k->metrics.known = 0;
    w->counts.added++;
}

static bool is_due(const struct sample_wait *w, const struct waiting *k, struct core_inside *in)
{
    uint64_t now = core_now(w->core), since = k->sample.time_ns;

    if (now < since || now - since < SAMPLE_WAIT_NS)
        return false;
    *in = inside(w, k);
    return !in->may_change || now - since >= SAMPLE_WAIT_NAME_NS;
}

void sample_wait_pass(struct sample_wait *w, bool all)
{
    uint64_t now = core_now(w->core);
    size_t kept = 0;

    if (!all && (w->n == 0 || now - w->passed_ns < PASS_NS))
        return;
    w->passed_ns = now;
    for (size_t i = 0; i < w->n; i++) {
        struct waiting *k = at(w, i);
        struct core_inside in;
        bool due = is_due(w, k, &in);
        if (!due && all)
            in = inside(w, k);
        if (due || all)
            resolve(w, k, &in);
        else if (kept++ != i)
            *at(w, kept - 1) = *k;
    }
    w->n = kept;
}

void sample_wait_forget(struct sample_wait *w)
{
    w->counts.added -= w->n;
    w->n = 0;
}

size_t sample_wait_waiting(const struct sample_wait *w)
{
    return w->n;
}

const struct sample_wait_counts *sample_wait_counts(const struct sample_wait *w)
{
    return &w->counts;
}
