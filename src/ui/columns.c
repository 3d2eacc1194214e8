#include <kprof/ui/columns.h>
#include <kprof/ui/figure.h>
#include <string.h>

#define NAME_LEAST 10

#define COUNT(field) COLUMN_COUNT, false, offsetof(struct snap_row, field)
#define TIME(field)  COLUMN_TIME, true, offsetof(struct snap_row, field)

static const struct column columns[] = {
    {"COUNT", 7, 3, COUNT(count), "calls seen and aggregated in the window"},
    {"EST", 7, 18, COUNT(est_count), "COUNT scaled by the sampling in force at the time"},
    {"RATE", 6, 4, COLUMN_RATE, false, offsetof(struct snap_row, rate), "calls per second"},
    {"ERR", 5, 8, COUNT(errors), "calls that ended in an exception"},
    {"LATE", 5, 19, COUNT(late), "calls that began after their request had ended"},
    {"MIN", 6, 13, TIME(min_us), "shortest call"},
    {"MEAN", 6, 10, COLUMN_TIME, false, offsetof(struct snap_row, mean_us), "mean duration"},
    {"SD", 6, 16, TIME(sd_us), "standard deviation of the duration"},
    {"P25", 6, 17, TIME(p25_us), "a quarter of the calls took at most this"},
    {"P50", 6, 1, TIME(p50_us), "the median: half of the calls took at most this"},
    {"P75", 6, 15, TIME(p75_us), "75 % of the calls took at most this"},
    {"P90", 6, 5, TIME(p90_us), "90 % of the calls took at most this"},
    {"P95", 6, 11, TIME(p95_us), "95 % of the calls took at most this"},
    {"P99", 6, 2, TIME(p99_us), "99 % of the calls took at most this"},
    {"P99.9", 6, 9, TIME(p999_us), "99.9 % of the calls took at most this"},
    {"MAX", 6, 7, TIME(max_us), "longest call"},
    {"SELF", 6, 12, TIME(self_us), "mean time in the tier itself, without the tiers it calls"},
    {"SHARE", 6, 6, COLUMN_SHARE, true, offsetof(struct snap_row, share),
     "self time as a part of the whole requests' time"},
    {"OLDEST", 7, 14, COLUMN_TIME, false, offsetof(struct snap_row, oldest_open_us),
     "age of the oldest call that is still open"},
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

double column_value(const struct column *c, const struct snap_row *r)
{
    const char *p = (const char *)r + c->offset;
    if (c->kind == COLUMN_COUNT) {
        uint64_t n;
        memcpy(&n, p, sizeof n);
        return (double)n;
    }
    double v;
    memcpy(&v, p, sizeof v);
    return v;
}

void column_text(const struct column *c, const struct snap_row *r, char *out)
{
    double v = column_value(c, r);
    switch (c->kind) {
    case COLUMN_COUNT:
        figure_count((uint64_t)v, out);
        break;
    case COLUMN_RATE:
        figure_rate(v, out);
        break;
    case COLUMN_TIME:
        figure_us(v, out);
        break;
    case COLUMN_SHARE:
        figure_share(v, out);
        break;
    }
    bool empty = c->offset == offsetof(struct snap_row, oldest_open_us) ? v == 0 : r->count == 0;
    if (empty && c->kind != COLUMN_COUNT && c->kind != COLUMN_RATE) {
        strcpy(out, "-");
    }
}

static size_t by_priority(int priority)
{
    for (size_t i = 0; i < N; i++) {
        if (columns[i].priority == priority) {
            return i;
        }
    }
    return SIZE_MAX;
}

void columns_choose(struct column_set *set, int cols, int name_cols, size_t always)
{
    bool chosen[N] = {false};
    int least = cols / 4 > NAME_LEAST ? cols / 4 : NAME_LEAST;
    int name = name_cols < least ? name_cols : least, left = cols - name;
    if (always < N && columns[always].width + 1 <= left) {
        chosen[always] = true;
        left -= columns[always].width + 1;
    }
    for (int p = 1; p <= (int)N; p++) {
        size_t i = by_priority(p);
        if (i == SIZE_MAX || chosen[i]) {
            continue;
        }
        if (columns[i].width + 1 > left) {
            break; /* not a less important but narrower one: it would come and go */
        }
        chosen[i] = true;
        left -= columns[i].width + 1;
    }
    set->n = 0;
    for (size_t i = 0; i < N; i++) {
        if (chosen[i]) {
            set->index[set->n++] = i;
        }
    }
    set->name_cols = name + left < name_cols ? name + left : name_cols;
}
