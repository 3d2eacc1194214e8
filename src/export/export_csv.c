#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <kprof/export/field.h>
#include <kprof/export/part_field.h>
#include <kprof/export/writers.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The values of the snapshot that are on each line, before those of the row: a reader of one line
 * must see loss and breaker. */
static const char head[] =
    "at,node,elapsed_s,window_s,final,tracing,sample,breaker,trips,received,aggregated,"
    "open,expired,unattributed,lost_target,lost_ring,gap_s,counted_s,overhead_percent,gap,reloaded,"
    "row,tier,identity";

/* RFC 4180: always quoted, quotes doubled. A spreadsheet treats text that begins with = + - or @ as
 * a formula, quoted or not; an apostrophe in front prevents this. text_safe removes control
 * characters. */
void export_csv_quoted(struct buf *out, const char *s)
{
    struct buf safe;
    buf_init(&safe, 0);
    text_safe(&safe, s, strlen(s), 0, false);
    buf_addch(out, '"');
    char lead = safe.data[strspn(safe.data, " ")];
    if (lead && strchr("=+-@", lead))
        buf_addch(out, '\'');
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.data[i] == '"')
            buf_addch(out, '"');
        buf_addch(out, safe.data[i]);
    }
    buf_addch(out, '"');
    buf_release(&safe);
}

/* The reason for most of the gap, and the traced modules that were loaded again, separated by
 * blanks. */
static void disturbed(struct buf *out, const struct snapshot *s)
{
    struct buf names;
    enum gap_reason most;
    snapshot_gap_s(s, HUGE_VAL, 0, &most);
    buf_addf(out, ",%s,", most == GAP_NONE ? "" : gap_name(most));
    if (s->n_marks == 0)
        return;
    buf_init(&names, 0);
    for (size_t i = 0; i < s->n_marks; i++)
        buf_addf(&names, "%s%s", i ? " " : "", s->marks[i].module);
    export_csv_quoted(out, names.data);
    buf_release(&names);
}

static void session(struct buf *out, const struct snapshot *s)
{
    char at[40];
    clock_format_wall(snapshot_end_wall_ns(s), at, sizeof at);
    buf_addf(out, "%s,", at);
    export_csv_quoted(out, s->node.name);
    buf_addf(out, ",%.3f,%.3f,%s,%s,%" PRIu32 ",%s,%" PRIu64, s->elapsed_s, s->window_s,
             s->final ? "true" : "false", s->node.tracing ? "true" : "false", s->sample,
             breaker_name(s->breaker.state), s->breaker.trips);
    buf_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, s->calls.received,
             s->calls.aggregated, s->calls.open, s->calls.expired, s->calls.unattributed);
    buf_addf(out, ",%" PRIu64 ",%" PRIu64 ",%.3f,%.3f,", s->lost.target, s->lost.ring, s->gap_s,
             s->counted_s);
    if (s->cost.known)
        buf_addf(out, "%.3f", s->cost.percent);
    disturbed(out, s);
}

/* The same columns for every row, empty without parts. */
static void parts_head(struct buf *out)
{
    buf_adds(out, ",parts_calls,parts_slow_from_us");
    for (int p = 0; p < PART_COUNT; p++)
        for (size_t i = 0; i < PART_FIELDS; i++)
            buf_addf(out, ",%s_%s", part_field_key((enum time_part)p), part_fields[i].key);
}

static void parts(struct buf *out, const struct time_part_view *v)
{
    char cell[FIELD_CELL_BYTES] = "";
    if (v)
        snprintf(cell, sizeof cell, "%" PRIu64, v->calls);
    buf_addf(out, ",%s,", cell);
    if (v)
        buf_addf(out, "%.3f", v->slow_from_us);
    for (int p = 0; p < PART_COUNT; p++)
        for (size_t i = 0; i < PART_FIELDS; i++) {
            buf_addch(out, ',');
            if (v)
                buf_addf(out, "%.*f", part_fields[i].decimals,
                         part_field_value(&part_fields[i], v, (enum time_part)p));
        }
}

static void row(struct buf *out, const struct snap_row *r)
{
    char cell[FIELD_CELL_BYTES];
    buf_adds(out, r->ident ? ",identity," : ",total,");
    export_csv_quoted(out, r->tier_name);
    buf_addch(out, ',');
    if (r->ident)
        export_csv_quoted(out, r->ident);
    for (const struct field *c = fields; c < fields + FIELDS; c++) {
        field_plain(c, r, cell);
        buf_addf(out, ",%s", cell);
    }
    buf_addch(out, ',');
    if (r->note)
        export_csv_quoted(out, r->note);
    parts(out, r->parts);
    buf_addch(out, '\n');
}

void export_csv(struct buf *out, const struct snapshot *s, bool first)
{
    struct buf prefix; /* the same on every line */
    if (first) {
        buf_adds(out, head);
        for (const struct field *c = fields; c < fields + FIELDS; c++)
            buf_addf(out, ",%s", c->key);
        buf_adds(out, ",note");
        parts_head(out);
        buf_addch(out, '\n');
    }
    buf_init(&prefix, 0);
    session(&prefix, s);
    for (size_t i = 0; i < s->n_rows; i++) {
        buf_add(out, prefix.data, prefix.len);
        row(out, &s->rows[i]);
    }
    buf_release(&prefix);
}
