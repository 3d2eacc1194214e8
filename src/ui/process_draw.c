#include "process_draw.h"

#include <kprof/base/text.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DETAIL_LEAST = 8,
    CALLS_MOST = 2,
    LABEL_BYTES = PROCESS_PID_BYTES + 1 + PROCESS_NAME_BYTES
}; /* minimum rows for the lower part; maximum open calls in it */

static const char *const gates[] = {
    [PROCESS_GATE_OPEN] = "",
    [PROCESS_GATE_BREAKER] = "stopped: the breaker is open",
    [PROCESS_GATE_LEASE] = "stopped: the node receives nothing from kprof-top",
    [PROCESS_GATE_RUN_QUEUE] = "stopped: the run queue of the node is long",
};

static const char *const grouped[] = {[PROCESS_UNGROUPED] = "",
                                      [PROCESS_BY_CALL] = " by initial call",
                                      [PROCESS_BY_APPLICATION] = " by application"};

void process_draw_none(const struct process_state *t, struct canvas *c, struct rect a)
{
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_text(c, a.row, a.col, a.cols, STYLE_HEAD, "PROCESSES");
    if (a.rows < 2) {
        return;
    }
    if (t->table && t->table->head.gate) {
        canvas_wrap(c, a.row + 1, a.col, a.rows - 1, a.cols, STYLE_WARN,
                    gates[t->table->head.gate]);
    } else {
        canvas_wrap(c, a.row + 1, a.col, a.rows - 1, a.cols, STYLE_DIM,
                    t->why[0] ? t->why : "The node reads its processes ...");
    }
}

/* --- the line above --- */

static void births(const struct process_head *h, char *out, size_t cap)
{
    char born[FORMAT_BYTES], died[FORMAT_BYTES];
    out[0] = 0;
    if (isnan(h->born_per_s) || isnan(h->died_per_s)) {
        return;
    }
    format_rate(h->born_per_s, born);
    format_rate(h->died_per_s, died);
    snprintf(out, cap, ", +%s -%s/s", born, died);
}

static int draw_state(const struct process_state *t, struct canvas *c, struct rect a, int col)
{
    const struct process_head *h = &t->table->head;
    int left = a.cols - col;
    if (t->why[0]) {
        return canvas_text(c, a.row, a.col + col, left, STYLE_WARN, t->why);
    }
    if (h->gate) {
        return canvas_text(c, a.row, a.col + col, left, STYLE_WARN, gates[h->gate]);
    }
    if (h->period_s > h->asked_s) {
        return canvas_textf(c, a.row, a.col + col, left, STYLE_WARN,
                            "every %.1f s, to stay below --max-overhead; cost %.1f%%", h->period_s,
                            h->cost_percent);
    }
    return canvas_textf(c, a.row, a.col + col, left, STYLE_DIM, "every %.1f s, cost %.1f%%",
                        h->period_s, h->cost_percent);
}

static void draw_summary(const struct process_state *t, struct canvas *c, struct rect a, size_t n)
{
    char all[FORMAT_BYTES], more[80];
    const struct process_head *h = &t->table->head;
    format_count(h->processes, all);
    births(h, more, sizeof more);
    int col;
    if (t->query.filter[0]) {
        col = canvas_textf(c, a.row, a.col, a.cols, STYLE_WARN, "%zu with \"%s\" of %s  (Esc: all)",
                           n, t->query.filter, all);
    } else if (t->within) {
        col = canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "%zu of %s  (Esc: all)", n,
                           t->within_name[0] ? t->within_name : "no application");
    } else {
        col = canvas_textf(c, a.row, a.col, a.cols, STYLE_BOLD, "%s processes%s%s", all, more,
                           grouped[t->query.group]);
    }
    if (t->query.group == PROCESS_BY_CALL && h->unnamed && !t->query.filter[0]) {
        format_count(h->unnamed, all);
        col += canvas_textf(c, a.row, a.col + col, a.cols - col, STYLE_WARN,
                            " (initial call of %s not known yet)", all);
    }
    if (col + 3 < a.cols) {
        draw_state(t, c, a, col + 2);
    }
}

/* --- lines --- */

static void draw_titles(const struct process_state *t, struct canvas *c, struct rect a, size_t n)
{
    static const char *const names[] = {"PROCESS", "INITIAL CALL", "APPLICATION"};
    const struct process_columns *k = &t->columns;
    const char *mark = c->ascii           ? (t->query.reverse ? "<" : ">")
                       : t->query.reverse ? "\xe2\x96\xb2"
                                          : "\xe2\x96\xbc";
    char title[64];
    int col = a.col + k->name;
    bool by_name = t->query.sort == PROCESS_SORT_NAME;
    snprintf(title, sizeof title, "%s%s", names[t->query.group], by_name ? mark : "");
    if (n > t->at.page) {
        size_t used = strlen(title);
        snprintf(title + used, sizeof title - used, " %zu/%zu", t->at.sel + 1, n);
    }
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_text(c, a.row, a.col, k->name, by_name ? STYLE_SELECT : STYLE_HEAD, title);
    for (enum process_column i = 0; i < PC_COLUMNS; i++) {
        bool sorted = !by_name && process_column_sort(i) == t->query.sort;
        enum style st = sorted ? STYLE_SELECT : STYLE_HEAD;
        if (!k->width[i]) {
            continue;
        }
        if (sorted) {
            canvas_fill(c, a.row, col, k->width[i] + 1, st, ' ');
        }
        snprintf(title, sizeof title, "%s%s", process_column_title(i), sorted ? mark : "");
        if (process_column_is_text(i)) {
            canvas_text(c, a.row, col + 1, k->width[i], st, title);
        } else {
            canvas_right(c, a.row, col, k->width[i] + 1, st, title);
        }
        col += k->width[i] + 1;
    }
}

static enum style cell_style(enum process_column i, const struct process_row *r, const char *text)
{
    if (i == PC_GROWTH && r->value[PROCESS_GROWTH] > 0) {
        return STYLE_WARN;
    }
    return strcmp(text, "0") == 0 || strcmp(text, "-") == 0 ? STYLE_DIM : STYLE_NORMAL;
}

/* Many processes have the same initial call. Without the column for pids, the pid comes first, and
 * the module is left out if it does not fit. */
static void pid_and_call(const struct process_row *r, int width, char out[LABEL_BYTES])
{
    char pid[PROCESS_PID_BYTES];
    const char *call = r->initial_call, *function = strrchr(call, ':');
    snapshot_pid(r->pid, pid);
    if (function && (int)(strlen(pid) + 1 + strlen(call)) > width) {
        call = function + 1;
    }
    snprintf(out, LABEL_BYTES, "%s %s", pid, call);
}

static void draw_line(const struct process_state *t, struct canvas *c, int row, struct rect a,
                      const struct process_row *r)
{
    char pid[PROCESS_PID_BYTES], label[LABEL_BYTES], cell[PROCESS_CELL_BYTES];
    const struct process_columns *k = &t->columns;
    const char *name = process_row_name(r, pid);
    int col = a.col + k->name;
    if (!r->pid && !name[0]) {
        name = r->rest ? "(other)" : t->query.group == PROCESS_BY_CALL ? "(not known)" : "(none)";
    } else if (r->pid && name == r->initial_call && !k->width[PC_PID]) {
        pid_and_call(r, k->name, label);
        name = label;
    }
    canvas_name(c, row, a.col, k->name, r->name[0] && r->pid ? STYLE_BOLD : STYLE_NORMAL, name);
    for (enum process_column i = 0; i < PC_COLUMNS; i++) {
        if (!k->width[i]) {
            continue;
        }
        const char *text = process_cell(i, r, cell);
        if (process_column_is_text(i)) {
            canvas_name(c, row, col + 1, k->width[i], i == PC_CURRENT ? STYLE_DIM : STYLE_NORMAL,
                        text);
        } else {
            canvas_right(c, row, col, k->width[i] + 1, cell_style(i, r, text), text);
        }
        col += k->width[i] + 1;
    }
}

/* --- the process below --- */

static const struct process_row *row_of(const struct process_table *p, uint64_t pid)
{
    for (size_t i = 0; i < p->n[PROCESS_UNGROUPED]; i++) {
        if (p->row[PROCESS_UNGROUPED][i].pid == pid) {
            return &p->row[PROCESS_UNGROUPED][i];
        }
    }
    return NULL;
}

/* "waiting 95%, running 5% of 19 refreshes" */
static void shares(const struct process_row *r, struct buf *out)
{
    const char *between = "";
    for (unsigned s = STACK_RUNNING; s < STACK_STATUSES; s++) {
        if (r->share[s] > 0) {
            buf_addf(out, "%s%s %.0f%%", between, stack_status_name(s), r->share[s] * 100);
            between = ", ";
        }
    }
    if (r->rounds) {
        buf_addf(out, " of %u refreshes", r->rounds);
    }
}

static int draw_facts(struct canvas *c, struct rect a, int row, const struct process_row *r)
{
    struct buf text;
    if (!r || row >= a.rows) {
        return row;
    }
    buf_init(&text, 1000);
    shares(r, &text);
    if (r->application[0]) {
        buf_addf(&text, "; application %s", r->application);
    }
    if (r->initial_call[0]) {
        buf_addf(&text, "; initial call %s", r->initial_call);
    }
    canvas_text(c, a.row + row, a.col + 2, a.cols - 2, STYLE_NORMAL, text.data);
    buf_release(&text);
    return row + 1;
}

/* Its traced calls, the oldest first. */
static int draw_calls(struct canvas *c, struct rect a, int row, const struct snapshot *s,
                      uint64_t pid)
{
    int n = 0;
    for (size_t i = 0; s && i < s->n_open && n < CALLS_MOST && row < a.rows; i++) {
        const struct snap_open *o = &s->open[i];
        char age[FORMAT_BYTES];
        if (o->pid != pid) {
            continue;
        }
        format_us(o->age_us, age);
        canvas_textf(c, a.row + row++, a.col + 2, a.cols - 2, STYLE_WARN, "open call %s %s for %s",
                     o->tier_name, snapshot_name(o->ident), age);
        n++;
    }
    return row;
}

static void draw_below(const struct process_state *t, struct canvas *c, struct rect a,
                       const struct snapshot *s)
{
    char pid[PROCESS_PID_BYTES], name[PROCESS_PID_BYTES];
    const struct process_row *r = row_of(t->table, t->stack);
    const char *line = t->lines;
    snapshot_pid(t->stack, pid);
    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_textf(c, a.row, a.col, a.cols, STYLE_HEAD, "%s %s %s", pid,
                 r ? process_row_name(r, name) : "",
                 t->asked  ? "asking ..."
                 : t->dead ? "is dead"
                           : "stack, innermost function first; Enter refreshes");
    int row = draw_calls(c, a, draw_facts(c, a, 1, r), s, t->stack);
    for (; row < a.rows && *line; row++) {
        char one[256];
        int n = (int)strcspn(line, "\n");
        snprintf(one, sizeof one, "%.*s", n, line);
        canvas_text(c, a.row + row, a.col + 2, a.cols - 2, STYLE_NORMAL, one);
        line += n + (line[n] == '\n');
    }
}

/* --- all of it --- */

/* Why no process is in the list. At the first refresh the node does not know the initial calls yet.
 */
static const char *nobody(const struct process_state *t)
{
    if (t->query.filter[0])
        return "no process contains this text; Esc clears it";
    if (t->within == PROCESS_BY_CALL && t->table->head.seq == 1)
        return "the node reads the initial calls; the next refresh shows the processes";
    return "no process";
}

void process_draw(struct process_state *t, struct canvas *c, struct rect a,
                  const struct snapshot *s, const uint16_t *order, size_t n)
{
    struct rect list = a, below = a;
    below.rows = t->stack && a.rows >= DETAIL_LEAST ? a.rows / 2 : 0;
    list.rows -= below.rows;
    below.row += list.rows;
    draw_summary(t, c, list, n);
    int lines = list.rows > 2 ? list.rows - 2 : 0;
    process_columns_choose(&t->columns, a.cols, t->query.group != PROCESS_UNGROUPED, t->query.sort);
    scroll_fit(&t->at, n, (size_t)lines);
    t->at.row = list.row + 2;
    t->title_row = list.rows > 1 ? list.row + 1 : -1;
    if (list.rows > 1) {
        draw_titles(t, c, (struct rect){list.row + 1, a.col, 1, a.cols}, n);
    }
    for (int i = 0; i < lines && t->at.top + (size_t)i < n; i++) {
        size_t at = t->at.top + (size_t)i;
        draw_line(t, c, list.row + 2 + i, a, &t->table->row[t->query.group][order[at]]);
        if (at == t->at.sel && !t->lost) {
            canvas_style(c, list.row + 2 + i, a.col, a.cols, STYLE_SELECT);
        }
    }
    if (n == 0 && lines > 0) {
        canvas_text(c, list.row + 2, a.col + 2, a.cols - 2, STYLE_DIM, nobody(t));
    }
    if (below.rows) {
        draw_below(t, c, below, s);
    }
}
