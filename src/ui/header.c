#include "header.h"
#include "header_help.h"
#include "internals.h"

#include <assert.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One value of the header: a dim label and a value; brief: a shorter value for narrow screens;
 * least: with less room the value is cut, down to this number of columns; 0: it is not cut. */
struct chip {
    char label[24], value[300], brief[FORMAT_BYTES];
    enum style style;
    int least;
};

#define CHIPS            16 /* tracing_chips adds up to 14, the breaker last */
#define TRIGGER_LEAST    4  /* columns of its text: two letters say which one it is */
#define ROWS_FOR_WARNING 5  /* with fewer rows, a `whole` screen has no warning */

struct chips {
    struct chip chip[CHIPS];
    size_t n;
};

/* NULL: no room. */
__attribute__((format(printf, 4, 5))) static struct chip *
add(struct chips *l, enum style st, const char *label, const char *fmt, ...)
{
    assert(!label[0] || header_help(label));
    if (l->n == CHIPS) {
        return NULL;
    }
    struct chip *k = &l->chip[l->n++];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(k->value, sizeof k->value, fmt, ap);
    va_end(ap);
    snprintf(k->label, sizeof k->label, "%s", label);
    k->style = st;
    return k;
}

static int chip_cols(const struct chip *k, const char *value)
{
    int label = (int)strlen(k->label);
    return (label ? label + 1 : 0) + (int)text_width(value, strlen(value));
}

/* The columns that the warning after chip i takes. */
static int kept_after(const struct chips *l, size_t i)
{
    const struct chip *next = i + 1 < l->n ? &l->chip[i + 1] : NULL;
    return next && next->style == STYLE_BAD ? 2 + chip_cols(next, next->value) : 0;
}

/* True: there is room for chip i, and for the warnings after it. */
static bool fits(const struct chips *l, size_t i, int room)
{
    return chip_cols(&l->chip[i], l->chip[i].value) + kept_after(l, i) <= room;
}

/* Draws the chips that fit, in their order: one that does not fit does not hide those after it. The
 * first is always drawn, cut if necessary. */
static int draw_chips(struct canvas *c, int row, int col, const struct chips *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct chip *k = &l->chip[i];
        int room = c->cols - col - (k->least ? kept_after(l, i) : 0);
        const char *value = k->brief[0] && !fits(l, i, room) ? k->brief : k->value;
        bool cut = k->least && chip_cols(k, "") + k->least <= room;
        if (i > 0 && chip_cols(k, value) > room && !cut) {
            continue;
        }
        int end = col + room;
        if (k->label[0]) {
            col += canvas_text(c, row, col, end - col, STYLE_DIM, k->label) + 1;
        }
        col += canvas_text(c, row, col, end - col, k->style, value) + 2;
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
    bool known = n->memory_bytes > 0; /* not before the first heartbeat */
    char text[FORMAT_BYTES];
    add(l, STYLE_BOLD, "", "%s", n->name[0] ? n->name : "?");
    format_uptime(n->uptime_s, text);
    add(l, STYLE_NORMAL, "up", "%s", known ? text : "-");
    if (n->scheduler_use >= 0) {
        add(l, load_style(n->scheduler_use), "sched", "%.0f%%", fmin(n->scheduler_use, 99) * 100);
    }
    snprintf(text, sizeof text, "%u", n->run_queue);
    add(l, STYLE_NORMAL, "runq", "%s", known ? text : "-");
    format_bytes(n->memory_bytes, text);
    add(l, STYLE_NORMAL, "mem", "%s", known ? text : "-");
    format_count(n->processes, text);
    add(l, STYLE_NORMAL, "procs", "%s", known ? text : "-");
    add(l, STYLE_NORMAL, "OTP", "%s", n->otp[0] ? n->otp : "-");
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

/* A window that does not end now must be visible on every screen size. */
static void time_range_chip(struct chips *l, const struct snapshot *s)
{
    uint64_t ago_s = s->time.now_s > s->time.to_s ? s->time.now_s - s->time.to_s : 0;
    char text[100];
    time_range_text(s, text, sizeof text);
    struct chip *k = add(l, STYLE_WARN, "", "%s", text);
    if (k) {
        format_ago(ago_s, k->brief);
    }
}

/* Time in the window in which nothing was traced, and the main reason. */
static void gap_chip(struct chips *l, const struct snapshot *s)
{
    char text[FORMAT_BYTES];
    enum gap_reason most;
    if (s->gap_s < 0.05) {
        return;
    }
    snapshot_gap_s(s, HUGE_VAL, 0, &most);
    format_us(s->gap_s * 1e6, text);
    add(l, STYLE_WARN, "", "gap %s: %s", text, gap_text(most));
}

static void lost_chip(struct chips *l, const struct snapshot *s)
{
    uint64_t lost = s->lost.target + s->lost.ring;
    char text[FORMAT_BYTES];
    if (lost) {
        format_count(lost, text);
        add(l, STYLE_BAD, "lost", "%s", text);
    }
}

/* How much of a recording was played, and how fast. */
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

static void breaker_chip(struct chips *l, const struct snapshot *s)
{
    const struct snap_breaker *b = &s->breaker;
    enum style st = b->state == BREAKER_OPEN        ? STYLE_BAD
                    : b->state == BREAKER_HALF_OPEN ? STYLE_WARN
                                                    : STYLE_GOOD;
    char opened[FORMAT_BYTES];
    snprintf(opened, sizeof opened, "opened %llu time%s", (unsigned long long)b->trips,
             b->trips == 1 ? "" : "s");
    if (!b->trips) {
        add(l, st, "breaker", "%s", breaker_name(b->state));
        return;
    }
    struct chip *k = add(l, st, "breaker", "%s (%s)", breaker_name(b->state), opened);
    if (k) {
        snprintf(k->brief, sizeof k->brief, "%s", opened);
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

/* Sampling that goes on while another screen is shown must not be forgotten. */
static void sampling_chip(struct chips *l, const struct snap_sampling *s)
{
    if (s->state != SAMPLING_ON || s->replay) {
        return;
    }
    if (s->pause) {
        add(l, STYLE_WARN, "stacks", "paused");
    } else {
        add(l, STYLE_KEY, "stacks", "%.1f%%", s->percent);
    }
}

static void trigger_chip(struct chips *l, const struct ui_trigger *t)
{
    if (!t->text[0]) {
        return;
    }
    struct chip *k = add(l, t->acts ? STYLE_WARN : STYLE_KEY, "trigger", "%s", t->text);
    if (k) {
        k->least = TRIGGER_LEAST;
    }
}

/* The connection may be with another node than the operator believes. */
static bool unverified(const struct snap_node *n)
{
    return strcmp(n->tls, "not verified") == 0;
}

static void tls_chip(struct chips *l, const struct snap_node *n)
{
    if (unverified(n)) {
        add(l, STYLE_BAD, "TLS", "not verified");
    }
}

static void on_chips(struct chips *l, const struct snapshot *s)
{
    bool on = s->node.tracing;
    if (s->node.replay) {
        replay_chip(l, &s->node);
    } else {
        add(l, on ? STYLE_GOOD : STYLE_WARN, "", "TRACING %s", on ? "ON" : "OFF");
    }
}

/* The view, then the state of tracing. lost: no line below shows the lost events. */
static void tracing_chips(struct chips *l, const struct ui_shared *sh, const struct snapshot *s,
                          bool lost)
{
    char text[FORMAT_BYTES];
    uint32_t n = s->sample ? s->sample : 1;
    on_chips(l, s);
    tls_chip(l, &s->node);
    if (s->time.history) {
        time_range_chip(l, s);
    }
    if (lost) {
        lost_chip(l, s); /* before chips that may not fit */
    }
    if (sh->time_range.paused) {
        add(l, STYLE_WARN, "", "PAUSED");
    }
    if (s->compared[0]) {
        add(l, STYLE_KEY, "compared with", "%s", s->compared);
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
    add(l, n > 1 || s->sample_why != SAMPLE_ASKED ? STYLE_WARN : STYLE_NORMAL, "sample", "1/%u", n);
    cost_chip(l, &s->cost);
    sampling_chip(l, &s->sampling);
    trigger_chip(l, &sh->trigger);
    breaker_chip(l, s);
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
        add(l, STYLE_DIM, "", "~: only the traced part of the window");
    }
}

/* The line with the present problem; false: there is none. */
static bool trouble(const struct snapshot *s, struct chips *l)
{
    const struct snap_node *n = &s->node;
    uint32_t once;
    if (!n->connected && !n->otp[0]) { /* not attached yet */
        add(l, STYLE_WARN, "", "%s", n->state[0] ? n->state : "connecting ...");
    } else if (!n->connected && strstr(n->state, "CONNECTION LOST")) {
        add(l, STYLE_BAD, "", "%s", n->state);
    } else if (!n->connected) {
        add(l, STYLE_BAD, "", "CONNECTION LOST%s%s", n->state[0] ? ": " : "", n->state);
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
            "all %u names are in use, the rest is (other); n: path or shape, I: new rule",
            s->names_full);
    } else if ((once = snapshot_names_once(s)) > 0) {
        add(l, STYLE_WARN, "",
            "%u names, most of them with one call; n: path or shape, I: new rule", once);
    }
    return l->n > 0;
}

static void note(struct chips *l, const struct internal *k)
{
    if (k->header_text[0]) {
        add(l, k->style, "", "%s", k->header_text);
    } else {
        add(l, k->style, k->label, "%s", k->value);
    }
}

/* Adds the internals that indicate a problem; the worst first. */
static bool notes(const struct snapshot *s, struct chips *l)
{
    struct internal list[INTERNALS_MAX];
    size_t n = internals_list(s, list), before = l->n;
    for (int bad = 1; bad >= 0; bad--) {
        for (size_t i = 0; i < n; i++) {
            if (list[i].in_header && (list[i].style == STYLE_BAD) == bad) {
                note(l, &list[i]);
            }
        }
    }
    return l->n > before;
}

/* Number of lines while there is no problem: node and tracing, or only tracing if there is room for
 * one. */
static int plain_rows(int rows)
{
    return rows < 6 ? 1 : 2;
}

/* Problems, in at most two lines: the problem, then the values; in one line if there is no room for
 * two. Returns the number of lines. */
static int wrong(const struct snapshot *s, int rows, struct chips l[2])
{
    int most = rows < 8 ? 0 : rows < 16 ? 1 : 2, n = 0;
    l[0].n = l[1].n = 0;
    if (most > 0 && trouble(s, &l[0])) {
        n = 1;
    }
    if (most > 0 && notes(s, &l[n < most ? n : n - 1])) {
        n = n < most ? n + 1 : n;
    }
    return n;
}

int header_rows(const struct snapshot *s, int rows, bool whole)
{
    struct chips l[2];
    if (whole) {
        return s && unverified(&s->node) && rows >= ROWS_FOR_WARNING;
    }
    return plain_rows(rows) + (s ? wrong(s, rows, l) : 0);
}

static void draw_nothing_known(const struct ui_shared *sh, struct canvas *c)
{
    int col = canvas_text(c, 0, 0, c->cols, STYLE_BOLD, "kprof-top");
    canvas_textf(c, 0, col + 1, c->cols - col - 1, STYLE_WARN, "connecting to %s ...",
                 sh->target[0] ? sh->target : "the node");
}

void header_draw(const struct ui_shared *sh, struct canvas *c, int n_rows, bool whole,
                 const struct snapshot *s)
{
    struct chips l[4] = {{.n = 0}};
    if (whole && n_rows > 0) {
        tls_chip(&l[0], &s->node);
        add(&l[0], STYLE_BOLD, "", "%s", s->node.name);
        draw_chips(c, 0, 0, &l[0]);
    }
    if (whole) {
        return;
    }
    if (!s) {
        draw_nothing_known(sh, c);
        return;
    }
    int plain = plain_rows(c->rows), at = 0;
    if (plain > 1) {
        node_chips(&l[at++], s);
    }
    tracing_chips(&l[at++], sh, s, c->rows < 16);
    at += wrong(s, c->rows, &l[at]);
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
