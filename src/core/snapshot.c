/* One moment's figures, copied into one arena. */
#include <kprof/core/snapshot.h>

#include <kprof/core/state.h>
#include <stdlib.h>
#include <string.h>

/* ---- arena: chunks that are freed together ---- */

enum { CHUNK_BYTES = 64 << 10 };

struct chunk {
    struct chunk *next;
    size_t used, cap;
    max_align_t data[];
};

static void *take(struct snapshot *s, size_t bytes)
{
    struct chunk *k = s->owner;

    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!k || k->cap - k->used < bytes) {
        size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        struct chunk *more = malloc(sizeof *more + cap);
        if (!more)
            abort();
        *more = (struct chunk){.next = k, .cap = cap};
        s->owner = k = more;
    }
    void *p = (char *)k->data + k->used;
    k->used += bytes;
    return p;
}

static const char *keep(struct snapshot *s, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(take(s, n), text, n);
}

void snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    for (struct chunk *k = s->owner, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    free(s);
}

void snapshot_set_log(struct snapshot *s, const struct snap_log *lines, size_t n)
{
    struct snap_log *log = take(s, n * sizeof *log);

    for (size_t i = 0; i < n; i++)
        log[i] = (struct snap_log){.wall_ns = lines[i].wall_ns, .text = keep(s, lines[i].text)};
    s->log = log;
    s->n_log = n;
}

void snapshot_set_who(struct snapshot *s, const char *(*who)(void *arg, uint64_t pid), void *arg)
{
    struct snap_slow *own = take(s, s->n_slow * sizeof *own);

    for (size_t i = 0; i < s->n_slow; i++) {
        const char *name = who(arg, s->slow[i].pid);
        own[i] = s->slow[i];
        if (name)
            own[i].who = keep(s, name);
    }
    s->slow = own;
}

bool snapshot_conserves(const struct snapshot *s)
{
    return s->calls.received ==
           s->calls.aggregated + s->calls.open + s->calls.expired + s->calls.unattributed;
}

const char *breaker_name(enum breaker_state s)
{
    static const char *const name[] = {"closed", "open", "half-open"};
    return (unsigned)s < sizeof name / sizeof *name ? name[s] : "?";
}

/* ---- rows ---- */

struct making {
    struct core *c;
    struct snapshot *s;
    double covered_s;
    size_t idents; /* identities that may have rows, from 0 */
    struct snap_row *row;
    size_t n, cap;
    const char **ident_name; /* by index, in the arena */
    const char *total_name;
    double *requests_ns; /* by identity: duration of its requests in the window */
    uint64_t *oldest;    /* start of the oldest open call, by tier and identity; 0: none */
    struct figures one, sum;
};

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

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
        if (!(f->flags & CALL_ON_STACK) || f->kind == CALL_GHOST)
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

static void fill(const struct making *m, struct snap_row *r, const struct figures *f,
                 double requests_ns, uint64_t oldest)
{
    const struct hist *h = &f->hist;

    r->count = h->count;
    r->est_count = f->tally.est;
    r->late = f->tally.late;
    r->errors = f->tally.errors;
    if (oldest && m->c->now_ns > oldest)
        r->oldest_open_us = us(m->c->now_ns - oldest);
    if (h->count == 0)
        return;
    r->rate = m->covered_s > 0 ? (double)f->tally.est / m->covered_s : 0;
    r->min_us = us(h->min_ns);
    r->max_us = us(h->max_ns);
    r->mean_us = hist_mean(h) / 1e3;
    r->sd_us = hist_sd(h) / 1e3;
    r->self_us = (double)f->tally.self_ns / (double)h->count / 1e3;
    if (requests_ns > 0)
        r->share = (double)f->tally.share_ns / requests_ns;
    fill_quantiles(r, h);
}

/* The figures of a tier for an identity in m->one; false: there is no such row. */
static bool read_one(struct making *m, uint16_t tier, uint16_t ident)
{
    const struct core *c = m->c;
    bool any = false;
    const struct row *r;

    figures_clear(&m->one);
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

static int by_count(const void *a, const void *b)
{
    const struct snap_row *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->ident, y->ident);
}

static void add_tier(struct making *m, uint16_t tier, uint16_t number, const char *name)
{
    size_t total = m->n;
    double all_ns = 0;

    new_row(m);
    figures_clear(&m->sum);
    for (uint16_t i = 0; i < m->idents; i++) {
        all_ns += m->requests_ns[i];
        if (!read_one(m, tier, i))
            continue;
        figures_merge(&m->sum, &m->one);
        if (!m->c->tiers.has_identity)
            continue;
        struct snap_row *r = new_row(m);
        r->tier = number;
        r->tier_name = name;
        r->ident = m->ident_name[i];
        fill(m, r, &m->one, m->requests_ns[i], *oldest_at(m, tier, i));
    }
    qsort(m->row + total + 1, m->n - total - 1, sizeof *m->row, by_count);
    struct snap_row *r = &m->row[total];
    r->tier = number;
    r->tier_name = name;
    r->note = tier < TIER_MAX && m->c->note[tier] ? keep(m->s, m->c->note[tier]) : NULL;
    fill(m, r, &m->sum, all_ns, *oldest_at(m, tier, m->idents));
}

static void name_identities(struct making *m)
{
    const struct core *c = m->c;

    m->ident_name = take(m->s, m->idents * sizeof *m->ident_name);
    for (size_t i = 0; i < m->idents; i++)
        m->ident_name[i] = i == IDENT_UNDEFINED ? "undefined"
                           : i == IDENT_OTHER   ? "<other>"
                                              : keep(m->s, intern_str(c->names, c->idents.name[i]));
}

static void sum_requests(struct making *m)
{
    const struct core *c = m->c;

    for (uint16_t i = 0; i < m->idents && c->tiers.entry != TIER_NONE; i++)
        if (read_one(m, ROW_TOTAL, i))
            m->requests_ns[i] = m->one.hist.sum_ns;
}

static void add_rows(struct making *m)
{
    const struct core *c = m->c;

    figures_init(&m->one);
    figures_init(&m->sum);
    m->idents = c->idents.n;
    m->requests_ns = calloc(m->idents, sizeof *m->requests_ns);
    m->oldest = calloc((m->idents + 1) * ROW_TIERS, sizeof *m->oldest);
    if (!m->requests_ns || !m->oldest)
        abort();
    name_identities(m);
    find_oldest(m);
    sum_requests(m);
    for (uint16_t t = 0; t < c->tiers.n; t++)
        if (c->tiers.tier[t].active)
            add_tier(m, t, t, keep(m->s, c->tiers.tier[t].name));
    m->total_name = "_total";
    add_tier(m, ROW_TOTAL, TIER_TOTAL, m->total_name);
    m->s->rows = memcpy(take(m->s, m->n * sizeof *m->row), m->row, m->n * sizeof *m->row);
    m->s->n_rows = m->n;
    free(m->row);
    free(m->requests_ns);
    free(m->oldest);
    figures_release(&m->one);
    figures_release(&m->sum);
}

/* ---- slow log ---- */

static const char *tier_name(const struct core *c, struct snapshot *s, const char **kept,
                             uint8_t tier)
{
    if (!kept[tier])
        kept[tier] = keep(s, c->tiers.tier[tier].name);
    return kept[tier];
}

static void add_slow_tiers(const struct core *c, struct snapshot *s, const char **names,
                           struct snap_slow *to, const struct slow_entry *e)
{
    struct snap_slow_tier *t = take(s, e->n_tiers * sizeof *t);

    for (uint8_t i = 0; i < e->n_tiers; i++) {
        const struct slow_tier *f = &e->tiers[i];
        t[i] = (struct snap_slow_tier){.tier = f->tier,
                                       .name = tier_name(c, s, names, f->tier),
                                       .start_us = f->start_ns / 1000,
                                       .duration_us = f->duration_ns / 1000,
                                       .pid = f->pid,
                                       .error = f->error};
    }
    to->tiers = t;
    to->n_tiers = e->n_tiers;
}

static void add_slow(const struct making *m, uint64_t wall_ns)
{
    const struct core *c = m->c;
    const char *names[TIER_MAX] = {NULL};
    struct snap_slow *to = take(m->s, (c->slow.n + 1) * sizeof *to);
    const struct slow_entry *e;

    for (uint32_t i = 0; (e = slow_newest(&c->slow, i)); i++) {
        uint64_t ago = c->now_ns > e->end_ns ? c->now_ns - e->end_ns : 0;
        to[i] = (struct snap_slow){
            .seq = e->seq,
            .wall_ns = wall_ns > ago ? wall_ns - ago : 0,
            .pid = e->pid,
            .tier_name = tier_name(c, m->s, names, e->tier),
            .ident = e->ident < m->idents ? m->ident_name[e->ident] : m->ident_name[0],
            .args = e->args ? keep(m->s, intern_str(c->names, e->args)) : NULL,
            .request = e->request,
            .duration_us = us(e->duration_ns),
            .request_us = us(e->request_ns),
            .error = e->error};
        add_slow_tiers(c, m->s, names, &to[i], e);
    }
    m->s->slow = to;
    m->s->n_slow = c->slow.n;
}

/* ---- all of it ---- */

struct snapshot *core_snapshot(struct core *c, enum window w, uint64_t wall_of_now_ns)
{
    struct snapshot *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    struct making m = {.c = c, .s = s};

    core_advance(c, c->now_ns);
    m.covered_s = (double)windows_view(&c->windows, w) / 1e9;
    s->wall_ns = wall_of_now_ns;
    s->elapsed_s = (double)(c->windows.now_ns - c->windows.zero_ns) / 1e9;
    s->window = w;
    s->window_s = m.covered_s;
    s->lean = c->tiers.returns == RETURNS_LEAN;
    s->has_entry = c->tiers.entry != TIER_NONE;
    s->has_identity = c->tiers.has_identity;
    s->sample = 1;
    s->calls.received = c->n.received;
    s->calls.aggregated = c->n.aggregated;
    s->calls.open = c->n.open;
    s->calls.expired = c->n.expired;
    s->calls.unattributed = c->n.unattributed;
    s->requests.started = c->r.started;
    s->requests.finished = c->r.finished;
    s->requests.open = c->r.open;
    s->requests.expired = c->r.expired;
    s->odd.identities_folded = c->idents.folded;
    s->odd.pids_full = c->odd.pids_full;
    s->odd.requests_full = c->odd.requests_full;
    s->odd.bad_events = c->odd.bad_events;
    s->odd.late = c->odd.late;
    s->odd.orphan_returns = c->odd.orphan_returns;
    add_rows(&m);
    add_slow(&m, wall_of_now_ns);
    return s;
}
