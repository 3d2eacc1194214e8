#include <kprof/export/columns.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(f) offsetof(struct snap_row, f)

const struct column columns[COLUMNS] = {
    {"count", "count", COLUMN_COUNT, FIELD(count)},
    {"est_count", "est", COLUMN_COUNT, FIELD(est_count)},
    {"late", "late", COLUMN_COUNT, FIELD(late)},
    {"rate", "rate/s", COLUMN_RATE, FIELD(rate)},
    {"errors", "err", COLUMN_COUNT, FIELD(errors)},
    {"min_us", "min", COLUMN_US, FIELD(min_us)},
    {"mean_us", "mean", COLUMN_US, FIELD(mean_us)},
    {"sd_us", "sd", COLUMN_US, FIELD(sd_us)},
    {"p25_us", "p25", COLUMN_US, FIELD(p25_us)},
    {"p50_us", "p50", COLUMN_US, FIELD(p50_us)},
    {"p75_us", "p75", COLUMN_US, FIELD(p75_us)},
    {"p90_us", "p90", COLUMN_US, FIELD(p90_us)},
    {"p95_us", "p95", COLUMN_US, FIELD(p95_us)},
    {"p99_us", "p99", COLUMN_US, FIELD(p99_us)},
    {"p999_us", "p99.9", COLUMN_US, FIELD(p999_us)},
    {"max_us", "max", COLUMN_US, FIELD(max_us)},
    {"self_us", "self", COLUMN_US, FIELD(self_us)},
    {"share", "share", COLUMN_SHARE, FIELD(share)},
    {"oldest_open_us", "oldest", COLUMN_US, FIELD(oldest_open_us)},
};

uint64_t column_count(const struct column *c, const struct snap_row *r)
{
    uint64_t v;
    memcpy(&v, (const char *)r + c->offset, sizeof v);
    return v;
}

double column_value(const struct column *c, const struct snap_row *r)
{
    double v;
    memcpy(&v, (const char *)r + c->offset, sizeof v);
    return v;
}

int column_decimals(const struct column *c)
{
    return c->kind == COLUMN_SHARE ? 4 : 3;
}

static void count_cell(const struct column *c, const struct snap_row *r, char *cell)
{
    snprintf(cell, COLUMN_CELL_BYTES, "%" PRIu64, column_count(c, r));
}

/* %.*f of a huge double has 300 digits; no figure of ours is that large. */
static void number_cell(double v, int decimals, const char *none, const char *unit, char *cell)
{
    if (!isfinite(v) || fabs(v) >= 1e18)
        snprintf(cell, COLUMN_CELL_BYTES, "%s", none);
    else
        snprintf(cell, COLUMN_CELL_BYTES, "%.*f%s", decimals, v, unit);
}

void column_plain(const struct column *c, const struct snap_row *r, char cell[COLUMN_CELL_BYTES])
{
    if (c->kind == COLUMN_COUNT)
        count_cell(c, r, cell);
    else
        number_cell(column_value(c, r), column_decimals(c), "", "", cell);
}

void column_text(const struct column *c, const struct snap_row *r, char cell[COLUMN_CELL_BYTES])
{
    bool oldest = c->offset == FIELD(oldest_open_us); /* a call may be open where none has ended */
    double v = c->kind == COLUMN_COUNT ? 0 : column_value(c, r);
    if (c->kind == COLUMN_COUNT)
        count_cell(c, r, cell);
    else if (oldest ? v <= 0 : r->count == 0 && c->kind != COLUMN_RATE)
        snprintf(cell, COLUMN_CELL_BYTES, "-");
    else if (c->kind == COLUMN_SHARE)
        number_cell(v * 100, 2, "-", "%", cell);
    else
        number_cell(v, 1, "-", "", cell);
}

void column_pid(uint64_t pid, char cell[COLUMN_CELL_BYTES])
{
    snprintf(cell, COLUMN_CELL_BYTES, "<0.%" PRIu64 ".%" PRIu64 ">", pid & UINT32_MAX, pid >> 32);
}
