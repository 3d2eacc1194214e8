#include "columns.h"

#include <kprof/base/format.h>
#include <math.h>
#include <string.h>

#define NAME_LEAST 10

#define COUNT(field) COLUMN_COUNT, false, offsetof(struct snap_row, field)
#define TIME(field)  COLUMN_TIME, true, offsetof(struct snap_row, field)

#define CHANGE(field) COMPARED, COLUMN_CHANGE, false, offsetof(struct snap_row, field)
#define COMPARED      0 /* no rank: shown whenever there is a reference */
#define MEASURED      0 /* the same: shown while the time in mailboxes is measured */

static const struct column columns[] = {
    {"COUNT", 7, 3, COUNT(est_count), "calls in the window; ~, also at ERR and LATE: an estimate"},
    {"SEEN", 7, 21, COUNT(count), "calls that were traced"},
    {"RATE", 6, 4, COLUMN_RATE, false, offsetof(struct snap_row, rate), "calls per second"},
    {"ERR", 5, 8, COUNT(errors), "exceptions (lean returns: unless the caller caught them)"},
    {"LATE", 5, 22, COUNT(late), "calls that started after their request ended"},
    {"MIN", 6, 16, TIME(min_us), "shortest call"},
    {"MEAN", 6, 13, TIME(mean_us), "mean duration"},
    {"SD", 6, 19, TIME(sd_us), "standard deviation of the duration"},
    {"P25", 6, 20, TIME(p25_us), "25 % of the calls took at most this"},
    {"P50", 6, 1, TIME(p50_us), "the median: half of the calls took at most this"},
    {"P75", 6, 18, TIME(p75_us), "75 % of the calls took at most this"},
    {"P90", 6, 5, TIME(p90_us), "90 % of the calls took at most this"},
    {"P95", 6, 14, TIME(p95_us), "95 % of the calls took at most this"},
    {"P99", 6, 2, TIME(p99_us), "99 % of the calls took at most this"},
    {"P99.9", 6, 10, TIME(p999_us), "99.9 % of the calls took at most this"},
    {"MAX", 6, 9, TIME(max_us), "longest call"},
    {"SELF", 6, 15, TIME(self_us), "mean time in the tier itself, without the tiers it calls"},
    {"SHARE", 6, 7, COLUMN_SHARE, true, offsetof(struct snap_row, share),
     "self time as a share of the requests' time"},
    {"OLDEST", 7, 17, COLUMN_TIME, false, offsetof(struct snap_row, oldest_open_us),
     "age of the oldest call that is still open"},
    {"MBOX50", 6, MEASURED, COLUMN_TIME, true, offsetof(struct snap_row, wait_p50_us),
     "median time in the mailbox before the call (Q)"},
    {"MBOX99", 6, MEASURED, COLUMN_TIME, true, offsetof(struct snap_row, wait_p99_us),
     "99 % of calls waited in the mailbox at most this long (Q)"},
    {"BUSY", 6, MEASURED, COLUMN_SHARE, true, offsetof(struct snap_row, busy),
     "how busy a server is; 100 %: one process is always busy"},
    {"P99~", 12, 11, COLUMN_TREND, true, offsetof(struct snap_row, p99_us),
     "P99 over the last minute; blank: no calls, or not traced"},
    {"RATE~", 12, 12, COLUMN_TREND, false, offsetof(struct snap_row, rate),
     "RATE over the last minute; blank: not traced"},
    {"PARTS", 8, 6, COLUMN_PARTS, true, offsetof(struct snap_row, parts),
     "mean time in each part (B); sorts by % of time not running"},
    {"+-RATE", 7, CHANGE(d_rate), "change of RATE, compared with the reference (m)"},
    {"+-P50", 7, CHANGE(d_p50), "change of P50, compared with the reference (m)"},
    {"+-P99", 7, CHANGE(d_p99), "change of P99, compared with the reference (m)"},
};

#define N (sizeof columns / sizeof *columns)
_Static_assert(N <= COLUMNS_MAX, "room for all columns");

size_t columns_n(void)
{
    return N;
}

const struct column *column_at(size_t i)
{
    return &columns[i];
}

bool columns_measured(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].waits) {
            return true;
        }
    }
    return false;
}

bool column_has_values(const struct column *c, const struct snapshot *s)
{
    if (c->kind == COLUMN_CHANGE) {
        return s && s->compared[0];
    }
    return c->priority != MEASURED || (s && columns_measured(s));
}

/* Values of all calls, estimated from the sampled ones; SEEN and the rest are of traced calls. */
static bool is_estimated(const struct column *c, const struct snap_row *r)
{
    return r->est_count != r->count && (c->offset == offsetof(struct snap_row, est_count) ||
                                        c->offset == offsetof(struct snap_row, errors) ||
                                        c->offset == offsetof(struct snap_row, late));
}

double column_value(const struct column *c, const struct snap_row *r)
{
    const char *p = (const char *)r + c->offset;
    if (c->kind == COLUMN_COUNT) {
        uint64_t n;
        memcpy(&n, p, sizeof n);
        bool scaled = is_estimated(c, r) && c->offset != offsetof(struct snap_row, est_count);
        return (double)(scaled ? snapshot_estimate(r, n) : n);
    }
    if (c->kind == COLUMN_PARTS) {
        return r->parts ? 1 - r->parts->share[PART_RUN] : -1;
    }
    double v;
    memcpy(&v, p, sizeof v);
    if (c->kind == COLUMN_CHANGE) {
        return v; /* a change can be negative */
    }
    return isfinite(v) ? v : -1; /* not known: sorts below all known values, and is drawn as "-" */
}

const float *column_trend(const struct column *c, const struct snap_row *r)
{
    return c->offset == offsetof(struct snap_row, rate) ? r->trend_rate : r->trend_p99_us;
}

void column_text(const struct column *c, const struct snap_row *r, char *out)
{
    double v = column_value(c, r);
    switch (c->kind) {
    case COLUMN_COUNT:
        if (v > 0 && is_estimated(c, r)) {
            *out++ = '~';
        }
        format_count((uint64_t)v, out);
        break;
    case COLUMN_RATE:
        format_rate(v, out);
        break;
    case COLUMN_TIME:
        format_us(v, out);
        break;
    case COLUMN_SHARE:
        format_share(v, out);
        break;
    case COLUMN_CHANGE:
        format_change(v, out);
        return;
    case COLUMN_TREND:
    case COLUMN_PARTS:
        out[0] = 0;
        return;
    }
    bool empty = c->offset == offsetof(struct snap_row, oldest_open_us) ? v == 0 : r->count == 0;
    if (empty && c->kind != COLUMN_COUNT && c->kind != COLUMN_RATE) {
        strcpy(out, "-");
    }
}

/* The order in which column i is chosen: 0 is first; SIZE_MAX: not at all. */
static size_t rank(size_t i, const struct column_choice *w)
{
    bool change = columns[i].kind == COLUMN_CHANGE;
    if (i == w->sorted) {
        return 0;
    }
    bool measured = !change && columns[i].priority == MEASURED;
    if (w->state[i] == COLUMN_HIDE || (change && !w->compared)) {
        return SIZE_MAX;
    }
    if (w->state[i] == COLUMN_SHOW) {
        return 1;
    }
    if ((measured && !w->mailbox) || (columns[i].kind == COLUMN_PARTS && !w->parts)) {
        return SIZE_MAX;
    }
    return change || measured ? 2 : 2 + (size_t)columns[i].priority;
}

void columns_choose(struct column_set *set, int cols, int name_cols, const struct column_choice *w)
{
    bool chosen[N] = {false};
    int least = cols / 4 > NAME_LEAST ? cols / 4 : NAME_LEAST;
    int name = name_cols < least ? name_cols : least, left = cols - name;
    bool full = false;
    for (size_t r = 0; r < N + 3 && !full; r++) {
        for (size_t i = 0; i < N && !full; i++) {
            if (rank(i, w) != r) {
                continue;
            }
            /* A narrower, less important column is not used instead: columns would appear and
             * disappear with the width. */
            full = columns[i].width + 1 > left && r > 0;
            if (columns[i].width + 1 <= left) {
                chosen[i] = true;
                left -= columns[i].width + 1;
            }
        }
    }
    set->n = 0;
    for (size_t i = 0; i < N; i++) {
        if (chosen[i]) {
            set->index[set->n++] = i;
        }
    }
    set->name_cols = name + left < name_cols ? name + left : name_cols;
}
