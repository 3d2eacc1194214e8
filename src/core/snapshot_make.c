/* Copies the values of one time into the arena of a snapshot. */
#include "history.h"
#include "snapshot_impl.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A rate over less than 1/TREND_LEAST of a second is not shown. */
#define TREND_LEAST 20

/* ---- rows ---- */

struct making {
    struct core *c;
    struct snapshot *s;
    const struct view_query *query;
    double traced_s; /* length of the window without its gaps, */
    double there_s;  /* and without the time before the tier was set */
    size_t idents;   /* identities that may have rows, from 0 */
    struct snap_row *row;
    size_t n, cap;
    const char **ident_name; /* by index, in the arena */
    const char *total_name;
    double *requests_ns; /* by identity: duration of its requests in the window */
    uint64_t *oldest;    /* start of the oldest open call, by tier and identity; 0: none */
    struct figures one, sum;
    struct figures waits, wait_sum; /* of the same rows: the times in mailboxes */
    bool untraced[SNAP_TREND];
    struct counted_sums counted; /* of the window */
};

static uint64_t *oldest_at(const struct making *m, size_t tier, size_t ident)
{
    return &m->oldest[tier * (m->idents + 1) + ident]; /* ident == idents: all of them */
}

static void older(const struct making *m, size_t tier, size_t ident, uint64_t start_ns)
{
    uint64_t *all = oldest_at(m, tier, m->idents), *one = oldest_at(m, tier, ident);

    start_ns += start_ns == 0;
    if (*all == 0 || start_ns < *all)
        *all = start_ns;
    if (ident < m->idents && (*one == 0 || start_ns < *one))
        *one = start_ns;
}

static void find_oldest(const struct making *m)
{
    const struct core *c = m->c;

    for (uint32_t at = 0; at < c->calls.high; at++) {
        const struct call *f = &c->calls.call[at];
        if (!(f->flags & CALL_ON_STACK) || f->kind == CALL_ACCOUNTED)
            continue;
        size_t ident = f->ident;
        if (f->kind == CALL_MEMBER)
            ident = idents_peek(&c->idents, c->requests.req[f->req].ident);
        older(m, f->tier, ident, f->start_ns);
        if (c->tiers.entry == TIER_NONE)
            older(m, ROW_TOTAL, ident, f->start_ns);
    }
    uint32_t at = c->requests.list[REQ_OPEN].oldest;
    for (; at != REQ_NIL && c->tiers.entry != TIER_NONE; at = c->requests.req[at].newer)
        older(m, ROW_TOTAL, idents_peek(&c->idents, c->requests.req[at].ident),
              c->requests.req[at].start_ns);
}

static struct snap_row *new_row(struct making *m)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 256;
        m->row = realloc(m->row, m->cap * sizeof *m->row);
        if (!m->row)
            abort();
    }
    struct snap_row *r = &m->row[m->n++];
    memset(r, 0, sizeof *r);
    r->d_rate = r->d_p50 = r->d_p99 = NAN; /* nothing to compare with */
    r->busy = r->wait_mean_us = r->wait_max_us = NAN;
    r->wait_p50_us = r->wait_p90_us = r->wait_p99_us = r->wait_p999_us = NAN;
    return r;
}

static void fill_quantiles(struct snap_row *r, const struct hist *h)
{
    static const double q[] = {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};
    double *to[] = {&r->p25_us, &r->p50_us, &r->p75_us, &r->p90_us,
                    &r->p95_us, &r->p99_us, &r->p999_us};
    uint64_t v[sizeof q / sizeof *q];

    hist_quantiles(h, q, v, sizeof q / sizeof *q);
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        *to[i] = us(v[i]);
}

static void keep_hist(const struct making *m, struct snap_row *r, const struct hist *h)
{
    size_t n = hist_pack(h, NULL, 0);
    uint8_t *to = snapshot_take(m->s, n);

    hist_pack(h, to, n);
    r->packed = to;
    r->n_packed = n;
}

static void fill(const struct making *m, struct snap_row *r, const struct figures *f,
                 double requests_ns, uint64_t oldest)
{
    const struct hist *h = &f->hist;

    r->count = f->tally.calls;
    r->est_count = h->count;
    r->late = f->tally.late;
    r->exits = f->tally.exits;
    r->errors = f->tally.errors;
    if (oldest && m->c->now_ns > oldest)
        r->oldest_open_us = us(m->c->now_ns - oldest);
    r->rate = m->s->window_s <= 0 ? 0 : m->there_s > 0 ? (double)h->count / m->there_s : NAN;
    if (f->tally.busy_ns && m->there_s > 0)
        r->busy = (double)f->tally.busy_ns / 1e9 / m->there_s;
    if (h->count == 0)
        return;
    r->min_us = us(h->min_ns);
    r->max_us = us(h->max_ns);
    r->mean_us = hist_mean(h) / 1e3;
    r->sd_us = hist_sd(h) / 1e3;
    r->self_us = (double)f->tally.self_ns / (double)h->count / 1e3;
    r->share = requests_ns > 0 ? (double)f->tally.share_ns / requests_ns : NAN;
    fill_quantiles(r, h);
    if (m->c->set.hists)
        keep_hist(m, r, h);
}

/* The values of a tier for an identity in m->one; false: there is no such row. */
static bool read_one(struct making *m, uint16_t tier, uint16_t ident)
{
    const struct core *c = m->c;
    bool any = false;
    const struct row *r;

    figures_clear(&m->one);
    figures_clear(&m->waits);
    r = tier < TIER_MAX ? windows_row(&c->windows, ROW_MAILBOX + tier, ident) : NULL;
    if (r)
        windows_read(&c->windows, r, &m->waits);
    if (tier != ROW_TOTAL || c->tiers.entry != TIER_NONE) {
        r = windows_row(&c->windows, tier, ident);
        if (r)
            windows_read(&c->windows, r, &m->one);
        return r != NULL;
    }
    for (uint16_t t = 0; t < c->tiers.n; t++) {
        r = windows_row(&c->windows, t, ident);
        if (r)
            windows_read(&c->windows, r, &m->one);
        any |= r != NULL;
    }
    return any;
}

/* The second after the window. */
static uint64_t view_end_s(const struct windows *w)
{
    return w->view == VIEW_PAST  ? w->view_to + w->with_running
           : w->view == VIEW_RUN ? w->sec + 1
                                 : w->view_sec + w->with_running;
}

/* Counted calls of a tier, or of all tiers, while nothing was traced. Time before the tier was set
 * is not included. */
static uint64_t counted_of(const struct making *m, uint16_t tier)
{
    const struct tierset *t = &m->c->tiers;
    uint64_t sum = 0;

    if (tier == ROW_TOTAL && t->entry != TIER_NONE)
        tier = t->entry;
    for (uint16_t i = 0; i < t->n; i++)
        if (t->tier[i].active && (i == tier || tier == ROW_TOTAL))
            sum += m->counted.calls[i];
    return sum;
}

/* The time in which calls of the tier were counted. */
static double counted_there_s(const struct making *m, uint16_t tier)
{
    const struct windows *w = &m->c->windows;
    uint64_t from_ns, to_ns, set_ns = snapshot_set_ns(m->c, tier);
    struct counted_sums since;

    windows_viewed_time(w, &from_ns, &to_ns);
    if (set_ns <= from_ns || m->s->counted_s <= 0)
        return m->s->counted_s;
    counted_read(&m->c->counted, (set_ns - w->start_ns) / CLOCK_SEC_NS, view_end_s(w), &since);
    return (double)since.covered_ns / 1e9;
}

static void fill_counted(const struct making *m, struct snap_row *r, uint16_t tier)
{
    double counted_s = counted_there_s(m, tier);

    r->counted = counted_of(m, tier);
    if (counted_s > 0)
        r->rate = (double)(r->est_count + r->counted) / (m->there_s + counted_s);
}

static void read_counted(struct making *m)
{
    const struct windows *w = &m->c->windows;

    if (w->view == VIEW_RUN)
        m->counted = m->c->counted.run;
    else
        counted_read(&m->c->counted, w->view_from, view_end_s(w), &m->counted);
    m->s->counted_s = (double)m->counted.covered_ns / 1e9;
}

static int by_count(const void *a, const void *b)
{
    const struct snap_row *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->ident, y->ident);
}

/* ---- parts that are made on request ---- */

static void add_dist(struct making *m, uint16_t tier, uint16_t ident, const struct figures *f)
{
    struct snap_dist *d = &m->s->dist;
    uint64_t bin[SCALE_BINS] = {0};

    if (!m->query->dist || tier != m->query->tier || ident != m->query->ident)
        return;
    *d = (struct snap_dist){.there = true, .tier = tier, .ident_n = ident};
    d->count = scale_add(&f->hist, bin);
    if (d->count == 0)
        return;
    size_t end = SCALE_BINS;
    while (bin[d->low] == 0)
        d->low++;
    while (bin[end - 1] == 0)
        end--;
    d->n = end - d->low;
    d->bin = memcpy(snapshot_take(m->s, d->n * sizeof *bin), bin + d->low, d->n * sizeof *bin);
}

/* The start of second i of the trends; before the history: 0. */
static uint64_t trend_ns(const struct making *m, uint64_t i)
{
    uint64_t s = m->c->trend.end_s + i;
    return s < SNAP_TREND ? 0 : m->c->windows.start_ns + (s - SNAP_TREND) * CLOCK_SEC_NS;
}

/* The seconds of the trends in which nothing was traced. */
static void find_blind(struct making *m)
{
    for (uint64_t i = 0; i < SNAP_TREND; i++) {
        uint64_t from = trend_ns(m, i);
        m->untraced[i] =
            from && gaps_ns(&m->c->gaps, from, from + CLOCK_SEC_NS, NULL) == CLOCK_SEC_NS;
    }
}

/* Of the second in which the tier was set only a part counts; earlier calls are not known. */
static void clip_trend(const struct making *m, uint16_t tier, float *rate)
{
    uint64_t set_ns = snapshot_set_ns(m->c, tier);

    set_ns = set_ns > m->c->gaps.begun_ns ? set_ns : m->c->gaps.begun_ns;
    for (uint64_t i = 0; i < SNAP_TREND; i++) {
        uint64_t from = trend_ns(m, i);
        if (from >= set_ns)
            return;
        uint64_t there_ns = from + CLOCK_SEC_NS > set_ns ? from + CLOCK_SEC_NS - set_ns : 0;
        rate[i] = there_ns * TREND_LEAST < CLOCK_SEC_NS
                      ? NAN
                      : rate[i] * (float)CLOCK_SEC_NS / (float)there_ns;
    }
}

static void add_trend(struct making *m, struct snap_row *r, uint16_t tier, uint16_t ident)
{
    if (!m->query->trends && !m->query->why)
        return;
    struct trend_row *t = snapshot_take(m->s, sizeof *t);
    trend_copy(&m->c->trend, tier, ident, t);
    for (size_t i = 0; i < SNAP_TREND; i++)
        if (m->untraced[i])
            t->rate[i] = NAN;
    clip_trend(m, tier, t->rate);
    r->trend_rate = t->rate;
    r->trend_p99_us = t->p99_us;
    r->trend_errors = t->errors;
}

/* A row of a former name stays while the window has calls of it. */
static bool is_left(const struct making *m, uint16_t tier, uint16_t ident)
{
    const struct core *c = m->c;

    return idents_is_former(&c->idents, ident, seconds(c->now_ns)) && m->one.hist.count == 0 &&
           *oldest_at(m, tier, ident) == 0;
}

/* row: the tier, or ROW_TOTAL; ident: IDENT_ALL for all. */
static void add_parts(const struct making *m, struct snap_row *r, uint16_t row, uint16_t ident)
{
    struct time_part_view v;

    if (part_sums_read(&m->c->detail.sums, row, ident, &v))
        r->parts = memcpy(snapshot_take(m->s, sizeof v), &v, sizeof v);
}

static void view_parts(const struct making *m)
{
    uint64_t from_ns, to_ns;

    /* The rows also have calls from before the first event that arrived, and those that end now. */
    windows_viewed_time(&m->c->windows, &from_ns, &to_ns);
    if (from_ns <= m->c->windows.zero_ns)
        from_ns = 0;
    if (to_ns >= m->c->windows.now_ns)
        to_ns = UINT64_MAX;
    part_sums_view(&m->c->detail.sums, from_ns, to_ns);
}

static void add_identity(struct making *m, uint16_t tier, uint16_t ident, const struct snap_row *of)
{
    const struct idents *all = &m->c->idents;
    struct snap_row *r = new_row(m);

    r->tier = of->tier;
    r->tier_name = of->tier_name;
    r->tier_mfa = of->tier_mfa;
    r->ident = m->ident_name[ident];
    r->ident_n = ident;
    r->former = idents_is_former(all, ident, seconds(m->c->now_ns));
    if (ident == IDENT_OTHER && m->one.hist.count > 0 && !r->former && all->n == all->cap)
        m->s->names_full = (uint32_t)(all->cap - IDENT_FIRST);
    add_dist(m, of->tier, ident, &m->one);
    add_trend(m, r, tier, ident);
    fill(m, r, &m->one, m->requests_ns[ident], *oldest_at(m, tier, ident));
    snapshot_fill_waits(r, &m->waits);
    add_parts(m, r, tier, ident);
}

static void add_tier(struct making *m, uint16_t tier, uint16_t number, const char *name)
{
    const char *mfa = number == TIER_TOTAL ? NULL : snapshot_text(m->s, m->c->tiers.tier[tier].mfa);
    const struct snap_row of = {.tier = number, .tier_name = name, .tier_mfa = mfa};
    size_t total = m->n;
    double all_ns = 0;
    uint64_t calls = 0;

    m->there_s = snapshot_traced_s(m->c, tier, m->traced_s);
    new_row(m);
    figures_clear(&m->sum);
    figures_clear(&m->wait_sum);
    for (uint16_t i = 0; i < m->idents; i++) {
        all_ns += m->requests_ns[i];
        calls += windows_run_count(&m->c->windows, tier, i);
        if (!read_one(m, tier, i))
            continue;
        figures_merge(&m->sum, &m->one);
        figures_merge(&m->wait_sum, &m->waits);
        if (m->c->tiers.has_identity && !is_left(m, tier, i))
            add_identity(m, tier, i, &of);
    }
    qsort(m->row + total + 1, m->n - total - 1, sizeof *m->row, by_count);
    struct snap_row *r = &m->row[total];
    r->tier = number;
    r->tier_name = name;
    r->tier_mfa = mfa;
    r->ident_n = IDENT_ALL;
    r->run_count = calls;
    add_dist(m, number, IDENT_ALL, &m->sum);
    add_trend(m, r, tier, IDENT_ALL);
    fill(m, r, &m->sum, all_ns, *oldest_at(m, tier, m->idents));
    fill_counted(m, r, tier);
    if (tier < TIER_MAX)
        r->note = snapshot_note(m->c, m->s, m->query, r);
    snapshot_fill_waits(r, &m->wait_sum);
    if (!m->query->end_s && tier < TIER_MAX)
        snapshot_fill_busiest(m->c, r, tier);
    add_parts(m, r, tier, IDENT_ALL);
}

static void name_identities(struct making *m)
{
    const struct core *c = m->c;

    m->ident_name = snapshot_take(m->s, m->idents * sizeof *m->ident_name);
    for (size_t i = 0; i < m->idents; i++)
        m->ident_name[i] = i == IDENT_UNDEFINED ? "undefined"
                           : i == IDENT_OTHER
                               ? "<other>"
                               : snapshot_text(m->s, intern_str(c->set.names, c->idents.name[i]));
}

static void sum_requests(struct making *m)
{
    const struct core *c = m->c;

    for (uint16_t i = 0; i < m->idents && c->tiers.entry != TIER_NONE; i++)
        if (read_one(m, ROW_TOTAL, i))
            m->requests_ns[i] = (double)m->one.tally.share_ns;
}

static void add_rows(struct making *m)
{
    const struct core *c = m->c;

    figures_init(&m->one);
    figures_init(&m->sum);
    figures_init(&m->waits);
    figures_init(&m->wait_sum);
    m->idents = c->idents.n;
    view_parts(m);
    m->requests_ns = calloc(m->idents, sizeof *m->requests_ns);
    m->oldest = calloc((m->idents + 1) * ROW_TIERS, sizeof *m->oldest);
    if (!m->requests_ns || !m->oldest)
        abort();
    name_identities(m);
    read_counted(m);
    if (!m->query->end_s) /* open calls are shown only for windows that end now */
        find_oldest(m);
    sum_requests(m);
    for (uint16_t t = 0; t < c->tiers.n; t++)
        if (c->tiers.tier[t].active)
            add_tier(m, t, t, snapshot_text(m->s, c->tiers.tier[t].name));
    m->total_name = "_total";
    add_tier(m, ROW_TOTAL, TIER_TOTAL, m->total_name);
    snapshot_add_open(c, m->s, m->ident_name);
    m->s->rows = memcpy(snapshot_take(m->s, m->n * sizeof *m->row), m->row, m->n * sizeof *m->row);
    m->s->n_rows = m->n;
    free(m->row);
    free(m->requests_ns);
    free(m->oldest);
    figures_release(&m->one);
    figures_release(&m->sum);
    figures_release(&m->waits);
    figures_release(&m->wait_sum);
}

/* ---- the whole snapshot ---- */

static void view(struct making *m)
{
    struct windows *w = &m->c->windows;
    const struct view_query *l = m->query;
    struct snapshot *s = m->s;
    uint64_t from_ns, to_ns, covered_ns,
        length = l->length_s ? l->length_s : window_ns(l->window) / CLOCK_SEC_NS;

    s->time.oldest_s = history_oldest_s(w);
    s->time.now_s = w->sec;
    s->time.history = l->end_s != 0;
    s->time.asked_s = l->length_s;
    s->time.to_s = w->sec;
    if (l->since_s) {
        s->time.from_s = l->since_s;
        covered_ns = windows_view_since(w, &s->time.from_s);
    } else if (l->end_s) {
        s->time.from_s = l->end_s > length ? l->end_s - length : 0;
        s->time.to_s = l->end_s;
        covered_ns = windows_view_past(w, &s->time.from_s, &s->time.to_s);
    } else {
        covered_ns = l->length_s ? windows_view_last(w, length) : windows_view(w, l->window);
        uint64_t covered_s = covered_ns / CLOCK_SEC_NS;
        s->time.from_s = w->sec > covered_s ? w->sec - covered_s : 0;
    }
    windows_viewed_time(w, &from_ns, &to_ns);
    s->time.from_ns = from_ns > w->start_ns ? from_ns - w->start_ns : 0;
    s->window = l->window;
    s->window_s = (double)covered_ns / 1e9;
}

static void totals(const struct core *c, struct snapshot *s)
{
    s->calls.received = c->account.calls.received;
    s->calls.aggregated = c->account.calls.aggregated;
    s->calls.open = c->account.calls.open;
    s->calls.expired = c->account.calls.expired;
    s->calls.unattributed = c->account.calls.unattributed;
    s->requests.started = c->account.requests.started;
    s->requests.finished = c->account.requests.finished;
    s->requests.open = c->account.requests.open;
    s->requests.expired = c->account.requests.expired;
    s->anomalies.identities_folded = c->idents.folded;
    s->anomalies.pids_full = c->account.anomalies.pids_full;
    s->anomalies.requests_full = c->account.anomalies.requests_full;
    s->anomalies.bad_events = c->account.anomalies.bad_events;
    s->anomalies.late = c->account.anomalies.late;
    s->anomalies.orphan_returns = c->account.anomalies.orphan_returns;
}

struct snapshot *core_view(struct core *c, const struct view_query *l, uint64_t wall_of_now_ns)
{
    struct snapshot *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    struct making m = {.c = c, .s = s, .query = l};

    core_pass(c, c->now_ns);
    view(&m);
    m.traced_s = snapshot_add_gaps(c, s, wall_of_now_ns);
    uint64_t history_ns = c->windows.now_ns - c->windows.start_ns;
    s->time.zero_wall_ns = wall_of_now_ns > history_ns ? wall_of_now_ns - history_ns : 0;
    s->wall_ns = wall_of_now_ns;
    s->elapsed_s = (double)(c->windows.now_ns - c->windows.zero_ns) / 1e9;
    s->lean = c->tiers.returns == RETURNS_LEAN;
    s->has_entry = c->tiers.entry != TIER_NONE;
    s->entry = c->tiers.entry;
    s->has_identity = c->tiers.has_identity;
    s->sample = s->sample_asked = 1;
    totals(c, s);
    bool trends = l->trends || l->why;
    if (trends)
        trend_make(&c->trend, &c->windows, l->end_s ? s->time.to_s : c->windows.sec,
                   c->tiers.entry == TIER_NONE);
    if (trends)
        find_blind(&m);
    add_rows(&m);
    snapshot_add_slow(c, s, wall_of_now_ns);
    snapshot_add_heat(c, s, l);
    snapshot_add_slow_traces(c, s, wall_of_now_ns);
    snapshot_add_vm_events(c, s, wall_of_now_ns);
    return s;
}
