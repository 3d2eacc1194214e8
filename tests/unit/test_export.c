/* Text, JSON and CSV of the same snapshots: golden files, valid output with any names, equal
 * values. UPDATE_GOLDENS=1 writes the golden files (then read the diff). Runs in the top directory.
 */
#include "rng.h"

#include <fake_parts.h>
#include <fake_snapshot.h>
#include <kprof/base/text.h>
#include <kprof/core/slow_trace.h>
#include <kprof/core/tier.h>
#include <kprof/export/export.h>
#include <kprof/export/field.h>
#include <kprof/export/part_field.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct buf write_as(const struct snapshot *s, enum export_format f, bool first)
{
    struct buf b;
    buf_init(&b, 0);
    export_write(&b, s, f, first);
    assert_false(b.truncated);
    return b;
}

/* ---- golden files ---- */

static void golden_is(struct buf got, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tests/golden/export/%s", name);
    const char *update = getenv("UPDATE_GOLDENS");
    FILE *file = fopen(path, update && *update == '1' ? "w+b" : "rb");
    if (!file)
        fail_msg("cannot open %s (run in the top directory)", path);
    if (update && *update == '1') {
        fwrite(got.data, 1, got.len, file);
        rewind(file);
    }
    char *want = malloc(1 << 20);
    assert_non_null(want);
    size_t n = fread(want, 1, (1 << 20) - 1, file);
    want[n] = '\0';
    fclose(file);
    size_t at = 0;
    while (at < n && at < got.len && want[at] == got.data[at])
        at++;
    if (n != got.len || at != n)
        fail_msg("%s differs at byte %zu:\nwanted: %.80s\ngot:    %.80s", path, at, want + at,
                 got.data + at);
    free(want);
    buf_release(&got);
}

static void golden(const struct snapshot *s, enum export_format f, const char *name)
{
    golden_is(write_as(s, f, true), name);
}

static void golden_details(const struct snapshot *s, const char *name)
{
    struct buf b;
    buf_init(&b, 0);
    export_details(&b, s);
    golden_is(b, name);
}

/* A snapshot with everything: rare counters, a note, a trip, a row without calls. */
static struct fake *everything(void)
{
    struct fake *f = fake_standard(6);
    struct snap_row *r = fake_row(f, 6, "missing", NULL, 0, 0);
    r->note = fake_str(f, "no such function: my_db:qery/2; near: my_db:query/2");
    r = fake_row(f, 7, "counted", NULL, 0, 0); /* while the breaker was open */
    r->counted = 4200;
    r->rate = 420;
    struct snapshot *s = fake_snap(f);
    s->counted_s = 4.5;
    s->sample = 10;
    s->sample_why = SAMPLE_BREAKER;
    s->cost.assumed = true;
    s->clock.drift_known = true;
    s->lost.target = 17;
    s->lost.ring = 3;
    s->anomalies.bad_events = 2;
    s->anomalies.late = 40;
    s->breaker.state = BREAKER_HALF_OPEN;
    s->breaker.trips = 3;
    s->breaker.next_try_s = 2.5;
    s->breaker.pause_s = 5;
    fake_gap(f, 2.5, 0, GAP_OVERLOAD);
    fake_gap(f, 9.75, 8.5, GAP_LOST);
    fake_mark(f, 3.25, "MyApp.Repo");
    fake_vm_events(f);
    fake_vm(f, VM_EVENT_BREAKER, 2.5, 2500000)->open = true;
    snprintf(s->breaker.reason, sizeof s->breaker.reason, "events older than 1 s");
    return f;
}

static void goldens(void **state)
{
    (void)state;
    struct fake *f = everything();
    struct snapshot *s = fake_snap(f);
    golden(s, EXPORT_TEXT, "everything.txt");
    golden_details(s, "everything_details.txt");
    golden(s, EXPORT_JSON, "everything.json");
    golden(s, EXPORT_CSV, "everything.csv");
    golden(s, EXPORT_PROM, "everything.prom");
    fake_free(f);
    f = fake_new();
    s = fake_snap(f);
    golden(s, EXPORT_TEXT, "empty.txt");
    golden(s, EXPORT_JSON, "empty.json");
    golden(s, EXPORT_CSV, "empty.csv");
    fake_free(f);
    f = fake_hostile();
    s = fake_snap(f);
    golden(s, EXPORT_TEXT, "hostile.txt");
    golden_details(s, "hostile_details.txt");
    golden(s, EXPORT_JSON, "hostile.json");
    golden(s, EXPORT_CSV, "hostile.csv");
    golden(s, EXPORT_PROM, "hostile.prom");
    fake_free(f);
}

/* The standard snapshot with the parts of its rows and slow requests. */
static void goldens_with_parts(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    fake_row(f, 3, "db", NULL, 6112, 2475);
    fake_row(f, 3, "db", "read", 4210, 1650);
    fake_row(f, 4, "idle", NULL, 0, 0);
    fake_row(f, TIER_TOTAL, "_total", NULL, 6112, 7200);
    fake_events(f, 1, 0, 0);
    fake_waits((struct snap_row *)(uintptr_t)&fake_snap(f)->rows[0]);
    struct fake_parts *parts = fake_parts_give(fake_snap(f));
    fake_snap(f)->detail =
        (struct snap_detail){.state = DETAIL_ON, .every = 800, .every_asked = 100};
    golden(fake_snap(f), EXPORT_TEXT, "parts.txt");
    golden_details(fake_snap(f), "parts_details.txt");
    golden(fake_snap(f), EXPORT_JSON, "parts.json");
    golden(fake_snap(f), EXPORT_CSV, "parts.csv");
    golden(fake_snap(f), EXPORT_PROM, "parts.prom");
    fake_parts_free(parts);
    fake_free(f);
}

/* ---- a JSON reader: RFC 8259, only checks validity ---- */

static const char *json_value(const char *p, int depth);

static const char *blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *json_string(const char *p)
{
    if (*p++ != '"')
        return NULL;
    for (; *p != '"'; p++) {
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p == '\\') {
            p++;
            if (*p == 'u' && strspn(p + 1, "0123456789abcdefABCDEF") < 4)
                return NULL;
            if (!*p || !strchr("\"\\/bfnrtu", *p))
                return NULL;
        }
    }
    return p + 1;
}

static const char *json_number(const char *p)
{
    p += *p == '-';
    size_t n = strspn(p, "0123456789");
    if (n == 0 || (n > 1 && *p == '0'))
        return NULL;
    p += n;
    if (*p == '.') {
        n = strspn(p + 1, "0123456789");
        if (n == 0)
            return NULL;
        p += n + 1;
    }
    return p;
}

/* Members of an object or elements of an array; p is after the opening bracket. */
static const char *json_members(const char *p, char close, int depth)
{
    p = blanks(p);
    if (*p == close)
        return p + 1;
    for (;;) {
        if (close == '}') {
            p = json_string(blanks(p));
            if (!p || *(p = blanks(p)) != ':')
                return NULL;
            p++;
        }
        p = json_value(blanks(p), depth + 1);
        if (!p)
            return NULL;
        p = blanks(p);
        if (*p == close)
            return p + 1;
        if (*p++ != ',')
            return NULL;
    }
}

static const char *json_value(const char *p, int depth)
{
    if (depth > 20)
        return NULL;
    if (*p == '{' || *p == '[')
        return json_members(p + 1, *p == '{' ? '}' : ']', depth);
    if (*p == '"')
        return json_string(p);
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++)
        if (strncmp(p, words[i], strlen(words[i])) == 0)
            return p + strlen(words[i]);
    return json_number(p);
}

static void is_one_json_line(const struct buf *b)
{
    const char *end = json_value(b->data, 0);
    assert_non_null(end);
    assert_string_equal(end, "\n");
    assert_int_equal(strlen(b->data), b->len);
}

/* Valid UTF-8 without control characters except newlines. */
static void is_harmless(const struct buf *b)
{
    for (size_t i = 0; i < b->len;) {
        uint32_t cp;
        i += text_next(b->data + i, b->len - i, &cp);
        if (cp != '\n' && (cp == UINT32_MAX || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) ||
                           (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069)))
            fail_msg("character %x before byte %zu", cp, i);
    }
}

/* ---- a CSV reader: RFC 4180 ---- */

/* Copies the next field to cell (cut if longer); *p is then after its separator. True at the end of
 * a line. */
static bool csv_field(const char **p, char *cell, size_t cap)
{
    size_t n = 0;
    bool quoted = **p == '"';
    const char *s = *p + quoted;
    for (; *s; s++) {
        if (quoted && *s == '"' && *++s != '"')
            break;
        if (!quoted && (*s == ',' || *s == '\n'))
            break;
        assert_true(*s != '\n');
        assert_true(quoted || *s != '"');
        if (n + 1 < cap)
            cell[n++] = *s;
    }
    cell[n] = '\0';
    assert_true(*s == ',' || *s == '\n');
    *p = s + 1;
    return *s == '\n';
}

static size_t csv_width(const char **p)
{
    char cell[8];
    size_t n = 1;
    while (!csv_field(p, cell, sizeof cell))
        n++;
    return n;
}

static void hostile_names(void **state)
{
    (void)state;
    struct fake *f = fake_hostile();
    struct snap_row *r = fake_row(f, 3, "=cmd|' /C calc'!A0", "say \"hi\", @you\r\nnow", 10, 1);
    r->note = fake_str(f, "-1+1\n\"");
    fake_row(f, 3, "+1", "  =SUM(A1)", 10, 1);
    struct snapshot *s = fake_snap(f);
    struct buf text = write_as(s, EXPORT_TEXT, true), json = write_as(s, EXPORT_JSON, true),
               csv = write_as(s, EXPORT_CSV, true);
    is_harmless(&text);
    is_harmless(&json);
    is_harmless(&csv);
    is_one_json_line(&json);
    const char *p = csv.data;
    size_t lines = 0, width = csv_width(&p);
    for (; *p; lines++)
        assert_int_equal(csv_width(&p), width);
    assert_int_equal(lines, s->n_rows);
    assert_null(strstr(csv.data, ",\"=")); /* not a formula, quoted or not */
    assert_null(strstr(csv.data, ",\"+"));
    assert_null(strstr(csv.data, ",\"-"));
    assert_null(strstr(csv.data, ",\"  ="));
    assert_non_null(strstr(csv.data, ",\"'=cmd|' /C calc'!A0\",\"say \"\"hi\"\", @you"));
    buf_release(&text);
    buf_release(&json);
    buf_release(&csv);
    fake_free(f);
}

/* every key that kprof.1 lists under OUTPUT, json */
static void json_contract(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"schema\":1,",
        "\"final\":false,",
        "\"node\":\"app@host\"",
        "\"otp\":\"25\"",
        "\"elapsed_s\":65.0",
        "\"window_s\":10.0",
        "\"tracing\":true",
        "\"transport\":\"dist\"",
        "\"returns\":\"lean\"",
        "\"sample\":10,\"sample_asked\":1,\"sample_why\":\"breaker\",",
        "\"overhead\":{\"percent\":0.800,\"limit\":5.00,\"per_call_ns\":1350,\"assumed\":true},",
        "\"breaker\":{\"state\":\"half-open\",\"trips\":3,\"reason\":\"events older than 1 "
        "s\",\"next_s\":2.500,\"pause_s\":5.000}",
        "\"gap_s\":3.750,",
        "\"gaps\":[{\"from_s\":2.500,\"to_s\":0.000,\"reason\":\"overload\"},{",
        "\"ago_s\":3.250,\"reloaded\":\"MyApp.Repo\"}]",
        "\"calls\":{\"received\":",
        "\"aggregated\":",
        "\"open\":7",
        "\"expired\":0",
        "\"unattributed\":12",
        "\"lost\":{\"target\":17,\"ring\":3}",
        "\"requests\":{\"started\":",
        "\"finished\":",
        "\"rows\":[{",
        "\"tier\":\"db\",\"identity\":\"create\",",
        "\"identity\":null",
        "\"slow\":[{\"at\":\"2026-11-21T03:04:05.678Z\"",
        "\"pid\":\"<0.123.0>\"",
        "\"request\":7000",
        "\"odd\":{",
        "\"note\":\"no such function"};
    struct fake *f = everything();
    struct buf b = write_as(fake_snap(f), EXPORT_JSON, true);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strstr(b.data, keys[i]))
            fail_msg("JSON lacks %s", keys[i]);
    for (size_t i = 0; i < FIELDS; i++) {
        char key[40];
        snprintf(key, sizeof key, "\"%s\":", fields[i].key);
        if (!strstr(b.data, key))
            fail_msg("JSON lacks %s", key);
    }
    buf_release(&b);
    fake_free(f);
    f = fake_new();
    b = write_as(fake_snap(f), EXPORT_JSON, true);
    is_one_json_line(&b);
    assert_non_null(strstr(b.data, "\"reason\":null"));
    assert_null(strstr(b.data, "\"odd\""));
    buf_release(&b);
    fake_free(f);
}

/* ---- equal values ---- */

struct figures {
    size_t n;
    char cell[64][FIELDS][FIELD_CELL_BYTES];
};

static void figures_of_json(const struct buf *b, struct figures *f)
{
    const char *p = strstr(b->data, "\"rows\":[");
    assert_non_null(p);
    for (f->n = 0; (p = strstr(p, "{\"tier\":")) && !strstr(b->data, "\"slow\":[{"); f->n++) {
        for (size_t c = 0; c < FIELDS; c++) {
            char key[40];
            snprintf(key, sizeof key, "\"%s\":", fields[c].key);
            p = strstr(p, key);
            assert_non_null(p);
            p += strlen(key);
            snprintf(f->cell[f->n][c], FIELD_CELL_BYTES, "%.*s", (int)strcspn(p, ",}"), p);
        }
    }
}

static void figures_of_csv(const struct buf *b, struct figures *f)
{
    const char *p = b->data;
    char cell[256], head[128][FIELD_CELL_BYTES];
    size_t width = 0;
    while (!csv_field(&p, head[width++], FIELD_CELL_BYTES))
        assert_true(width < 127);
    for (f->n = 0; *p; f->n++) {
        for (size_t i = 0; i < width; i++) {
            csv_field(&p, cell, sizeof cell);
            for (size_t c = 0; c < FIELDS; c++)
                if (strcmp(head[i], fields[c].key) == 0)
                    snprintf(f->cell[f->n][c], FIELD_CELL_BYTES, "%.63s", cell);
        }
    }
}

/* The CSV cell of the column `key` in the line of the first row. */
static double csv_number(const struct buf *b, const char *key)
{
    const char *p = b->data, *line = strchr(b->data, '\n') + 1;
    char cell[256], head[FIELD_CELL_BYTES];
    for (bool last = false; !last;) {
        last = csv_field(&p, head, sizeof head);
        csv_field(&line, cell, sizeof cell);
        if (strcmp(head, key) == 0)
            return strtod(cell, NULL);
    }
    fail_msg("CSV lacks %s", key);
    return NAN;
}

static double prom_number(const struct buf *b, const char *metric, const char *part)
{
    char line[160];
    snprintf(line, sizeof line, "\n%s{node=\"app@host\",tier=\"db\",identity=\"\",part=\"%s\"} ",
             metric, part);
    const char *at = strstr(b->data, line);
    if (!at)
        fail_msg("Prometheus lacks %s", line);
    return at ? strtod(at + strlen(line), NULL) : NAN;
}

/* A counter with fewer digits would stand still for a while, and then jump. */
static void prom_counters_have_all_digits(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    fake_row(f, 3, "db", NULL, 12345678901, 2475);
    struct buf prom = write_as(fake_snap(f), EXPORT_PROM, true);
    assert_non_null(strstr(prom.data, "} 12345678901\n"));
    buf_release(&prom);
    fake_free(f);
}

/* A scrape that has a series twice is refused as a whole. */
static void expect_unique(const struct buf *prom)
{
    size_t n = 0, cap = 0;
    char **series = NULL, *text = strdup(prom->data), *save;

    assert_non_null(text);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *end = strrchr(line, ' ');
        if (*line == '#')
            continue;
        assert_non_null(end);
        *end = 0;
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            series = realloc(series, cap * sizeof *series);
            assert_non_null(series);
        }
        for (size_t i = 0; i < n; i++)
            if (strcmp(series[i], line) == 0)
                fail_msg("twice: %s", line);
        series[n++] = line;
    }
    free(series);
    free(text);
}

static void named(struct fake *f, const char *ident, uint16_t number)
{
    fake_row(f, 3, "db", ident, 10, 100)->ident_n = number;
}

/* The names of requests may be the words of kprof-top, or look the same when they are safe. */
static void no_series_is_there_twice(void **state)
{
    static const char *const kept[] = {"undefined",
                                       "<other>",
                                       "\\\"undefined\\\"",
                                       "\\\"<other>\\\"",
                                       "\\\"\\\"",
                                       "a\xef\xbf\xbd"
                                       "b"};
    char line[160];
    (void)state;
    struct fake *f = fake_new();
    fake_row(f, 3, "db", NULL, 6112, 2475);
    named(f, "a\2b", 9);
    named(f, "undefined", 7);
    named(f, "undefined", 0);
    named(f, "<other>", 1);
    named(f, "<other>", 5);
    named(f, "", 4);
    named(f, "a\1b", 8);
    named(f, "a\1b #9", 10);
    named(f, "\"undefined\"", 11);
    named(f, "\"undefined\"", 12);
    struct buf prom = write_as(fake_snap(f), EXPORT_PROM, true);
    expect_unique(&prom);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        snprintf(line, sizeof line, "{node=\"app@host\",tier=\"db\",identity=\"%s\"} ", kept[i]);
        assert_non_null(strstr(prom.data, line));
    }
    buf_release(&prom);
    fake_free(f);
    f = fake_hostile();
    prom = write_as(fake_snap(f), EXPORT_PROM, true);
    expect_unique(&prom);
    buf_release(&prom);
    fake_free(f);
    f = everything();
    prom = write_as(fake_snap(f), EXPORT_PROM, true);
    expect_unique(&prom);
    buf_release(&prom);
    fake_free(f);
}

static void parts_agree(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    fake_row(f, 3, "db", NULL, 6112, 2475);
    struct fake_parts *given = fake_parts_give(fake_snap(f));
    struct snapshot *s = fake_snap(f);
    struct buf json = write_as(s, EXPORT_JSON, true), csv = write_as(s, EXPORT_CSV, true),
               prom = write_as(s, EXPORT_PROM, true);
    const char *p = strstr(json.data, "\"parts\":{");
    assert_non_null(p);
    is_one_json_line(&json);
    assert_true(csv_number(&csv, "parts_calls") == (double)s->rows[0].parts->calls);
    for (int part = 0; part < PART_COUNT; part++) {
        const char *name = part_field_key((enum time_part)part);
        char key[80];
        snprintf(key, sizeof key, "\"%s\":{", name);
        p = strstr(p, key);
        assert_non_null(p);
        for (size_t i = 0; i < PART_FIELDS; i++) {
            const struct part_field *k = &part_fields[i];
            snprintf(key, sizeof key, "\"%s\":", k->key);
            const char *at = strstr(p, key);
            assert_non_null(at);
            double v = strtod(at + strlen(key), NULL), scale = k->decimals == 3 ? 1e6 : 1;
            snprintf(key, sizeof key, "%s_%s", name, k->key);
            assert_true(fabs(csv_number(&csv, key) - v) < 1e-9);
            assert_true(fabs(prom_number(&prom, k->metric, name) * scale - v) < 1e-3);
        }
    }
    buf_release(&json);
    buf_release(&csv);
    buf_release(&prom);
    fake_parts_free(given);
    fake_free(f);
}

/* As many pieces as core stores for a request: the JSON has all of them. */
static void all_pieces_are_written(void **state)
{
    enum { PIECES = 1024 };
    struct fake *f = fake_new();
    struct slow_trace_request *r;
    struct time_part_piece *piece = calloc(PIECES, sizeof *piece), *given;
    size_t n = 0;

    (void)state;
    assert_non_null(piece);
    fake_row(f, 3, "db", NULL, 6112, 2475);
    fake_events(f, 1, 0, 0);
    struct fake_parts *parts = fake_parts_give(fake_snap(f));
    r = (struct slow_trace_request *)(uintptr_t)fake_snap(f)->slow_traces[0].request;
    given = r->piece;
    uint32_t had = r->n_pieces;
    for (uint32_t i = 0; i < PIECES; i++)
        piece[i] = (struct time_part_piece){
            .from_ns = r->start_ns + i, .to_ns = r->start_ns + i + 1, .part = PART_RUN};
    r->piece = piece;
    r->n_pieces = PIECES;
    struct buf b = write_as(fake_snap(f), EXPORT_JSON, true);
    is_one_json_line(&b);
    for (const char *at = strstr(b.data, "\"pieces\""); (at = strstr(at, "{\"part\":")); at++)
        n++;
    assert_int_equal(n, PIECES);
    r->piece = given;
    r->n_pieces = had;
    free(piece);
    buf_release(&b);
    fake_parts_free(parts);
    fake_free(f);
}

static void sampled_counts_are_estimates(void **state)
{
    struct fake *f = fake_new();
    fake_row(f, 3, "db", NULL, 100, 2475)->est_count = 400;
    fake_snap(f)->sample = 4;
    struct buf b = write_as(fake_snap(f), EXPORT_HLOG, true);

    (void)state;
    assert_non_null(
        strstr(b.data, "#[One request in 4 was traced; counts are estimates for all calls]\n"));
    buf_release(&b);
    fake_free(f);
}

/* The text has the estimated value first, with ~ if it differs from the traced one. */
static void count_and_estimate(char (*cell)[FIELD_CELL_BYTES])
{
    bool marked = cell[0][0] == '~';
    char seen[FIELD_CELL_BYTES];

    assert_string_equal(fields[0].key, "count");
    assert_string_equal(fields[1].key, "est_count");
    memcpy(seen, cell[1], sizeof seen);
    memcpy(cell[1], cell[0] + marked, sizeof seen - marked);
    memcpy(cell[0], seen, sizeof seen);
    assert_true(marked == (strcmp(cell[0], cell[1]) != 0));
}

/* The values are the last words of a line of the table. */
static void figures_of_text(const struct buf *b, struct figures *f)
{
    const char *line = strstr(b->data, "tier / identity");
    assert_non_null(line);
    line = strchr(line, '\n') + 1;
    for (f->n = 0; strncmp(line, "times in", 8) != 0; f->n++) {
        const char *p = strchr(line, '\n'), *next = p + 1;
        for (size_t c = FIELDS; c-- > 0;) {
            const char *end = p;
            while (p > line && p[-1] != ' ')
                p--;
            snprintf(f->cell[f->n][c], FIELD_CELL_BYTES, "%.*s", (int)(end - p), p);
            while (p > line && p[-1] == ' ')
                p--;
        }
        count_and_estimate(f->cell[f->n]);
        line = next;
    }
}

static void agree(const struct snapshot *s)
{
    static struct figures text, json, csv;
    struct buf t = write_as(s, EXPORT_TEXT, true), j = write_as(s, EXPORT_JSON, true),
               v = write_as(s, EXPORT_CSV, true);
    figures_of_text(&t, &text);
    figures_of_json(&j, &json);
    figures_of_csv(&v, &csv);
    assert_int_equal(text.n, s->n_rows);
    assert_int_equal(json.n, s->n_rows);
    assert_int_equal(csv.n, s->n_rows);
    for (size_t r = 0; r < s->n_rows; r++) {
        for (size_t c = 0; c < FIELDS; c++) {
            const char *in_json = json.cell[r][c], *in_csv = csv.cell[r][c],
                       *in_text = text.cell[r][c];
            double exact = strtod(in_csv, NULL), shown = strtod(in_text, NULL), off = 0.0506;
            if (*in_text == '~') { /* errors, for example */
                shown = strtod(in_text + 1, NULL);
                exact = (double)snapshot_estimate(&s->rows[r], (uint64_t)exact);
            }
            off += fabs(exact) * 2 * DBL_EPSILON; /* both were parsed from decimal text */
            if (fields[c].kind == FIELD_COUNT || strcmp(in_text, "-") == 0)
                off = 0;
            if (fields[c].kind == FIELD_SHARE) {
                off = 1e-9;
                shown /= 100;
            }
            if (strcmp(in_json, in_csv) != 0 || fabs(exact - shown) > off)
                fail_msg("row %zu %s: json %s, csv %s, text %s", r, fields[c].key, in_json, in_csv,
                         in_text);
        }
    }
    buf_release(&t);
    buf_release(&j);
    buf_release(&v);
}

static void agreement(void **state)
{
    (void)state;
    rng_seed();
    for (int round = 0; round < 50; round++) {
        struct fake *f = fake_new();
        for (size_t i = 0; i < 60; i++) {
            struct snap_row *r =
                fake_row(f, (unsigned)(i / 10), "some tier", i % 10 ? "an identity" : NULL,
                         rng_below(4) ? rng() >> rng_below(60) : 0, 0);
            for (size_t c = 0; c < FIELDS; c++) {
                double v = (double)(rng() >> (11 + rng_below(40))) / 1000.0;
                uint64_t n = rng() >> rng_below(64);
                if (fields[c].kind == FIELD_SHARE)
                    v = (double)rng_below(10001) / 10000;
                if (r->count == 0) /* core's values for a row without calls */
                    v = 0;
                if (fields[c].kind == FIELD_COUNT && c > 0)
                    memcpy((char *)r + fields[c].offset, &n, sizeof n);
                else if (c > 0)
                    memcpy((char *)r + fields[c].offset, &v, sizeof v);
            }
        }
        agree(fake_snap(f));
        fake_free(f);
    }
}

/* Each format shows that a value is missing. */
static void no_numbers(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    struct snap_row *r = fake_row(f, 0, "t", NULL, 5, 1);
    r->p50_us = NAN;
    r->max_us = INFINITY;
    r->rate = NAN;
    struct snapshot *s = fake_snap(f);
    struct buf t = write_as(s, EXPORT_TEXT, true), j = write_as(s, EXPORT_JSON, true),
               v = write_as(s, EXPORT_CSV, true);
    is_one_json_line(&j);
    assert_non_null(strstr(j.data, "\"p50_us\":null"));
    assert_non_null(strstr(j.data, "\"max_us\":null"));
    assert_null(strstr(t.data, "nan"));
    assert_null(strstr(t.data, "inf"));
    assert_null(strstr(v.data, "nan"));
    assert_null(strstr(v.data, "inf"));
    buf_release(&t);
    buf_release(&j);
    buf_release(&v);
    fake_free(f);
}

static bool said(const struct snapshot *s, enum export_format f, const char *what)
{
    struct buf b = write_as(s, f, true);
    bool there = strstr(b.data, what) != NULL;
    buf_release(&b);
    return there;
}

/* With sampling, the values beside the rate are estimates for all calls, with ~; formats for
 * programs have both. */
static void scaled_counts_are_marked(void **state)
{
    (void)state;
    struct fake *f = fake_new();
    struct snap_row *r = fake_row(f, 0, "web", NULL, 123, 500);
    assert_true(said(fake_snap(f), EXPORT_TEXT, "  count  seen  counted  "));
    assert_true(said(fake_snap(f), EXPORT_TEXT, "    123   123  "));
    r->est_count = 984;
    assert_true(said(fake_snap(f), EXPORT_TEXT, "   ~984   123  "));
    assert_true(said(fake_snap(f), EXPORT_JSON, "\"count\":123,\"est_count\":984"));
    r->errors = 5;
    r->late = 2;
    assert_true(said(fake_snap(f), EXPORT_TEXT, "  ~40  ")); /* 5 of 123 calls, as 40 of 984 */
    assert_true(said(fake_snap(f), EXPORT_TEXT, "  ~16  "));
    assert_true(said(fake_snap(f), EXPORT_JSON, "\"errors\":5,"));
    assert_true(said(fake_snap(f), EXPORT_CSV, ",123,984,"));
    fake_free(f);
}

static void csv_header_once(void **state)
{
    (void)state;
    struct fake *f = fake_standard(0);
    struct buf a = write_as(fake_snap(f), EXPORT_CSV, true),
               b = write_as(fake_snap(f), EXPORT_CSV, false);
    assert_int_equal(strncmp(a.data, "at,node,", 8), 0);
    const char *rest = strchr(a.data, '\n') + 1;
    assert_string_equal(rest, b.data);
    buf_release(&a);
    buf_release(&b);
    fake_free(f);
}

/* If the sums of events differ, which is a bug, the text must not say that they are equal. */
static void broken_conservation_shows(void **state)
{
    (void)state;
    struct fake *f = fake_standard(0);
    struct snapshot *s = fake_snap(f);
    struct buf t = write_as(s, EXPORT_TEXT, true);
    assert_null(strstr(t.data, "!="));
    buf_release(&t);
    s->calls.received++;
    t = write_as(s, EXPORT_TEXT, true);
    assert_non_null(strstr(t.data, "!= aggregated"));
    buf_release(&t);
    fake_free(f);
}

/* Every format must show these. */
static void gaps_and_reloads_are_in_all(void **state)
{
    static const struct {
        enum export_format format;
        const char *gap, *reload;
    } all[] = {{EXPORT_TEXT, "overload 2.5 s", "loaded again: MyApp.Repo"},
               {EXPORT_JSON, "\"reason\":\"overload\"", "\"reloaded\":\"MyApp.Repo\""},
               {EXPORT_CSV, ",3.750,4.500,0.800,overload,\"MyApp.Repo\",total,", ",reloaded,"},
               {EXPORT_PROM, "kprof_gap_seconds{node=", "kprof_reloads{node="},
               {EXPORT_HLOG, "#[Nothing was traced for 3.750 s of the interval: overload]\n",
                "#[Loaded again: MyApp.Repo]\n"}};
    (void)state;
    struct fake *f = everything();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct buf b = write_as(fake_snap(f), all[i].format, true);
        if (!strstr(b.data, all[i].gap) || !strstr(b.data, all[i].reload))
            fail_msg("format %d: %s", all[i].format, b.data);
        buf_release(&b);
    }
    fake_free(f);
}

/* The output has the chosen window length, and the chosen slow calls. */
static void what_was_chosen_is_told(void **state)
{
    (void)state;
    struct fake *f = fake_standard(6);
    struct snapshot *s = fake_snap(f);
    struct slow_filter all = {.text = ""}, then = {.text = "db"};
    s->slow_ns = 20000000;
    s->window_s = 2700;
    s->time.asked_s = 2700;
    struct buf b = write_as(s, EXPORT_TEXT, true);
    assert_non_null(strstr(b.data, "window 2700.0 s (45m00s)\n"));
    buf_clear(&b);
    export_slow(&b, s, &all);
    assert_non_null(strstr(b.data, "of 20000.0 us or longer; times in microseconds\n"));
    then.from_ns = snapshot_wall_ns(s, 3990);
    then.to_ns = snapshot_wall_ns(s, 3991);
    buf_clear(&b);
    export_slow(&b, s, &then);
    assert_non_null(strstr(b.data, ", containing \"db\", ended after 2026-11-21T03:03:55.000Z to "
                                   "2026-11-21T03:03:56.000Z; times in microseconds\n"));
    /* an earlier time range is not of now */
    s->time.history = true;
    s->time.from_s = 3000;
    s->time.to_s = 3900;
    buf_release(&b);
    b = write_as(s, EXPORT_JSON, true);
    assert_non_null(strstr(
        b.data,
        "\"range\":{\"from\":\"2026-11-21T02:47:25.000Z\",\"to\":\"2026-11-21T03:02:25.000Z\"}"));
    buf_release(&b);
    b = write_as(s, EXPORT_CSV, true);
    assert_non_null(strstr(b.data, "\n2026-11-21T03:02:25.000Z,"));
    buf_release(&b);
    fake_free(f);
}

static size_t lines_from(const struct buf *b, const char *heading)
{
    const char *at = strstr(b->data, heading);
    assert_non_null(at);
    size_t n = 0;
    for (; *at; at++)
        n += *at == '\n';
    return n;
}

/* The table has a line for each of the slowest, not for all that are stored. */
static void a_view_has_the_slowest(void **state)
{
    (void)state;
    struct fake *f = fake_standard(0);
    for (int i = 0; i < 64; i++) /* 37 and 64 have no common factor, so each value occurs once */
        fake_slow(f, "db", "read", 1000.0, 5)->request_us = 1000.0 + i * 37 % 64;
    struct snapshot *s = fake_snap(f);
    struct buf b;
    buf_init(&b, 0);
    export_view(&b, s);
    assert_non_null(strstr(b.data, "accounting"));
    assert_int_equal(lines_from(&b, "slow requests: 64, the 20 slowest\n"), 21);
    const char *at = b.data;
    for (int i = 63; i > 43; i--) { /* the slowest first */
        char figure[40];
        snprintf(figure, sizeof figure, "  read  %.1f  ", 1000.0 + i);
        at = strstr(at, figure);
        if (!at)
            fail_msg("no %s at its place in:\n%s", figure, b.data);
    }
    assert_null(strstr(b.data, "\nlog, newest"));
    fake_free(f);
    f = fake_standard(3);
    buf_clear(&b);
    export_view(&b, fake_snap(f));
    lines_from(&b, "slow requests: 3, the slowest first\n");
    buf_release(&b);
    fake_free(f);
}

static void format_names(void **state)
{
    (void)state;
    assert_int_equal(export_format_parse("text"), EXPORT_TEXT);
    assert_int_equal(export_format_parse("json"), EXPORT_JSON);
    assert_int_equal(export_format_parse("csv"), EXPORT_CSV);
    assert_int_equal(export_format_parse("prom"), EXPORT_PROM);
    assert_int_equal(export_format_parse("hlog"), EXPORT_HLOG);
    assert_int_equal(export_format_of_file("a.b/x.hlog"), EXPORT_HLOG);
    assert_int_equal(export_format_of_file("x.txt"), EXPORT_TEXT);
    assert_int_equal(export_format_of_file("json"), EXPORT_TEXT);
    assert_int_equal(export_format_of_file("a.json/report"), EXPORT_TEXT);
    assert_int_equal(export_format_of_file("x.html"), -1);
    assert_int_equal(export_format_of_file("x.txt.gz"), -1);
    assert_int_equal(export_format_of_file("x."), -1);
    char ends[100], name[20];
    snprintf(ends, sizeof ends, "%s", export_endings());
    bool has[EXPORT_HLOG + 1] = {false};
    for (char *w = strtok(ends, " "); w; w = strtok(NULL, " ")) { /* each format has one */
        snprintf(name, sizeof name, "x%s", w);
        assert_in_range(export_format_of_file(name), 0, EXPORT_HLOG);
        has[export_format_of_file(name)] = true;
    }
    for (size_t i = 0; i <= EXPORT_HLOG; i++)
        assert_true(has[i]);
    assert_int_equal(export_format_parse("CSV"), -1);
    assert_int_equal(export_format_parse(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens),
        cmocka_unit_test(goldens_with_parts),
        cmocka_unit_test(prom_counters_have_all_digits),
        cmocka_unit_test(no_series_is_there_twice),
        cmocka_unit_test(parts_agree),
        cmocka_unit_test(all_pieces_are_written),
        cmocka_unit_test(sampled_counts_are_estimates),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(json_contract),
        cmocka_unit_test(agreement),
        cmocka_unit_test(no_numbers),
        cmocka_unit_test(scaled_counts_are_marked),
        cmocka_unit_test(csv_header_once),
        cmocka_unit_test(broken_conservation_shows),
        cmocka_unit_test(gaps_and_reloads_are_in_all),
        cmocka_unit_test(what_was_chosen_is_told),
        cmocka_unit_test(a_view_has_the_slowest),
        cmocka_unit_test(format_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
