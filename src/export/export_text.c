#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <kprof/core/call_parts.h>
#include <kprof/core/why.h>
#include <kprof/export/export.h>
#include <kprof/export/field.h>
#include <kprof/export/part_field.h>
#include <kprof/export/writers.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLS_MAX 48 /* longer names are cut, so that the values stay in sight */
#define NOTE_COLS_MAX 300
#define EVENTS_MAX    20
#define SLOW_LINES    5 /* without --slow-details */
#define GAP           "  "

static void safe(struct buf *out, const char *s, size_t max_cols)
{
    text_safe(out, s, strlen(s), max_cols, false);
}

/* ---- header ---- */

static void overhead(struct buf *out, const struct snap_cost *k)
{
    if (!k->known)
        return;
    buf_addf(out, "overhead  %.2f %% of the node's scheduler time", k->percent);
    if (k->limit_percent > 0)
        buf_addf(out, GAP "limit %.2f %%", k->limit_percent);
    buf_addf(out, GAP "%.0f ns per traced call, %s\n", k->call_ns,
             k->assumed ? "assumed" : "measured on the node");
}

/* The window ends before now. */
static void time_range(struct buf *out, const struct snapshot *s)
{
    char from[40], to[40];

    clock_format_wall(snapshot_wall_ns(s, s->time.from_s), from, sizeof from);
    clock_format_wall(snapshot_wall_ns(s, s->time.to_s), to, sizeof to);
    buf_addf(out, "range     %s to %s\n", from, to);
}

static void session(struct buf *out, const struct snapshot *s)
{
    char at[40], length[16];
    clock_format_ns(s->time.asked_s * CLOCK_SEC_NS, length, sizeof length);
    clock_format_wall(s->wall_ns, at, sizeof at);
    buf_adds(out, "node      ");
    safe(out, s->node.name[0] ? s->node.name : "-", 0);
    buf_adds(out, GAP "otp ");
    safe(out, s->node.otp[0] ? s->node.otp : "-", 0);
    buf_adds(out, GAP "transport ");
    safe(out, s->node.transport[0] ? s->node.transport : "-", 0);
    if (s->node.tls[0])
        buf_addf(out, GAP "tls %s", s->node.tls);
    buf_addf(out, GAP "returns %s\n", s->lean ? "lean" : "full");
    buf_addf(out, "time      %s" GAP "elapsed %.1f s" GAP "window %.1f s (%s)%s\n", at,
             s->elapsed_s, s->window_s, s->time.asked_s ? length : window_name(s->window),
             s->final ? GAP "final: the whole run" : "");
    if (s->time.history)
        time_range(out, s);
    buf_addf(out, "tracing   %s" GAP "sample 1/%" PRIu32, s->node.tracing ? "on" : "off",
             s->sample);
    if (s->sample_why)
        buf_addf(out, " (requested 1/%" PRIu32 ": %s)", s->sample_asked,
                 sample_why_name(s->sample_why));
    buf_addch(out, '\n');
    overhead(out, &s->cost);
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

/* Time without tracing: values and rates cover the rest of the window. */
static void gaps(struct buf *out, const struct snapshot *s)
{
    if (s->n_gaps == 0)
        return;
    buf_addf(out, "gaps      %.1f s of the window without tracing", s->gap_s);
    for (size_t i = 0; i < s->n_gaps; i++) {
        const struct snap_gap *g = &s->gaps[i];
        buf_addf(out, "%s%s %.1f s", i ? ", " : ": ", gap_name(g->reason), g->from_s - g->to_s);
        if (g->to_s > 0)
            buf_addf(out, " until %.1f s ago", g->to_s);
    }
    buf_addch(out, '\n');
}

static void marks(struct buf *out, const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_marks; i++) {
        char at[40];
        clock_format_wall(s->marks[i].wall_ns, at, sizeof at);
        buf_addf(out, "mark      %s" GAP "loaded again: ", at);
        safe(out, s->marks[i].module, NAME_COLS_MAX);
        buf_addch(out, '\n');
    }
}

static void anomalies(struct buf *out, const struct snapshot *s)
{
    const struct {
        const char *name;
        uint64_t n;
    } all[] = {{"identities in (other)", s->anomalies.identities_folded},
               {"processes not followed", s->anomalies.pids_full},
               {"requests not followed", s->anomalies.requests_full},
               {"bad events", s->anomalies.bad_events},
               {"late", s->anomalies.late},
               {"returns without a call", s->anomalies.orphan_returns}};
    bool any = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].n == 0)
            continue;
        buf_addf(out, "%s%s %" PRIu64, any ? GAP : "anomalies ", all[i].name, all[i].n);
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
    buf_addf(out, "lost      node %" PRIu64 GAP "ring %" PRIu64 "\n", s->lost.target, s->lost.ring);
    buf_addf(out,
             "requests  started %" PRIu64 GAP "finished %" PRIu64 GAP "open %" PRIu64 GAP
             "expired %" PRIu64 "\n",
             s->requests.started, s->requests.finished, s->requests.open, s->requests.expired);
    anomalies(out, s);
}

/* ---- table ---- */

static const char *row_name(const struct snap_row *r, size_t *indent)
{
    *indent = r->ident ? 2 : 0;
    if (r->ident)
        return r->ident[0] ? snapshot_name(r->ident)
                           : "\"\""; /* an empty name would be invisible */
    return r->tier_name;
}

struct widths {
    size_t name, cell[FIELDS]; /* 0: not shown */
};

static struct widths measure(const struct snapshot *s)
{
    struct widths w = {.name = strlen("tier / identity")};
    bool waits = false;
    for (size_t i = 0; i < s->n_rows; i++)
        waits |= s->rows[i].waits > 0;
    for (size_t c = 0; c < FIELDS; c++)
        w.cell[c] = field_is_of_mailbox(&fields[c]) && !waits ? 0 : strlen(fields[c].title);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t indent;
        const char *name = row_name(&s->rows[i], &indent);
        size_t cols = text_width(name, strlen(name));
        cols = indent + (cols < NAME_COLS_MAX ? cols : NAME_COLS_MAX);
        w.name = cols > w.name ? cols : w.name;
        for (size_t c = 0; c < FIELDS; c++) {
            char cell[FIELD_CELL_BYTES];
            field_text(&fields[c], &s->rows[i], cell);
            w.cell[c] = w.cell[c] && strlen(cell) > w.cell[c] ? strlen(cell) : w.cell[c];
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
        if (w->cell[c])
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
        if (w.cell[c])
            buf_addf(out, GAP "%*s", (int)w.cell[c], fields[c].title);
    buf_adds(out, "\n");
    for (size_t i = 0; i < s->n_rows; i++)
        row(out, &s->rows[i], &w);
    buf_adds(out, "times in microseconds\n");
    if (s->counted_s > 0)
        buf_addf(
            out,
            "counted: for %.1f s of this window calls were only counted (the breaker was open). "
            "rate includes them, the\nother values do not\n",
            s->counted_s);
}

/* ---- findings ---- */

/* The rules that lack `m`. */
static void not_known(struct buf *out, const struct snap_why *w, enum snap_missing m)
{
    bool any = false;
    const struct why_rule_text *r;

    for (size_t i = 0; (r = why_rule(i)); i++) {
        if (why_missing(w, i) != m)
            continue;
        buf_addf(out, "%s%s%s", any ? "" : why_missing_text(m, false).s, any ? ", " : ": ",
                 r->covers);
        any = true;
    }
    if (any)
        buf_addch(out, '\n');
}

static void findings(struct buf *out, const struct snapshot *s)
{
    if (!s->why.there)
        return;
    buf_addf(out, "\nfindings: %zu\n", s->why.n);
    for (size_t i = 0; i < s->why.n; i++) {
        const struct snap_finding *w = &s->why.of[i];
        buf_addf(out, "%.2f" GAP "%s" GAP, w->score, w->rule);
        safe(out, w->text, 0);
        buf_addch(out, '\n');
    }
    for (unsigned m = 0; m < MISSING_COUNT; m++)
        not_known(out, &s->why, (enum snap_missing)m);
}

/* ---- parts of the time ---- */

/* The parts above 0, in their order. */
static void part_shares(struct buf *out, const double share[PART_COUNT])
{
    const char *comma = "";
    for (int p = 0; p < PART_COUNT; p++) {
        if (share[p] <= 0)
            continue;
        buf_addf(out, "%s %s %.1f%%", comma, time_part_name((enum time_part)p), 100 * share[p]);
        comma = ",";
    }
}

/* One line for each row that has parts. */
static void parts(struct buf *out, const struct snapshot *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        const struct time_part_view *v = r->parts;
        size_t indent;
        const char *name = row_name(r, &indent);
        if (!v)
            continue;
        if (!any)
            buf_adds(out, "\nparts of the time of requests that were followed in detail\n");
        any = true;
        buf_addf(out, "%*s", (int)indent, "");
        safe(out, name, NAME_COLS_MAX);
        buf_addf(out, GAP "calls %" PRIu64 GAP "mean %.1f:", v->calls, part_field_mean(v));
        part_shares(out, v->share);
        buf_addf(out, "; slowest 1 %%, from %.1f:", v->slow_from_us);
        part_shares(out, v->slow_share);
        buf_addch(out, '\n');
    }
}

/* ---- slow requests, log ---- */

static void process(struct buf *out, uint64_t pid, const char *who)
{
    char text[FIELD_CELL_BYTES];
    snapshot_pid(pid, text);
    buf_adds(out, text);
    if (who) {
        buf_addch(out, ' ');
        safe(out, who, NAME_COLS_MAX);
    }
}

/* One line: identity, duration, the tier with the most self time, process. */
static void slow_line(struct buf *out, const struct snap_slow *w)
{
    const struct snap_slow_sum *most = slow_most(w);
    char at[40];
    clock_format_wall(w->wall_ns, at, sizeof at);
    buf_addf(out, "%s" GAP, at);
    safe(out, snapshot_name(w->ident ? w->ident : "undefined"), NAME_COLS_MAX);
    buf_addf(out, GAP "%.1f" GAP, slow_took_us(w));
    safe(out, slow_tier(w), NAME_COLS_MAX);
    if (most && w->request_us > 0)
        buf_addf(out, " self %.1f (%.0f %%)", most->self_us, 100 * most->self_us / w->request_us);
    buf_adds(out, GAP);
    process(out, slow_pid(w), slow_who(w));
    buf_adds(out, w->exit ? GAP "error: exit\n" : w->error ? GAP "error\n" : "\n");
}

/* The `most` slowest, at most EXPORT_SLOWEST. */
static void slow_lines(struct buf *out, const struct snapshot *s, size_t most)
{
    const struct snap_slow *top[EXPORT_SLOWEST + 1];
    size_t n = 0;

    for (size_t i = 0; i < s->n_slow; i++) {
        size_t k = n;
        for (; k > 0 && slow_took_us(top[k - 1]) < slow_took_us(&s->slow[i]); k--)
            top[k] = top[k - 1];
        top[k] = &s->slow[i];
        n += n < most;
    }
    buf_addf(out, "\nslow requests: %zu", s->n_slow);
    buf_addf(out, s->n_slow > n ? ", the %zu slowest\n" : ", the slowest first\n", n);
    for (size_t i = 0; i < n; i++)
        slow_line(out, top[i]);
}

/* Slow calls of tiers other than that of the longest one. */
static void slow_others(struct buf *out, const struct snap_slow *w)
{
    for (size_t i = 0; i < w->n_calls; i++) {
        const struct snap_slow_call *f = &w->calls[i];
        if (f->tier_name == w->tier_name || strcmp(f->tier_name, w->tier_name) == 0)
            continue;
        buf_addf(out, "    slow %.1f" GAP "calls %" PRIu32 GAP, f->duration_us, f->calls);
        safe(out, f->tier_name, NAME_COLS_MAX);
        buf_adds(out, GAP);
        process(out, f->pid, NULL);
        if (f->args) {
            buf_adds(out, GAP "args ");
            safe(out, f->args, NOTE_COLS_MAX);
        }
        buf_adds(out, f->error ? GAP "error\n" : "\n");
    }
}

/* The parts of the first call, which is the whole request. */
static void slow_parts(struct buf *out, const struct snapshot *s, const struct snap_slow *w)
{
    struct time_parts sum = {.ns = {0}};
    uint64_t all = 0;
    for (size_t i = 0; i < s->n_slow_traces; i++)
        if (w->trace && s->slow_traces[i].request->id == w->trace)
            call_parts_sum(s->slow_traces[i].request, 0, &sum);
    for (int p = 0; p < PART_COUNT; p++)
        all += sum.ns[p];
    if (all == 0)
        return;
    buf_adds(out, "    parts");
    const char *gap = "  ";
    for (int p = 0; p < PART_COUNT; p++) {
        if (sum.ns[p] == 0)
            continue;
        buf_addf(out, "%s%s %.1f", gap, time_part_name((enum time_part)p), (double)sum.ns[p] / 1e3);
        gap = ", ";
    }
    buf_addch(out, '\n');
}

static void slow_details(struct buf *out, const struct snapshot *s, const struct snap_slow *w)
{
    char at[40], pid[FIELD_CELL_BYTES];
    clock_format_wall(w->wall_ns, at, sizeof at);
    buf_addf(out, "%s" GAP, at);
    safe(out, w->tier_name, NAME_COLS_MAX);
    buf_adds(out, GAP);
    safe(out, snapshot_name(w->ident ? w->ident : "undefined"), NAME_COLS_MAX);
    buf_addf(out, GAP "%.1f", w->duration_us);
    if (w->request_us > 0)
        buf_addf(out, " of %.1f", w->request_us);
    buf_addf(out, GAP "request %" PRIu64 GAP, w->request);
    process(out, w->pid, w->who);
    buf_adds(out, w->exit ? GAP "error: exit\n" : w->error ? GAP "error\n" : "\n");
    if (w->args) {
        buf_adds(out, "    args ");
        safe(out, w->args, NOTE_COLS_MAX);
        buf_addch(out, '\n');
    }
    slow_others(out, w);
    slow_parts(out, s, w);
    for (size_t i = 0; i < w->n_sums; i++) {
        const struct snap_slow_sum *t = &w->sums[i];
        buf_addf(out, "    sum %.1f" GAP "self %.1f" GAP "calls %" PRIu32 GAP, t->sum_us,
                 t->self_us, t->calls);
        safe(out, t->name, NAME_COLS_MAX);
        buf_addch(out, '\n');
    }
    for (size_t i = 0; i < w->n_places; i++) {
        const struct snap_place *p = &w->places[i];
        buf_addf(out, "    hung %.0f%%" GAP "%s" GAP, p->share * 100, p->status);
        safe(out, p->text, NAME_COLS_MAX);
        buf_addch(out, '\n');
    }
    for (size_t i = 0; i < w->n_tiers; i++) {
        const struct snap_slow_tier *t = &w->tiers[i];
        snapshot_pid(t->pid, pid);
        buf_addf(out, "    at %" PRIu64 GAP "for %" PRIu64 GAP "self %" PRIu64 GAP, t->start_us,
                 t->duration_us, t->self_us);
        if (t->mailbox_known)
            buf_addf(out, "mbox %" PRIu32 GAP, t->mailbox_us);
        safe(out, t->name, NAME_COLS_MAX);
        buf_addf(out, GAP "%s%s\n", pid, t->error ? GAP "error" : "");
    }
}

static void slow_all(struct buf *out, const struct snapshot *s, const struct slow_filter *f)
{
    for (size_t i = 0; i < s->n_slow; i++)
        if (!f || slow_matches(f, &s->slow[i]))
            slow_details(out, s, &s->slow[i]);
}

static void slow_time(struct buf *out, const struct slow_filter *f)
{
    char at[40];
    if (f->from_ns) {
        clock_format_wall(f->from_ns, at, sizeof at);
        buf_addf(out, ", ended after %s", at);
    }
    if (f->to_ns) {
        clock_format_wall(f->to_ns, at, sizeof at);
        buf_addf(out, "%s %s", f->from_ns ? " to" : ", ended before", at);
    }
}

void export_text_slow(struct buf *out, const struct snapshot *s, const struct slow_filter *f)
{
    session(out, s);
    buf_addf(out, "\nslow requests, newest first, with calls of %.1f us or longer",
             (double)s->slow_ns / 1e3);
    if (f->text[0]) {
        buf_adds(out, ", containing \"");
        safe(out, f->text, NAME_COLS_MAX);
        buf_adds(out, "\"");
    }
    slow_time(out, f);
    buf_adds(out, "; times in microseconds\n");
    slow_all(out, s, f);
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

/* The VM events of the window that are not in the lines above. */
static void vm_events(struct buf *out, const struct snapshot *s)
{
    const char *label = "events    ";

    for (size_t i = 0, n = 0; i < s->vm.n && n < EVENTS_MAX; i++) {
        const struct snap_vm_event *e = &s->vm.of[i];
        char at[40], text[VM_EVENT_TEXT_BYTES];
        if (e->kind == VM_EVENT_GAP || e->kind == VM_EVENT_BREAKER || e->kind == VM_EVENT_LOADED ||
            !snapshot_vm_in_window(s, e))
            continue;
        clock_format_wall(e->wall_ns, at, sizeof at);
        vm_event_text(e, text);
        buf_addf(out, "%s%s" GAP, label, at);
        safe(out, text, 0);
        buf_addch(out, '\n');
        label = "          ";
        n++;
    }
    if (s->vm.lost)
        buf_addf(out, "%s%" PRIu64 " more were not reported\n", label, s->vm.lost);
}

static void view(struct buf *out, const struct snapshot *s)
{
    session(out, s);
    counters(out, s);
    gaps(out, s);
    marks(out, s);
    vm_events(out, s);
    buf_addch(out, '\n');
    table(out, s);
    parts(out, s);
    findings(out, s);
    export_change(out, s);
}

void export_text_view(struct buf *out, const struct snapshot *s)
{
    view(out, s);
    if (s->n_slow > 0)
        slow_lines(out, s, EXPORT_SLOWEST);
}

void export_text(struct buf *out, const struct snapshot *s, bool details)
{
    view(out, s);
    if (s->n_slow > 0 && details) {
        buf_adds(out, "\nslow requests, newest first\n");
        slow_all(out, s, NULL);
    } else if (s->n_slow > 0) {
        slow_lines(out, s, SLOW_LINES);
    }
    if (s->n_log > 0)
        buf_adds(out, "\nlog, newest first\n");
    log_lines(out, s);
    buf_addch(out, '\n');
}
