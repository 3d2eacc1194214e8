#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <kprof/export/field.h>
#include <kprof/export/formats.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLS_MAX 48 /* longer names are cut: the figures must stay in sight */
#define NOTE_COLS_MAX 300
#define GAP           "  "

static void safe(struct buf *out, const char *s, size_t max_cols)
{
    text_safe(out, s, strlen(s), max_cols, false);
}

/* ---- header ---- */

static void session(struct buf *out, const struct snapshot *s)
{
    char at[40];
    clock_format_wall(s->wall_ns, at, sizeof at);
    buf_adds(out, "node      ");
    safe(out, s->node.name[0] ? s->node.name : "-", 0);
    buf_adds(out, GAP "otp ");
    safe(out, s->node.otp[0] ? s->node.otp : "-", 0);
    buf_adds(out, GAP "transport ");
    safe(out, s->node.transport[0] ? s->node.transport : "-", 0);
    buf_addf(out, GAP "returns %s\n", s->lean ? "lean" : "full");
    buf_addf(out, "time      %s" GAP "elapsed %.1f s" GAP "window %.1f s (%s)%s\n", at,
             s->elapsed_s, s->window_s, window_name(s->window),
             s->final ? GAP "final: the whole run" : "");
    buf_addf(out, "tracing   %s" GAP "sample 1/%" PRIu32 "\n", s->node.tracing ? "on" : "off",
             s->sample);
    buf_addf(out, "breaker   %s" GAP "trips %" PRIu64, breaker_name(s->breaker.state),
             s->breaker.trips);
    if (s->breaker.reason[0]) {
        buf_adds(out, GAP "reason: ");
        safe(out, s->breaker.reason, 0);
    }
    if (s->breaker.next_try_s > 0)
        buf_addf(out, GAP "next try in %.1f s", s->breaker.next_try_s);
    buf_addch(out, '\n');
    if (s->node.state[0]) {
        buf_adds(out, "state     ");
        safe(out, s->node.state, 0);
        buf_addch(out, '\n');
    }
}

static void odd(struct buf *out, const struct snapshot *s)
{
    const struct {
        const char *name;
        uint64_t n;
    } all[] = {{"identities folded", s->odd.identities_folded},
               {"processes not followed", s->odd.pids_full},
               {"requests not followed", s->odd.requests_full},
               {"bad events", s->odd.bad_events},
               {"late", s->odd.late},
               {"returns without a call", s->odd.orphan_returns}};
    bool any = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].n == 0)
            continue;
        buf_addf(out, "%s%s %" PRIu64, any ? GAP : "odd       ", all[i].name, all[i].n);
        any = true;
    }
    if (any)
        buf_addch(out, '\n');
}

static void counters(struct buf *out, const struct snapshot *s)
{
    buf_addf(out,
             "calls     received %" PRIu64 " %s aggregated %" PRIu64 " + open %" PRIu64
             " + expired %" PRIu64 " + unattributed %" PRIu64 "\n",
             s->calls.received, snapshot_conserves(s) ? "=" : "!=", s->calls.aggregated,
             s->calls.open, s->calls.expired, s->calls.unattributed);
    buf_addf(out, "lost      target %" PRIu64 GAP "ring %" PRIu64 "\n", s->lost.target,
             s->lost.ring);
    buf_addf(out,
             "requests  started %" PRIu64 GAP "finished %" PRIu64 GAP "open %" PRIu64 GAP
             "expired %" PRIu64 "\n",
             s->requests.started, s->requests.finished, s->requests.open, s->requests.expired);
    odd(out, s);
}

/* ---- table ---- */

static const char *row_name(const struct snap_row *r, size_t *indent)
{
    *indent = r->ident ? 2 : 0;
    if (r->ident)
        return r->ident[0] ? r->ident : "\"\""; /* a row needs a name to be seen */
    return r->tier_name;
}

struct widths {
    size_t name, cell[FIELDS];
};

static struct widths measure(const struct snapshot *s)
{
    struct widths w = {.name = strlen("tier / identity")};
    for (size_t c = 0; c < FIELDS; c++)
        w.cell[c] = strlen(fields[c].title);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t indent;
        const char *name = row_name(&s->rows[i], &indent);
        size_t cols = text_width(name, strlen(name));
        cols = indent + (cols < NAME_COLS_MAX ? cols : NAME_COLS_MAX);
        w.name = cols > w.name ? cols : w.name;
        for (size_t c = 0; c < FIELDS; c++) {
            char cell[FIELD_CELL_BYTES];
            field_text(&fields[c], &s->rows[i], cell);
            w.cell[c] = strlen(cell) > w.cell[c] ? strlen(cell) : w.cell[c];
        }
    }
    return w;
}

static void row(struct buf *out, const struct snap_row *r, const struct widths *w)
{
    size_t indent;
    const char *name = row_name(r, &indent);
    buf_addf(out, "%*s", (int)indent, "");
    size_t cols = text_safe(out, name, strlen(name), NAME_COLS_MAX, false);
    buf_addf(out, "%*s", (int)(w->name - indent - cols), "");
    for (size_t c = 0; c < FIELDS; c++) {
        char cell[FIELD_CELL_BYTES];
        field_text(&fields[c], r, cell);
        buf_addf(out, GAP "%*s", (int)w->cell[c], cell);
    }
    buf_addch(out, '\n');
    if (r->note) {
        buf_addf(out, "%*s! ", (int)indent + 4, "");
        safe(out, r->note, NOTE_COLS_MAX);
        buf_addch(out, '\n');
    }
}

static void table(struct buf *out, const struct snapshot *s)
{
    struct widths w = measure(s);
    if (s->n_rows == 0) {
        buf_adds(out, "no tiers\n");
        return;
    }
    buf_addf(out, "%-*s", (int)w.name, "tier / identity");
    for (size_t c = 0; c < FIELDS; c++)
        buf_addf(out, GAP "%*s", (int)w.cell[c], fields[c].title);
    buf_adds(out, "\n");
    for (size_t i = 0; i < s->n_rows; i++)
        row(out, &s->rows[i], &w);
    buf_adds(out, "times in microseconds\n");
}

/* ---- slow calls, log ---- */

static void slow_call(struct buf *out, const struct snap_slow *w)
{
    char at[40], pid[FIELD_CELL_BYTES];
    clock_format_wall(w->wall_ns, at, sizeof at);
    field_pid(w->pid, pid);
    buf_addf(out, "%s" GAP, at);
    safe(out, w->tier_name, NAME_COLS_MAX);
    buf_adds(out, GAP);
    safe(out, w->ident ? w->ident : "undefined", NAME_COLS_MAX);
    buf_addf(out, GAP "%.1f", w->duration_us);
    if (w->request_us > 0)
        buf_addf(out, " of %.1f", w->request_us);
    buf_addf(out, GAP "request %" PRIu64 GAP "%s", w->request, pid);
    if (w->who) {
        buf_addch(out, ' ');
        safe(out, w->who, NAME_COLS_MAX);
    }
    buf_adds(out, w->error ? GAP "error\n" : "\n");
    if (w->args) {
        buf_adds(out, "    args ");
        safe(out, w->args, NOTE_COLS_MAX);
        buf_addch(out, '\n');
    }
    for (size_t i = 0; i < w->n_tiers; i++) {
        const struct snap_slow_tier *t = &w->tiers[i];
        field_pid(t->pid, pid);
        buf_addf(out, "    at %" PRIu64 GAP "for %" PRIu64 GAP, t->start_us, t->duration_us);
        safe(out, t->name, NAME_COLS_MAX);
        buf_addf(out, GAP "%s%s\n", pid, t->error ? GAP "error" : "");
    }
}

static void log_lines(struct buf *out, const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_log; i++) {
        char at[40];
        clock_format_wall(s->log[i].wall_ns, at, sizeof at);
        buf_addf(out, "%s" GAP, at);
        safe(out, s->log[i].text, NOTE_COLS_MAX);
        buf_addch(out, '\n');
    }
}

void format_text(struct buf *out, const struct snapshot *s)
{
    session(out, s);
    counters(out, s);
    buf_addch(out, '\n');
    table(out, s);
    if (s->n_slow > 0)
        buf_adds(out, "\nslow calls, newest first\n");
    for (size_t i = 0; i < s->n_slow; i++)
        slow_call(out, &s->slow[i]);
    if (s->n_log > 0)
        buf_adds(out, "\nlog, newest first\n");
    log_lines(out, s);
    buf_addch(out, '\n');
}
