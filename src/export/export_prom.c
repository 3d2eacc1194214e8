/* The Prometheus text format: the window as gauges (a window slides, so it has no counters), and
 * the state of the session. For the textfile collector of a node exporter. Source of the
 * format: Prometheus exposition formats, text version 0.0.4; no code was copied. */
#include <kprof/base/text.h>
#include <kprof/export/field.h>
#include <kprof/export/part_field.h>
#include <kprof/export/writers.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Label values: quotes, backslashes and line ends are escaped; text_safe removes control
 * characters. */
static void label(struct buf *out, const char *name, const char *value, const char *lead)
{
    struct buf safe;
    buf_init(&safe, 0);
    text_safe(&safe, value, strlen(value), 0, false);
    buf_addf(out, "%s%s=\"", lead, name);
    for (size_t i = 0; i < safe.len; i++) {
        if (strchr("\\\"", safe.data[i]))
            buf_addch(out, '\\');
        buf_addch(out, safe.data[i]);
    }
    buf_addch(out, '"');
    buf_release(&safe);
}

static void type(struct buf *out, const char *name, const char *kind, const char *help)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

/* A counter has all its digits: with fewer, a slow increase is invisible above a billion. */
static void number(struct buf *out, double v)
{
    if (isfinite(v))
        buf_addf(out, v == floor(v) && fabs(v) < 0x1p53 ? " %.0f\n" : " %.9g\n", v);
    else
        buf_adds(out, " NaN\n");
}

static void row_labels(struct buf *out, const char *name, const struct snapshot *s,
                       const struct snap_row *r)
{
    buf_addf(out, "%s", name);
    label(out, "node", s->node.name, "{");
    label(out, "tier", r->tier_name, ",");
    /* The tier over all identities has no identity: an empty label means no label. */
    label(out, "identity", r->ident ? r->ident : "", ",");
}

static void rows_of(struct buf *out, const struct snapshot *s, const struct field *f,
                    const char *name, double scale, const char *help)
{
    type(out, name, "gauge", help);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        row_labels(out, name, s, r);
        buf_addch(out, '}');
        number(out,
               scale * (f->kind == FIELD_COUNT ? (double)field_count(f, r) : field_value(f, r)));
    }
}

static void quantiles(struct buf *out, const struct snapshot *s)
{
    static const struct {
        const char *q;
        size_t at;
    } all[] = {
        {"0.25", offsetof(struct snap_row, p25_us)},  {"0.5", offsetof(struct snap_row, p50_us)},
        {"0.75", offsetof(struct snap_row, p75_us)},  {"0.9", offsetof(struct snap_row, p90_us)},
        {"0.95", offsetof(struct snap_row, p95_us)},  {"0.99", offsetof(struct snap_row, p99_us)},
        {"0.999", offsetof(struct snap_row, p999_us)}};
    static const char name[] = "kprof_call_seconds";
    type(out, name, "gauge", "Duration of calls in the window, by quantile.");
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        for (size_t q = 0; r->count && q < sizeof all / sizeof *all; q++) {
            double us;
            memcpy(&us, (const char *)r + all[q].at, sizeof us);
            row_labels(out, name, s, r);
            label(out, "quantile", all[q].q, ",");
            buf_addch(out, '}');
            number(out, us / 1e6);
        }
    }
}

/* Only rows of servers whose messages were measured. */
static void mailboxes(struct buf *out, const struct snapshot *s)
{
    static const struct {
        const char *q;
        size_t at;
    } all[] = {{"0.5", offsetof(struct snap_row, wait_p50_us)},
               {"0.9", offsetof(struct snap_row, wait_p90_us)},
               {"0.99", offsetof(struct snap_row, wait_p99_us)},
               {"0.999", offsetof(struct snap_row, wait_p999_us)},
               {"1", offsetof(struct snap_row, wait_max_us)}};
    static const char calls[] = "kprof_mailbox_calls", time[] = "kprof_mailbox_seconds";
    type(out, calls, "gauge", "Calls of the window whose time in a mailbox is known.");
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!s->rows[i].waits)
            continue;
        row_labels(out, calls, s, &s->rows[i]);
        buf_addf(out, "} %" PRIu64 "\n", s->rows[i].waits);
    }
    type(out, time, "gauge", "Time of the messages of calls in the mailbox, by quantile.");
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        for (size_t q = 0; r->waits && q < sizeof all / sizeof *all; q++) {
            double us;
            memcpy(&us, (const char *)r + all[q].at, sizeof us);
            row_labels(out, time, s, r);
            label(out, "quantile", all[q].q, ",");
            buf_addch(out, '}');
            number(out, us / 1e6);
        }
    }
}

static void busy(struct buf *out, const struct snapshot *s)
{
    static const char name[] = "kprof_busy";
    type(out, name, "gauge", "Busy processes of a server, on average: 1 if one is always busy.");
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!isfinite(s->rows[i].busy))
            continue;
        row_labels(out, name, s, &s->rows[i]);
        buf_addch(out, '}');
        number(out, s->rows[i].busy);
    }
}

/* Only rows with parts; 8 parts each. scale: from microseconds or a share. */
static void parts_of(struct buf *out, const struct snapshot *s, const struct part_field *f,
                     const char *name, double scale, const char *help)
{
    type(out, name, "gauge", help);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct time_part_view *v = s->rows[i].parts;
        for (int p = 0; v && p < PART_COUNT; p++) {
            row_labels(out, name, s, &s->rows[i]);
            label(out, "part", part_field_key((enum time_part)p), ",");
            buf_addch(out, '}');
            number(out, scale * part_field_value(f, v, (enum time_part)p));
        }
    }
}

static void parts(struct buf *out, const struct snapshot *s)
{
    static const char calls[] = "kprof_part_calls", from[] = "kprof_part_slow_from_seconds";
    type(out, calls, "gauge", "Calls of the window whose parts were recorded.");
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!s->rows[i].parts)
            continue;
        row_labels(out, calls, s, &s->rows[i]);
        buf_addf(out, "} %" PRIu64 "\n", s->rows[i].parts->calls);
    }
    type(out, from, "gauge",
         "Minimum duration of the slowest 1 % of the calls whose parts were recorded.");
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!s->rows[i].parts)
            continue;
        row_labels(out, from, s, &s->rows[i]);
        buf_addch(out, '}');
        number(out, s->rows[i].parts->slow_from_us / 1e6);
    }
    for (const struct part_field *f = part_fields; f < part_fields + PART_FIELDS; f++)
        parts_of(out, s, f, f->metric, f->decimals == 3 ? 1e-6 : 1, f->help);
}

static const struct field *field_of(const char *key)
{
    const struct field *f = fields;
    while (strcmp(f->key, key) != 0)
        f++;
    return f;
}

static void one(struct buf *out, const struct snapshot *s, const char *name, const char *kind,
                double v, const char *help)
{
    type(out, name, kind, help);
    buf_adds(out, name);
    label(out, "node", s->node.name, "{");
    buf_addch(out, '}');
    number(out, v);
}

static void lost(struct buf *out, const struct snapshot *s)
{
    static const char name[] = "kprof_lost_events_total";
    const struct {
        const char *where;
        uint64_t n;
    } all[] = {{"target", s->lost.target}, {"ring", s->lost.ring}};
    type(out, name, "counter", "Dropped events, by place.");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        buf_adds(out, name);
        label(out, "node", s->node.name, "{");
        label(out, "where", all[i].where, ",");
        buf_addf(out, "} %" PRIu64 "\n", all[i].n);
    }
}

/* ---- unique series ---- */

/* The identity of a row that has one, for a label; of a name that is also one of the words in its
 * place, in quotes. */
static char *identity_of(const struct snap_row *r)
{
    const char *ident = r->ident;
    bool word = snapshot_is_named(r) &&
                (!*ident || strcmp(ident, "undefined") == 0 || strcmp(ident, "<other>") == 0);
    struct buf safe;

    buf_init(&safe, 0);
    if (word)
        buf_addch(&safe, '"');
    text_safe(&safe, ident, strlen(ident), 0, false);
    if (word)
        buf_addch(&safe, '"');
    char *copy = buf_dup(safe.data);
    buf_release(&safe);
    return copy;
}

/* Another row of the tier has the same identity, and an earlier number. */
static bool is_taken(const struct snap_row *row, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (row[k].tier == row[i].tier && row[k].ident && row[k].ident_n < row[i].ident_n &&
            strcmp(row[k].ident, row[i].ident) == 0)
            return true;
    return false;
}

static bool add_numbers(struct snap_row *row, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (!row[i].ident || !is_taken(row, n, i))
            continue;
        struct buf b;
        buf_init(&b, 0);
        buf_addf(&b, "%s #%u", row[i].ident, row[i].ident_n);
        free((char *)(uintptr_t)row[i].ident);
        row[i].ident = buf_dup(b.data);
        buf_release(&b);
        any = true;
    }
    return any;
}

/* The rows, each with another pair of tier and identity: Prometheus refuses a scrape that has a
 * series twice. A name from the node may be a word that stands for something else here, or may look
 * like another one when it is safe. The caller frees them with free_rows. */
static struct snap_row *unique_rows(const struct snapshot *s)
{
    struct snap_row *row = calloc(s->n_rows + 1, sizeof *row);

    if (!row)
        abort();
    if (s->n_rows)
        memcpy(row, s->rows, s->n_rows * sizeof *row);
    for (size_t i = 0; i < s->n_rows; i++)
        if (row[i].ident)
            row[i].ident = identity_of(&row[i]);
    while (add_numbers(row, s->n_rows))
        ;
    return row;
}

static void free_rows(struct snap_row *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)row[i].ident);
    free(row);
}

static void rows(struct buf *out, const struct snapshot *s)
{
    rows_of(out, s, field_of("count"), "kprof_calls", 1, "Calls seen in the window.");
    rows_of(out, s, field_of("est_count"), "kprof_calls_estimated", 1,
            "Calls of the window, scaled by the sampling.");
    rows_of(out, s, field_of("rate"), "kprof_call_rate", 1, "Calls per second.");
    rows_of(out, s, field_of("errors"), "kprof_call_errors", 1,
            "Calls of the window that ended in an exception.");
    rows_of(out, s, field_of("mean_us"), "kprof_call_mean_seconds", 1e-6,
            "Mean duration of a call.");
    rows_of(out, s, field_of("max_us"), "kprof_call_max_seconds", 1e-6,
            "Longest call of the window.");
    rows_of(out, s, field_of("share"), "kprof_share", 1, "Part of the requests' time, 0 to 1.");
    quantiles(out, s);
    bool waits = false, serves = false, has_parts = false;
    for (size_t i = 0; i < s->n_rows; i++) {
        waits |= s->rows[i].waits > 0;
        serves |= isfinite(s->rows[i].busy);
        has_parts |= s->rows[i].parts != NULL;
    }
    if (waits)
        mailboxes(out, s);
    if (serves)
        busy(out, s);
    if (has_parts)
        parts(out, s);
}

void export_prom(struct buf *out, const struct snapshot *s)
{
    struct snapshot own = *s;
    struct snap_row *row = unique_rows(s);

    one(out, s, "kprof_window_seconds", "gauge", s->window_s, "Length of the window.");
    one(out, s, "kprof_gap_seconds", "gauge", s->gap_s,
        "Time of the window without tracing; rates cover the rest.");
    one(out, s, "kprof_reloads", "gauge", (double)s->n_marks,
        "How often a traced module was loaded again in the window.");
    one(out, s, "kprof_tracing", "gauge", s->node.tracing, "1 while tracing is on.");
    one(out, s, "kprof_sample", "gauge", s->sample, "One request in this many is traced.");
    one(out, s, "kprof_breaker_state", "gauge", s->breaker.state, "0 closed, 1 open, 2 half-open.");
    one(out, s, "kprof_breaker_trips_total", "counter", (double)s->breaker.trips,
        "How often the breaker opened.");
    one(out, s, "kprof_calls_received_total", "counter", (double)s->calls.received,
        "Call events received.");
    lost(out, s);
    own.rows = row;
    rows(out, &own);
    free_rows(row, s->n_rows);
}
