#include "findings.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <kprof/core/process_table.h>
#include <kprof/core/why.h>
#include <stdio.h>
#include <string.h>

enum { SCORE_COLS = 5, HINTS_FROM_ROWS = 14, TEXT_ROWS = 12 };

#define HINT_SCORE    0.7
#define HINT_STAYS_NS UINT64_C(3000000000) /* a finding may be missing in one snapshot or two */

static const char *const hints[] = {
    [PROOF_TABLE] = "Enter: its row in the table",
    [PROOF_HEAT] = "Enter: its heat map",
    [PROOF_SLOW] = "Enter: the slow requests",
    [PROOF_WATERFALL] = "Enter: the waterfall of such a request",
    [PROOF_OPEN_CALLS] = "Enter: the open call; Enter there: its stack",
    [PROOF_PROCESSES] = "Enter: the processes of the node",
    [PROOF_INTERNALS] = "Enter: the counters",
    [PROOF_LOG] = "Enter: the messages",
    [PROOF_PARTS] = "Enter: the parts of the time of this tier",
};

static const enum screen_id screens[] = {
    [PROOF_TABLE] = SCREEN_TABLE,
    [PROOF_HEAT] = SCREEN_HEAT,
    [PROOF_SLOW] = SCREEN_SLOW,
    [PROOF_WATERFALL] = SCREEN_WATERFALL,
    [PROOF_OPEN_CALLS] = SCREEN_OPEN_CALLS,
    [PROOF_PROCESSES] = SCREEN_PROCESSES,
    [PROOF_INTERNALS] = SCREEN_INTERNALS,
    [PROOF_LOG] = SCREEN_LOG,
    [PROOF_PARTS] = SCREEN_PARTS,
};

_Static_assert(sizeof hints / sizeof *hints == PROOF_COUNT, "a hint for each");
_Static_assert(sizeof screens / sizeof *screens == PROOF_COUNT, "a screen for each");

/* The findings change with each snapshot: the selected one is found again by its rule. */
static void find_selection(struct findings_state *t, const struct snapshot *s)
{
    for (size_t i = 0; t->rule && i < s->why.n; i++) {
        if (strcmp(s->why.of[i].rule, t->rule) == 0) {
            t->at.sel = i;
            return;
        }
    }
    t->at.sel = t->at.sel < s->why.n ? t->at.sel : s->why.n ? s->why.n - 1 : 0;
}

static void select_finding(struct findings_state *t, const struct snapshot *s, size_t i)
{
    t->at.sel = i;
    t->rule = i == 0 ? NULL : s->why.of[i].rule; /* the first: always the best one */
}

/* ---- drawing ---- */

/* The waterfall shows the wait as time before the calls of the row's tier. */
static bool waits(const struct snap_finding *w)
{
    return w->row && (strcmp(w->rule, "queue") == 0 || strcmp(w->rule, "lock") == 0);
}

/* Draws a finding, or only measures it: a row below the canvas draws nothing. Returns the rows. */
static int draw_one(struct canvas *c, int row, struct rect a, const struct snap_finding *w,
                    bool hint)
{
    char score[FORMAT_BYTES], before[300];
    int text = a.col + SCORE_COLS, cols = a.cols - SCORE_COLS;
    bool draws = row < c->rows;
    int rows_max = draws && a.rows < TEXT_ROWS ? a.rows : TEXT_ROWS;

    snprintf(score, sizeof score, "%.0f", 100 * w->score);
    canvas_right(c, row, a.col, SCORE_COLS - 2, w->score >= 0.75 ? STYLE_BAD : STYLE_WARN, score);
    int rows = canvas_wrap(c, row, text, rows_max, cols, STYLE_NORMAL, w->text);
    if (draws && rows >= a.rows)
        return rows + hint; /* no room for it */
    if (hint && w->proof == PROOF_WATERFALL && waits(w)) {
        snprintf(before, sizeof before, "Enter: such a request, which waits before %.200s begins",
                 w->row->tier_name);
        canvas_text(c, row + rows, text, cols, STYLE_DIM, before);
    } else if (hint) {
        canvas_text(c, row + rows, text, cols, STYLE_DIM, hints[w->proof]);
    }
    return rows + hint;
}

static int height(struct canvas *c, struct rect a, const struct snap_finding *w, bool hint)
{
    return draw_one(c, c->rows, a, w, hint);
}

/* Scrolls until the selected finding is in sight. */
static void fit(struct findings_state *t, struct canvas *c, struct rect a, const struct snap_why *w,
                bool hint)
{
    t->at.top = t->at.top < t->at.sel ? t->at.top : t->at.sel;
    for (; t->at.top < t->at.sel; t->at.top++) {
        int rows = 0;
        for (size_t i = t->at.top; i <= t->at.sel; i++) {
            rows += height(c, a, &w->of[i], hint);
        }
        if (rows <= a.rows) {
            return;
        }
    }
}

/* "a, b, c": what is examined by the rules that lack `m`; MISSING_COUNT: that lack nothing. */
static void list_rules(const struct snap_why *w, enum snap_missing m, char *out, size_t cap)
{
    const struct why_rule_text *r;
    size_t n = 0;

    out[0] = 0;
    for (size_t i = 0; (r = why_rule(i)) && n < cap; i++) {
        if (why_missing(w, i) == m) {
            n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? ", " : "", r->covers);
        }
    }
}

/* Draws a line with the rules that lack `m`, if there are any. Returns the rows. */
static int draw_rules(struct canvas *c, struct rect a, enum style st, const struct snap_why *w,
                      enum snap_missing m, const char *before)
{
    char rules[1000], text[1100];

    list_rules(w, m, rules, sizeof rules);
    if (!rules[0] || a.rows <= 0) {
        return 0;
    }
    snprintf(text, sizeof text, "%s: %s.", before, rules);
    return canvas_wrap(c, a.row, a.col, a.rows, a.cols, st, text);
}

/* What was examined without a finding, and what is not known. */
static void draw_rest(struct canvas *c, struct rect a, const struct snap_why *w)
{
    int used = 0;

    if (w->n == 0) {
        used = draw_rules(c, a, STYLE_NORMAL, w, MISSING_COUNT, "No findings. Examined");
        if (used == 0) {
            used = canvas_text(c, a.row, a.col, a.cols, STYLE_NORMAL, "Nothing is known yet.") > 0;
        }
    }
    a.row += used + 1;
    a.rows -= used + 1;
    for (unsigned m = 0; m < MISSING_COUNT; m++) {
        used = draw_rules(c, a, STYLE_DIM, w, (enum snap_missing)m,
                          why_missing_text((enum snap_missing)m, true).s);
        a.row += used;
        a.rows -= used;
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct findings_state *t = own;
    (void)sh;
    memset(t->drawn, 0, sizeof t->drawn);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "FINDINGS (%zu)  what explains the values",
                 s && s->why.there ? s->why.n : 0);
    a.row++;
    a.rows--;
    if (!s || !s->why.there || a.rows <= 0) {
        canvas_wrap(c, a.row, a.col, a.rows, a.cols, STYLE_DIM, "No values yet.");
        return;
    }
    bool hint = a.rows >= HINTS_FROM_ROWS;
    find_selection(t, s);
    fit(t, c, a, &s->why, hint);
    t->at.page = 1;
    for (size_t i = t->at.top; i < s->why.n && a.rows > 0; i++) {
        int rows = draw_one(c, a.row, a, &s->why.of[i], hint);
        rows = rows < a.rows ? rows : a.rows;
        t->drawn[i] = (struct rect){.row = a.row, .col = a.col, .rows = rows, .cols = a.cols};
        for (int k = 0; i == t->at.sel && k < rows; k++) {
            canvas_style(c, a.row + k, a.col, a.cols, STYLE_SELECT);
        }
        a.row += rows;
        a.rows -= rows;
    }
    if (a.rows > 0) {
        draw_rest(c, a, &s->why);
    }
}

/* ---- the hint on other screens ---- */

static const char *covered(const char *rule)
{
    const struct why_rule_text *r;

    for (size_t i = 0; (r = why_rule(i)); i++) {
        if (strcmp(r->name, rule) == 0) {
            return r->covers;
        }
    }
    return NULL;
}

void findings_look(struct findings_hint *h, const struct snapshot *s)
{
    const struct snap_finding *best = s->why.there && s->why.n ? &s->why.of[0] : NULL;
    bool later = s->wall_ns >= h->seen_ns && s->wall_ns - h->seen_ns <= HINT_STAYS_NS;

    if (best && best->score >= HINT_SCORE) {
        *h = (struct findings_hint){.rule = best->rule, .seen_ns = s->wall_ns};
    } else if (!later) {
        *h = (struct findings_hint){0};
    }
}

bool findings_draw_hint(const struct findings_hint *h, struct canvas *c, int row)
{
    const char *what = h->rule ? covered(h->rule) : NULL;

    if (!what) {
        return false;
    }
    int col = canvas_text(c, row, 0, c->cols, STYLE_KEY, "Y") + 1;
    canvas_textf(c, row, col, c->cols - col, STYLE_DIM, "finding: %s", what);
    return true;
}

/* ---- keys ---- */

static unsigned process_sort(const char *rule)
{
    return strcmp(rule, "memory") == 0 ? (unsigned)PROCESS_MEMORY : PROCESS_SORT_RUN;
}

/* Opens what proves the finding, with its subject selected. */
static void prove(struct ui_shared *sh, const struct snapshot *s, const struct snap_finding *w,
                  struct screen_reply *out)
{
    out->open = (struct screen_request){.to = screens[w->proof]};
    if (w->row) {
        rows_select(&sh->rows, s, w->row);
    }
    for (size_t i = 0; w->trace && i < s->n_slow; i++) {
        if (s->slow[i].trace == w->trace) {
            sh->slow.seq = s->slow[i].seq;
        }
    }
    if (w->proof == PROOF_WATERFALL) {
        out->open.trace = w->trace;
    } else if (w->proof == PROOF_OPEN_CALLS) {
        out->open.pid = w->pid;
        out->open.start_ns = w->start_ns;
    } else if (w->proof == PROOF_HEAT) {
        out->intent.kind = INTENT_VIEW_QUERY;
    } else if (w->proof == PROOF_PROCESSES) {
        out->open.process_sort = 1 + process_sort(w->rule);
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct findings_state *t = own;
    size_t n = s && s->why.there ? s->why.n : 0;
    (void)key;
    if (n == 0) {
        if (act != ACT_OPEN) {
            return false;
        }
        message_set(&sh->message, "there is no finding", true);
        return true;
    }
    find_selection(t, s);
    if (act == ACT_OPEN) {
        prove(sh, s, &s->why.of[t->at.sel], out);
        return true;
    }
    if (!scroll_key(&t->at, act, n)) {
        return false;
    }
    select_finding(t, s, t->at.sel);
    return true;
}

static bool on_click(void *own, struct ui_shared *sh, int row, int col, const struct snapshot *s)
{
    struct findings_state *t = own;
    (void)sh;
    (void)col;
    for (size_t i = 0; s && i < s->why.n && i < SNAP_FINDINGS; i++) {
        if (row >= t->drawn[i].row && row < t->drawn[i].row + t->drawn[i].rows) {
            select_finding(t, s, i);
            return true;
        }
    }
    return false;
}

const struct screen_ops screen_findings = {
    .name = "findings",
    .key = 'Y',
    .context = CTX_FINDINGS,
    .on_request = true,
    .draw = draw,
    .on_key = on_key,
    .on_click = on_click,
};
