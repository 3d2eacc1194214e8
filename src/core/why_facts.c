#include "why_facts.h"
#include "why_load.h"

#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/core/slow_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- slow traces ---- */

struct traced_call {
    uint64_t start_ns, end_ns, pid; /* end UINT64_MAX: it has not ended */
    uint64_t mailbox_ns;            /* with mailbox_known */
    uint8_t tier;
    bool late, mailbox_known;
};

/* The calls of all traces, for the overlaps. */
struct ended_calls {
    struct traced_call *of;
    size_t n, cap;
};

static int by_start(const void *a, const void *b)
{
    const struct traced_call *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int by_tier(const void *a, const void *b)
{
    const struct traced_call *x = a, *y = b;
    return x->tier != y->tier ? (x->tier < y->tier ? -1 : 1) : by_start(a, b);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static size_t read_calls(const struct slow_trace_request *r, struct traced_call *to, uint64_t *ends)
{
    size_t n = 0;

    for (uint32_t i = 0; i < r->n && n < SLOW_TRACE_CALLS; i++) {
        const struct slow_trace_call *c = &r->call[i];
        if (c->tier >= TIER_MAX)
            continue;
        ends[n] = c->end_ns ? c->end_ns : UINT64_MAX;
        to[n] = (struct traced_call){.start_ns = c->start_ns,
                                     .end_ns = ends[n],
                                     .pid = c->pid,
                                     .mailbox_ns = c->mailbox_us * UINT64_C(1000),
                                     .tier = c->tier,
                                     .late = c->flags & SLOW_TRACE_LATE,
                                     .mailbox_known = c->flags & SLOW_TRACE_MAILBOX};
        n++;
    }
    qsort(to, n, sizeof *to, by_start);
    qsort(ends, n, sizeof *ends, by_value);
    return n;
}

/* Of the calls of the request that are open when call k begins, the newest; NULL: none. */
static const struct traced_call *caller(const struct traced_call *c, size_t k)
{
    for (size_t i = k; i-- > 0;)
        if (c[i].end_ns > c[k].start_ns && !c[i].late)
            return &c[i];
    return NULL;
}

/* The wait for a call that begins in another process than its caller: at most the time since the
 * last start or end of a call of the request, in which the caller sent its message and the message
 * waited. */
static void add_waits(struct why_facts *f, const struct slow_trace_request *r,
                      const struct traced_call *c, const uint64_t *ends, size_t n)
{
    double wait_us[TIER_MAX] = {0};
    size_t e = 0;

    for (size_t k = 1; k < n; k++) {
        const struct traced_call *from = caller(c, k);
        while (e < n && ends[e] <= c[k].start_ns)
            e++;
        if (c[k].late || !from || from->pid == c[k].pid)
            continue;
        uint64_t step = c[k - 1].start_ns;
        if (e > 0 && ends[e - 1] > step)
            step = ends[e - 1];
        wait_us[c[k].tier] +=
            (double)(c[k].mailbox_known ? c[k].mailbox_ns : c[k].start_ns - step) / 1e3;
        f->tier[c[k].tier].remote++;
    }
    for (size_t t = 0; t < TIER_MAX; t++) {
        struct why_tier *to = &f->tier[t];
        if (wait_us[t] <= 0)
            continue;
        to->wait_us += wait_us[t];
        to->whole_us += (double)(r->end_ns - r->start_ns) / 1e3;
        if (wait_us[t] > to->trace_wait_us) {
            to->trace_wait_us = wait_us[t];
            to->trace = r->id;
        }
    }
}

static void keep_longest(struct why_facts *f, const struct slow_trace_request *r,
                         const struct traced_call *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct why_tier *to = &f->tier[c[i].tier];
        if (!c[i].late && r->end_ns - r->start_ns > to->longest_ns) {
            to->longest_ns = r->end_ns - r->start_ns;
            to->longest = r->id;
        }
    }
}

static void keep_ended(struct ended_calls *all, const struct traced_call *c, size_t n)
{
    if (all->n + n > all->cap) {
        all->cap = all->cap * 2 + SLOW_TRACE_CALLS;
        all->of = realloc(all->of, all->cap * sizeof *all->of);
        if (!all->of)
            abort();
    }
    for (size_t i = 0; i < n; i++)
        if (c[i].end_ns != UINT64_MAX)
            all->of[all->n++] = c[i];
}

static bool usable(const struct why_facts *f, const struct snap_slow_trace *t)
{
    const struct slow_trace_request *r = t->request;
    if (r->omitted || r->end_ns <= r->start_ns)
        return false;
    uint64_t end_ns = t->wall_ns + (r->end_ns - r->start_ns);
    return end_ns >= f->from_ns && end_ns < f->to_ns;
}

/* The processes of the calls of one tier: how many, and the one that ran most. */
static void count_processes(struct why_tier *to, const struct traced_call *c, size_t n)
{
    struct {
        uint64_t pid;
        uint32_t calls;
    } of[WHY_PIDS];
    size_t pids = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < pids && of[k].pid != c[i].pid)
            k++;
        if (k == WHY_PIDS)
            continue;
        if (k == pids) {
            of[pids].calls = 0;
            of[pids++].pid = c[i].pid;
        }
        if (++of[k].calls > to->pid_calls) {
            to->pid_calls = of[k].calls;
            to->pid = of[k].pid;
        }
    }
    to->processes = (uint32_t)pids;
}

/* The calls of one tier, by start. */
static void add_overlaps(struct why_tier *to, const struct traced_call *c, size_t n)
{
    uint64_t end_ns = c[0].start_ns;

    to->calls = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t both = c[i].end_ns < end_ns ? c[i].end_ns : end_ns;
        to->sum_us += (double)(c[i].end_ns - c[i].start_ns) / 1e3;
        if (both > c[i].start_ns)
            to->overlap_us += (double)(both - c[i].start_ns) / 1e3;
        end_ns = c[i].end_ns > end_ns ? c[i].end_ns : end_ns;
    }
    to->range_us = (double)(end_ns - c[0].start_ns) / 1e3;
    count_processes(to, c, n);
}

static void read_traces(struct why_facts *f)
{
    const struct snapshot *s = f->s;
    struct ended_calls all = {0};
    struct traced_call call[SLOW_TRACE_CALLS];
    uint64_t ends[SLOW_TRACE_CALLS];

    for (size_t i = 0; i < s->n_slow_traces && f->traces < WHY_TRACES; i++) {
        const struct slow_trace_request *r = s->slow_traces[i].request;
        if (!usable(f, &s->slow_traces[i]))
            continue;
        size_t n = read_calls(r, call, ends);
        f->traces++;
        f->traces_us += (double)(r->end_ns - r->start_ns) / 1e3;
        add_waits(f, r, call, ends, n);
        keep_longest(f, r, call, n);
        keep_ended(&all, call, n);
    }
    if (all.n)
        qsort(all.of, all.n, sizeof *all.of, by_tier);
    for (size_t from = 0, to; from < all.n; from = to) {
        for (to = from; to < all.n && all.of[to].tier == all.of[from].tier; to++)
            ;
        add_overlaps(&f->tier[all.of[from].tier], &all.of[from], to - from);
    }
    free(all.of);
}

/* ---- pieces of slow traces ---- */

enum { PIECES = 32 }; /* that are told apart */

struct piece_sum {
    struct why_piece is;
    uint64_t ns;
};

static bool same_piece(const struct why_piece *a, const struct why_piece *b)
{
    return a->other == b->other && !a->what == !b->what &&
           (!a->what || strcmp(a->what, b->what) == 0);
}

static size_t add_piece(struct piece_sum *sum, size_t n, const struct why_piece *is, uint64_t ns)
{
    size_t k = 0;

    while (k < n && !same_piece(&sum[k].is, is))
        k++;
    if (k == PIECES)
        return n;
    if (k == n)
        sum[n++] = (struct piece_sum){.is = *is};
    sum[k].ns += ns;
    return n;
}

struct why_piece why_facts_piece(const struct why_facts *f, enum time_part p)
{
    struct piece_sum sum[PIECES];
    struct why_piece most = {0};
    uint64_t most_ns = 0;
    size_t n = 0, traces = 0;

    for (size_t i = 0; i < f->s->n_slow_traces && traces < WHY_TRACES; i++) {
        const struct slow_trace_request *r = f->s->slow_traces[i].request;
        if (!r->n_pieces || !usable(f, &f->s->slow_traces[i]))
            continue;
        traces++;
        for (uint32_t k = 0; k < r->n_pieces; k++) {
            const struct time_part_piece *c = &r->piece[k];
            struct why_piece is = {.other = c->other};
            if (c->what && c->what <= r->n_whats)
                is.what = r->what[c->what - 1];
            if (c->part == p && c->to_ns > c->from_ns)
                n = add_piece(sum, n, &is, c->to_ns - c->from_ns);
        }
    }
    for (size_t k = 0; k < n; k++) {
        if (sum[k].ns > most_ns) {
            most_ns = sum[k].ns;
            most = sum[k].is;
        }
    }
    return most;
}

/* ---- polls ---- */

#define POLLS_LEAST 10  /* polls of slow requests; a request counts */
#define POLLS_TIMES 2.0 /* ... if it took this many times the p90 of all requests; */
#define POLLS_SHARE 0.5 /* ... this part of the polls is in one place */

enum { PLACES = 32 }; /* that are told apart */

struct polled {
    const char *text;
    double polls;
};

struct poll_sums {
    struct polled of[PLACES];
    size_t n;
    double polls;
};

static void add_polls(struct poll_sums *to, const struct snap_slow *w)
{
    to->polls += w->polls;
    for (size_t i = 0; i < w->n_places; i++) {
        size_t k = 0;
        while (k < to->n && strcmp(to->of[k].text, w->places[i].text) != 0)
            k++;
        if (k == PLACES)
            continue;
        if (k == to->n)
            to->of[to->n++] = (struct polled){.text = w->places[i].text};
        to->of[k].polls += w->places[i].share * w->polls;
    }
}

bool why_facts_is_slow(const struct why_facts *f, const struct snap_slow *w, const char *ident,
                       double least_us)
{
    return why_facts_in_window(f, w) && w->n_sums && w->request_us >= least_us &&
           (!ident || strcmp(w->ident, ident) == 0);
}

/* The innermost functions of a place, as many as there is room for. */
static struct why_name whole_frames(const char *text)
{
    struct why_name n = why_name(text);

    for (char *at = n.s; strlen(text) > strlen(n.s) && (at = strstr(at, " < ")); at++)
        if (!strstr(at + 1, " < "))
            *at = 0;
    return n;
}

struct why_polls why_facts_polls(const struct why_facts *f, const char *ident)
{
    struct poll_sums p = {.n = 0};
    struct polled most = {0};

    for (size_t i = 0; f->total && i < f->s->n_slow; i++)
        if (why_facts_is_slow(f, &f->s->slow[i], ident, POLLS_TIMES * f->total->p90_us))
            add_polls(&p, &f->s->slow[i]);
    for (size_t i = 0; i < p.n; i++)
        if (p.of[i].polls > most.polls)
            most = p.of[i];
    if (p.polls < POLLS_LEAST || most.polls < POLLS_SHARE * p.polls)
        return (struct why_polls){.polls = p.polls};
    return (struct why_polls){
        .place = whole_frames(most.text), .share = most.polls / p.polls, .polls = p.polls};
}

/* ---- rows ---- */

static int by_place(const void *a, const void *b)
{
    const struct snap_row *x = *(const struct snap_row *const *)a,
                          *y = *(const struct snap_row *const *)b;

    if (x->tier != y->tier)
        return x->tier < y->tier ? -1 : 1;
    return x->ident_n < y->ident_n ? -1 : x->ident_n > y->ident_n;
}

/* There can be thousands of rows, and rules look for the same identity in each tier. */
static void sort_rows(struct why_facts *f)
{
    f->row = calloc(f->s->n_rows + 1, sizeof *f->row);
    if (!f->row)
        abort();
    for (size_t i = 0; i < f->s->n_rows; i++)
        f->row[i] = &f->s->rows[i];
    qsort(f->row, f->s->n_rows, sizeof *f->row, by_place);
}

void why_facts_make(struct why_facts *f, const struct snapshot *s, snapshot_who *who, void *arg)
{
    *f = (struct why_facts){.s = s, .who = who, .who_arg = arg, .to_ns = UINT64_MAX};
    if (s->time.history)
        f->to_ns = snapshot_wall_ns(s, s->time.to_s);
    uint64_t end_ns = s->time.history ? f->to_ns : s->wall_ns,
             length = (uint64_t)(s->window_s * 1e9);
    f->from_ns = end_ns > length ? end_ns - length : 0;
    for (size_t i = 0; i < s->n_rows && s->has_entry; i++)
        if (s->rows[i].tier == TIER_TOTAL && !s->rows[i].ident)
            f->total = &s->rows[i];
    f->waits_to_run = why_run_queue(s, WHY_NORMAL).is_long;
    sort_rows(f);
    read_traces(f);
}

void why_facts_release(struct why_facts *f)
{
    free(f->row);
}

const struct snap_row *why_facts_row(const struct why_facts *f, uint16_t tier,
                                     const struct snap_row *r)
{
    const struct snap_row wanted = {.tier = tier, .ident_n = r->ident_n}, *key = &wanted;
    const struct snap_row **at =
        f->s->n_rows ? bsearch(&key, f->row, f->s->n_rows, sizeof *f->row, by_place) : NULL;

    return at ? *at : NULL;
}

double why_facts_open(const struct snap_row *r)
{
    double open = r->rate * r->mean_us / 1e6;
    return open > 0 ? open : 0; /* the rate is not a number while nothing was traced */
}

bool why_facts_in_window(const struct why_facts *f, const struct snap_slow *w)
{
    return w->wall_ns >= f->from_ns && w->wall_ns < f->to_ns;
}

/* ---- texts ---- */

struct why_name why_name(const char *name)
{
    struct why_name n;
    size_t len = strlen(name), most = sizeof n.s - 1;

    if (len > most) { /* do not cut inside of a character */
        for (len = most; len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80; len--)
            ;
    }
    snprintf(n.s, sizeof n.s, "%.*s", (int)len, name);
    return n;
}

struct why_name why_ident(const struct snap_row *r)
{
    if (!r->ident)
        return why_name("the requests");
    return why_name(r->ident[0] ? snapshot_name(r->ident) : "\"\"");
}

struct why_time why_us(double us)
{
    struct why_time n;
    format_us(us, n.s);
    return n;
}

int why_percent(double part)
{
    double v = part * 100 + 0.5;
    return v < 0 ? 0 : v > 1000 ? 1000 : (int)v;
}

struct why_share why_share(double part)
{
    struct why_share n;
    double v = part * 100;
    int decimals = v > 0 && v < 9.95;

    snprintf(n.s, sizeof n.s, "%.*f", decimals, v < 1000 ? v : 1000);
    return n;
}

double why_facts_inside(const struct why_facts *f, const struct snap_row *r)
{
    double all = f->total ? (double)f->total->count * f->total->mean_us : 0;
    double share = all > 0 ? (double)r->count * r->mean_us / all : 1;
    return share < 1 ? share : 1;
}

struct why_process why_process(const struct why_facts *f, uint64_t pid)
{
    struct why_process p;
    char shown[SNAPSHOT_PID_BYTES];
    uint64_t at_ns = f->s->time.history ? f->to_ns : UINT64_MAX;
    const char *who = f->who ? f->who(f->who_arg, pid, at_ns) : NULL;

    snapshot_pid(pid, shown);
    if (who)
        snprintf(p.s, sizeof p.s, "%s (%s)", shown, why_name(who).s);
    else
        snprintf(p.s, sizeof p.s, "%s", shown);
    return p;
}
