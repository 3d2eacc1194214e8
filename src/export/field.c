#include <kprof/export/field.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(f) offsetof(struct snap_row, f)

const struct field fields[FIELDS] = {
    {"count", "count", FIELD_COUNT, FIELD(count)},
    {"est_count", "seen", FIELD_COUNT, FIELD(est_count)},
    {"counted", "counted", FIELD_COUNT, FIELD(counted)},
    {"late", "late", FIELD_COUNT, FIELD(late)},
    {"rate", "rate/s", FIELD_RATE, FIELD(rate)},
    {"errors", "err", FIELD_COUNT, FIELD(errors)},
    {"exits", "exits", FIELD_COUNT, FIELD(exits)},
    {"min_us", "min", FIELD_US, FIELD(min_us)},
    {"mean_us", "mean", FIELD_US, FIELD(mean_us)},
    {"sd_us", "sd", FIELD_US, FIELD(sd_us)},
    {"p25_us", "p25", FIELD_US, FIELD(p25_us)},
    {"p50_us", "p50", FIELD_US, FIELD(p50_us)},
    {"p75_us", "p75", FIELD_US, FIELD(p75_us)},
    {"p90_us", "p90", FIELD_US, FIELD(p90_us)},
    {"p95_us", "p95", FIELD_US, FIELD(p95_us)},
    {"p99_us", "p99", FIELD_US, FIELD(p99_us)},
    {"p999_us", "p99.9", FIELD_US, FIELD(p999_us)},
    {"max_us", "max", FIELD_US, FIELD(max_us)},
    {"self_us", "self", FIELD_US, FIELD(self_us)},
    {"share", "share", FIELD_SHARE, FIELD(share)},
    {"oldest_open_us", "oldest", FIELD_US, FIELD(oldest_open_us)},
    {"mbox_count", "mbox n", FIELD_COUNT, FIELD(waits)},
    {"mbox_mean_us", "mbox mean", FIELD_US, FIELD(wait_mean_us)},
    {"mbox_p50_us", "mbox p50", FIELD_US, FIELD(wait_p50_us)},
    {"mbox_p90_us", "mbox p90", FIELD_US, FIELD(wait_p90_us)},
    {"mbox_p99_us", "mbox p99", FIELD_US, FIELD(wait_p99_us)},
    {"mbox_p999_us", "mbox p99.9", FIELD_US, FIELD(wait_p999_us)},
    {"mbox_max_us", "mbox max", FIELD_US, FIELD(wait_max_us)},
    {"busy", "busy", FIELD_SHARE, FIELD(busy)},
};

uint64_t field_count(const struct field *c, const struct snap_row *r)
{
    uint64_t v;
    memcpy(&v, (const char *)r + c->offset, sizeof v);
    return v;
}

double field_value(const struct field *c, const struct snap_row *r)
{
    double v;
    memcpy(&v, (const char *)r + c->offset, sizeof v);
    return v;
}

bool field_is_of_mailbox(const struct field *c)
{
    return c->offset >= FIELD(waits) && c->offset <= FIELD(busy);
}

int field_decimals(const struct field *c)
{
    return c->kind == FIELD_SHARE ? 4 : 3;
}

static void count_cell(const struct field *c, const struct snap_row *r, char *cell)
{
    snprintf(cell, FIELD_CELL_BYTES, "%" PRIu64, field_count(c, r));
}

/* %.*f of a huge double has 300 digits; no value here is that large. */
static void number_cell(double v, int decimals, const char *none, const char *unit, char *cell)
{
    if (!isfinite(v) || fabs(v) >= 1e18)
        snprintf(cell, FIELD_CELL_BYTES, "%s", none);
    else
        snprintf(cell, FIELD_CELL_BYTES, "%.*f%s", decimals, v, unit);
}

void field_plain(const struct field *c, const struct snap_row *r, char cell[FIELD_CELL_BYTES])
{
    if (c->kind == FIELD_COUNT)
        count_cell(c, r, cell);
    else
        number_cell(field_value(c, r), field_decimals(c), "", "", cell);
}

/* The values of all calls, which text shows next to the rate. */
static bool is_of_all(const struct field *c)
{
    return c->offset == FIELD(late) || c->offset == FIELD(errors) || c->offset == FIELD(exits);
}

/* In text: the estimated number of calls, next to their rate; the number of traced calls follows.
 * */
static void count_text(const struct field *c, const struct snap_row *r, char *cell)
{
    if (c->offset == FIELD(count))
        snprintf(cell, FIELD_CELL_BYTES, "%s%" PRIu64, r->est_count != r->count ? "~" : "",
                 r->est_count);
    else if (c->offset == FIELD(est_count))
        snprintf(cell, FIELD_CELL_BYTES, "%" PRIu64, r->count);
    else if (is_of_all(c) && r->est_count != r->count && field_count(c, r))
        snprintf(cell, FIELD_CELL_BYTES, "~%" PRIu64, snapshot_estimate(r, field_count(c, r)));
    else
        count_cell(c, r, cell);
}

void field_text(const struct field *c, const struct snap_row *r, char cell[FIELD_CELL_BYTES])
{
    bool apart =
        c->offset == FIELD(oldest_open_us); /* a tier can have an open call and no ended one */
    double v = c->kind == FIELD_COUNT ? 0 : field_value(c, r);
    if (c->kind == FIELD_COUNT)
        count_text(c, r, cell);
    else if (apart ? v <= 0 : r->count == 0 && c->kind != FIELD_RATE)
        snprintf(cell, FIELD_CELL_BYTES, "-");
    else if (c->kind == FIELD_SHARE)
        number_cell(v * 100, 2, "-", "%", cell);
    else
        number_cell(v, 1, "-", "", cell);
}
