#include "header.h"

#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One figure of the header: a dim label and a value; brief: what is shown where that has no room.
 */
struct chip {
    char label[24], value[300], brief[FORMAT_BYTES];
    enum style style;
};

#define CHIPS 12

/* What the clocks may be wrong by is told when it is more than that. */
#define CLOCK_ERROR_US 50000

struct chips {
    struct chip chip[CHIPS];
    size_t n;
};

__attribute__((format(printf, 4, 5))) static void add(struct chips *l, enum style st,
                                                      const char *label, const char *fmt, ...)
{
    if (l->n == CHIPS) {
        return;
    }
    struct chip *k = &l->chip[l->n++];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(k->value, sizeof k->value, fmt, ap);
    va_end(ap);
    snprintf(k->label, sizeof k->label, "%s", label);
    k->style = st;
}

static int chip_cols(const struct chip *k, const char *value)
{
    int label = (int)strlen(k->label);
    return (label ? label + 1 : 0) + (int)text_width(value, strlen(value));
}

/* Room for chip i, and for what is bad after it? */
static bool fits(const struct chips *l, size_t i, int room)
{
    const struct chip *next = i + 1 < l->n ? &l->chip[i + 1] : NULL;
    int more = next && next->style == STYLE_BAD ? 2 + chip_cols(next, next->value) : 0;
    return chip_cols(&l->chip[i], l->chip[i].value) + more <= room;
}

/* Draws the chips that fit, in their order: one that has no room does not hide those after it. The
 * first is drawn in any case, cut. */
static int draw_chips(struct canvas *c, int row, int col, const struct chips *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct chip *k = &l->chip[i];
        int room = c->cols - col;
        const char *value = k->brief[0] && !fits(l, i, room) ? k->brief : k->value;
        if (i > 0 && chip_cols(k, value) > room) {
            continue;
        }
        if (k->label[0]) {
            col += canvas_text(c, row, col, c->cols - col, STYLE_DIM, k->label) + 1;
        }
        col += canvas_text(c, row, col, c->cols - col, k->style, value) + 2;
    }
    return col;
}

static enum style load_style(double use)
{
    return use >= 0.95 ? STYLE_BAD : use >= 0.8 ? STYLE_WARN : STYLE_NORMAL;
}

static void node_chips(struct chips *l, const struct snapshot *s)
{
    const struct snap_node *n = &s->node;
    char text[FORMAT_BYTES];
    add(l, STYLE_BOLD, "", "%s", n->name[0] ? n->name : "?");
    if (n->scheduler_use >= 0) {
        format_share(n->scheduler_use, text);
        add(l, load_style(n->scheduler_use), "sched", "%s", text);
    }
    add(l, STYLE_NORMAL, "runq", "%u", n->run_queue);
    format_bytes(n->memory_bytes, text);
    add(l, STYLE_NORMAL, "mem", "%s", text);
    add(l, STYLE_NORMAL, "OTP", "%s", n->otp[0] ? n->otp : "?");
    format_uptime(n->uptime_s, text);
    add(l, STYLE_NORMAL, "up", "%s", text);
    format_count(n->processes, text);
    add(l, STYLE_NORMAL, "procs", "%s", text);
}

static double request_rate(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier == TIER_TOTAL && !s->rows[i].ident) {
            return s->rows[i].rate;
        }
    }
    return 0;
}

static void window_chip(struct chips *l, const struct snapshot *s)
{
    double whole = (double)window_ns(s->window) / 1e9;
    char covered[FORMAT_BYTES], name[FORMAT_BYTES];
    if (s->time.asked_s) {
        format_span(s->time.asked_s, name);
        add(l, STYLE_BOLD, "window", "%s", name);
    } else if (s->window != WINDOW_RUN && s->window_s < whole * 0.9) {
        format_us(s->window_s * 1e6, covered);
        add(l, STYLE_BOLD, "window", "%s (%s)", window_name(s->window), covered);
    } else {
        add(l, STYLE_BOLD, "window", "%s", window_name(s->window));
    }
}

/* That it is not now must be seen wherever there is room for anything. */
static void time_range_chip(struct chips *l, const struct snapshot *s)
{
    uint64_t ago_s = s->time.now_s > s->time.to_s ? s->time.now_s - s->time.to_s : 0;
    char text[100];
    time_range_text(s, text, sizeof text);
    add(l, STYLE_WARN, "", "%s", text);
    format_ago(ago_s, l->chip[l->n - 1].brief);
}

/* Time of the window in which nothing was traced, and why most of it. */
static void gap_chip(struct chips *l, const struct snapshot *s)
{
    char text[FORMAT_BYTES];
    enum gap_reason most;
    if (s->gap_s < 0.05) {
        return;
    }
    snapshot_gap_s(s, HUGE_VAL, 0, &most);
    format_us(s->gap_s * 1e6, text);
    add(l, STYLE_WARN, "", "gap %s: %s", text, gap_name(most));
}

static void lost_chip(struct chips *l, const struct snapshot *s)
{
    uint64_t lost = s->lost.target + s->lost.ring;
    char text[FORMAT_BYTES];
    format_count(lost, text);
    add(l, lost ? STYLE_BAD : STYLE_NORMAL, "lost", "%s", text);
}

/* How far a recording has been played, and how fast. */
static void replay_chip(struct chips *l, const struct snap_node *n)
{
    char speed[24] = "";
    if (n->replay_share >= 1 && !n->tracing)
        snprintf(speed, sizeof speed, "ended");
    else if (!n->tracing)
        snprintf(speed, sizeof speed, "%.0f%% paused", n->replay_share * 100);
    else if (n->replay_speed > 0)
        snprintf(speed, sizeof speed, "%.0f%% %.3gx", n->replay_share * 100, n->replay_speed);
    else
        snprintf(speed, sizeof speed, "%.0f%%", n->replay_share * 100);
    add(l, n->tracing ? STYLE_GOOD : STYLE_WARN, "REPLAY", "%s", speed);
}

static void tracing_chips(struct chips *l, const struct ui_shared *sh, const struct snapshot *s)
{
    char text[FORMAT_BYTES];
    bool on = s->node.tracing;
    if (s->node.replay)
        replay_chip(l, &s->node);
    else
        add(l, on ? STYLE_GOOD : STYLE_WARN, "", "TRACING %s", on ? "ON" : "OFF");
    if (s->time.history) {
        time_range_chip(l, s);
    }
    if (s->lost.target + s->lost.ring) {
        lost_chip(l, s); /* before what may not fit */
    }
    if (sh->time_range.paused) {
        add(l, STYLE_WARN, "", "PAUSED");
    }
    if (s->compared[0]) {
        add(l, STYLE_KEY, "against", "%s", s->compared);
    }
    if (sh->rows.filter[0]) {
        add(l, STYLE_KEY, "filter", "%s", sh->rows.filter);
    }
    if (!s->time.history) {
        window_chip(l, s);
    }
    gap_chip(l, s);
    format_rate(request_rate(s), text);
    add(l, STYLE_BOLD, s->has_entry ? "req/s" : "calls/s", "%s", text);
    if (!(s->lost.target + s->lost.ring)) {
        lost_chip(l, s);
    }
    format_rate(s->events_per_s, text);
    add(l, STYLE_NORMAL, "ev/s", "%s", text);
    format_count(s->requests.open, text);
    add(l, STYLE_NORMAL, "open", "%s", text);
}

static void breaker_chip(struct chips *l, const struct snapshot *s)
{
    const struct snap_breaker *b = &s->breaker;
    enum style st = b->state == BREAKER_OPEN        ? STYLE_BAD
                    : b->state == BREAKER_HALF_OPEN ? STYLE_WARN
                                                    : STYLE_GOOD;
    if (b->trips) {
        add(l, st, "breaker", "%s (%llu trips)", breaker_name(b->state),
            (unsigned long long)b->trips);
    } else {
        add(l, st, "breaker", "%s", breaker_name(b->state));
    }
}

static void sample_chip(struct chips *l, const struct snapshot *s)
{
    uint32_t n = s->sample ? s->sample : 1;
    if (s->sample_why == SAMPLE_ASKED) {
        add(l, n > 1 ? STYLE_WARN : STYLE_NORMAL, "sample", "1/%u", n);
    } else {
        add(l, STYLE_WARN, "sample", "1/%u (asked 1/%u: %s)", n, s->sample_asked,
            sample_why_name(s->sample_why));
    }
}

static void cost_chip(struct chips *l, const struct snap_cost *k)
{
    if (k->known) {
        bool over = k->limit_percent > 0 && k->percent > k->limit_percent;
        bool tiny = k->percent > 0 && k->percent < 0.1;
        add(l, over ? STYLE_BAD : STYLE_NORMAL, "overhead", "%s%.1f%%", tiny ? "<" : "",
            tiny ? 0.1 : k->percent);
    }
}

static void path_chips(struct chips *l, const struct snapshot *s)
{
    char text[FORMAT_BYTES];
    breaker_chip(l, s);
    sample_chip(l, s);
    cost_chip(l, &s->cost);
    format_us(s->lag_ms * 1e3, text);
    add(l, s->lag_ms > 1000 ? STYLE_BAD : STYLE_NORMAL, "lag", "%s", text);
    if (s->clock.error_known && s->clock.error_us > CLOCK_ERROR_US) {
        format_us(s->clock.error_us, text);
        add(l, STYLE_WARN, "clock", "+-%s", text);
    }
    add(l, load_style(s->ring_fill), "ring", "%.0f%%", s->ring_fill * 100);
    add(l, STYLE_NORMAL, "via", "%s", s->node.transport[0] ? s->node.transport : "?");
    add(l, STYLE_NORMAL, "returns", "%s", s->lean ? "lean" : "full");
    add(l, STYLE_NORMAL, "relay", "%llu", (unsigned long long)s->node.relay_queue);
}

/* Where every call went: the conservation law, for those who doubt the figures. */
static void call_chips(struct chips *l, const struct snapshot *s)
{
    const struct {
        const char *label;
        uint64_t n;
        bool odd;
    } what[] = {
        {"calls", s->calls.received, false},
        {"aggregated", s->calls.aggregated, false},
        {"open", s->calls.open, false},
        {"expired", s->calls.expired, true},
        {"unattributed", s->calls.unattributed, false},
        {"late", s->anomalies.late, false},
        {"orphans", s->anomalies.orphan_returns, false},
        {"bad", s->anomalies.bad_events, true},
        {"folded", s->anomalies.identities_folded, true},
        {"full", s->anomalies.pids_full + s->anomalies.requests_full, true},
    };
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        char text[FORMAT_BYTES];
        format_count(what[i].n, text);
        add(l, what[i].odd && what[i].n ? STYLE_WARN : STYLE_NORMAL, what[i].label, "%s", text);
    }
}

static void breaker_trouble(struct chips *l, const struct snap_breaker *b)
{
    bool open = b->state == BREAKER_OPEN;
    char next[40] = "";
    if (b->next_try_s > 0 && open) {
        snprintf(next, sizeof next, "; next try in %.0f s", fmin(b->next_try_s, 1e6));
    }
    add(l, open ? STYLE_BAD : STYLE_WARN, "", "BREAKER %s%s%s%s", open ? "OPEN" : "HALF-OPEN",
        b->reason[0] ? ": " : "", b->reason, next);
    if (open) {
        add(l, STYLE_DIM, "", "~ covers only the traced part of the window");
    }
}

/* The line that says what is wrong now; false: nothing is. */
static bool trouble(const struct snapshot *s, struct chips *l)
{
    const struct snap_node *n = &s->node;
    if (!n->connected && !n->otp[0]) { /* never heard */
        add(l, STYLE_WARN, "", "%s", n->state[0] ? n->state : "connecting ...");
    } else if (!n->connected && strstr(n->state, "NODE LOST")) {
        add(l, STYLE_BAD, "", "%s", n->state);
    } else if (!n->connected) {
        add(l, STYLE_BAD, "", "NODE LOST%s%s", n->state[0] ? ": " : "", n->state);
    } else if (n->silent_s > 0) {
        add(l, STYLE_BAD, "", "%s", n->state);
    } else if (s->breaker.state != BREAKER_CLOSED) {
        breaker_trouble(l, &s->breaker);
    } else if (n->state[0]) {
        add(l, STYLE_WARN, "", "%s", n->state);
    } else if (s->rule_note[0]) {
        add(l, STYLE_WARN, "", "%s", s->rule_note);
    } else if (s->names_full) {
        add(l, STYLE_WARN, "",
            "%u names are full, the rest is in (other): I, name by path(...) or shape(...)",
            s->names_full);
    }
    return l->n > 0;
}

/* Lines without the one of trouble. */
static int plain_rows(int rows)
{
    return rows < 6 ? 1 : rows < 16 ? 2 : rows < 30 ? 3 : 4;
}

int header_rows(const struct snapshot *s, int rows)
{
    struct chips l = {.n = 0};
    int n = plain_rows(rows);
    return s && rows >= 8 && trouble(s, &l) ? n + 1 : n;
}

static void draw_nothing_known(const struct ui_shared *sh, struct canvas *c)
{
    int col = canvas_text(c, 0, 0, c->cols, STYLE_BOLD, "kprof-top");
    canvas_textf(c, 0, col + 1, c->cols - col - 1, STYLE_WARN, "connecting to %s ...",
                 sh->target[0] ? sh->target : "the node");
}

void header_draw(const struct ui_shared *sh, struct canvas *c, int n_rows, const struct snapshot *s)
{
    if (!s) {
        draw_nothing_known(sh, c);
        return;
    }
    struct chips l[5] = {{.n = 0}};
    int plain = plain_rows(c->rows), at = 0;
    if (plain > 1) {
        node_chips(&l[at++], s);
    }
    tracing_chips(&l[at++], sh, s);
    if (plain > 2) {
        path_chips(&l[at++], s);
    }
    if (plain > 3) {
        call_chips(&l[at++], s);
    }
    if (at < n_rows) {
        trouble(s, &l[at++]);
    }
    for (int row = 0; row < at && row < n_rows; row++) {
        int col = draw_chips(c, row, 0, &l[row]);
        if (row == 0 && plain > 1) {
            char now[FORMAT_BYTES];
            format_time(s->wall_ns, false, now);
            if (col + 9 <= c->cols) {
                canvas_right(c, row, c->cols - 9, 9, STYLE_DIM, now);
            }
        }
    }
}
