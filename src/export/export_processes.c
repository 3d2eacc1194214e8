#include <kprof/export/export_processes.h>

#include <inttypes.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/base/json.h>
#include <kprof/base/text.h>
#include <kprof/core/snapshot.h>
#include <kprof/export/writers.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const keys[PROCESS_VALUES] = {[PROCESS_REDUCTIONS] = "reductions_per_s",
                                                 [PROCESS_MEMORY] = "memory_bytes",
                                                 [PROCESS_QUEUE] = "queue",
                                                 [PROCESS_GROWTH] = "queue_growth_per_s",
                                                 [PROCESS_BINARY] = "binary_bytes",
                                                 [PROCESS_GCS] = "gcs_per_s"};

static const char *const groups[PROCESS_GROUPS] = {[PROCESS_UNGROUPED] = "process",
                                                   [PROCESS_BY_CALL] = "initial_call",
                                                   [PROCESS_BY_APPLICATION] = "application"};

struct pick {
    uint16_t at[PROCESS_ROWS + 1];
    size_t n;
};

/* Values per second have digits after the point. */
static int decimals(enum process_value v)
{
    return v == PROCESS_REDUCTIONS || v == PROCESS_GROWTH || v == PROCESS_GCS ? 3 : 0;
}

/* ---- text ---- */

static void text_cell(struct buf *out, const struct process_row *r, enum process_value v)
{
    char text[FORMAT_BYTES] = "-";
    double x = r->value[v];

    if (!isnan(x) && (v == PROCESS_MEMORY || v == PROCESS_BINARY))
        format_bytes((uint64_t)x, text);
    else if (!isnan(x))
        snprintf(text, sizeof text, "%.*f", decimals(v) ? 1 : 0, x);
    buf_addf(out, " %12s", text);
}

static void text_row(struct buf *out, const struct process_row *r, const struct process_query *q)
{
    char pid[PROCESS_PID_BYTES];
    const char *name = r->rest ? "(other)" : process_row_name(r, pid);
    size_t cols;

    cols = text_safe(out, name[0] ? name : "(none)", strlen(name[0] ? name : "(none)"), 40, false);
    buf_addf(out, "%*s", (int)(40 - cols), "");
    for (enum process_value v = 0; v < PROCESS_VALUES; v++)
        text_cell(out, r, v);
    if (q->group == PROCESS_UNGROUPED) {
        snapshot_pid(r->pid, pid);
        buf_addf(out, "  %-14s", pid);
        text_safe(out, r->application, strlen(r->application), 0, false);
        buf_adds(out, "  ");
        text_safe(out, r->current, strlen(r->current), 0, false);
    } else {
        buf_addf(out, " %12" PRIu64, r->processes);
    }
    buf_addch(out, '\n');
}

static void text(struct buf *out, const struct process_table *t, const struct process_query *q,
                 const struct pick *p, const char *node, const char *at)
{
    buf_addf(out, "%s  ", at);
    text_safe(out, node, strlen(node), 0, false);
    buf_addf(out, "  %" PRIu64 " processes; the %zu with the most %s\n", t->head.processes,
             t->n[PROCESS_UNGROUPED], process_value_name(t->head.by));
    buf_addf(out, "%-40s", groups[q->group]);
    for (enum process_value v = 0; v < PROCESS_VALUES; v++)
        buf_addf(out, " %12s", process_value_name(v));
    buf_adds(out, q->group == PROCESS_UNGROUPED ? "  pid           application, current function\n"
                                                : "    processes\n");
    for (size_t i = 0; i < p->n; i++)
        text_row(out, &t->row[q->group][p->at[i]], q);
}

/* ---- CSV ---- */

static void csv_value(struct buf *out, double v, int digits)
{
    buf_addch(out, ',');
    if (!isnan(v))
        buf_addf(out, "%.*f", digits, v);
}

static void csv_row(struct buf *out, const struct process_row *r, const struct process_query *q)
{
    char pid[PROCESS_PID_BYTES] = "";

    if (r->pid)
        snapshot_pid(r->pid, pid);
    buf_addf(out, ",%s,", groups[q->group]);
    export_csv_quoted(out, r->rest ? "(other)" : r->name);
    buf_addf(out, ",%s,", pid);
    export_csv_quoted(out, r->initial_call);
    buf_addch(out, ',');
    export_csv_quoted(out, r->application);
    buf_addch(out, ',');
    export_csv_quoted(out, r->current);
    buf_addf(out, ",%" PRIu64, r->processes);
    for (enum process_value v = 0; v < PROCESS_VALUES; v++)
        csv_value(out, r->value[v], decimals(v));
    buf_addf(out, ",%s", stack_status_name(r->status));
    csv_value(out, process_row_run(r), 3);
    buf_addch(out, '\n');
}

static void csv(struct buf *out, const struct process_table *t, const struct process_query *q,
                const struct pick *p, const char *node, const char *at)
{
    buf_adds(out, "at,node,row,name,pid,initial_call,application,current,processes");
    for (enum process_value v = 0; v < PROCESS_VALUES; v++)
        buf_addf(out, ",%s", keys[v]);
    buf_adds(out, ",status,run_share\n");
    for (size_t i = 0; i < p->n; i++) {
        buf_addf(out, "%s,", at);
        export_csv_quoted(out, node);
        csv_row(out, &t->row[q->group][p->at[i]], q);
    }
}

/* ---- JSON ---- */

static void json_text(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_str(j, s[0] ? s : NULL);
}

static void json_values(struct json *j, const struct process_row *r)
{
    for (enum process_value v = 0; v < PROCESS_VALUES; v++) {
        json_key(j, keys[v]);
        json_f(j, r->value[v], decimals(v));
    }
}

static void json_process(struct json *j, const struct process_row *r)
{
    char pid[PROCESS_PID_BYTES];

    snapshot_pid(r->pid, pid);
    json_text(j, "pid", pid);
    json_text(j, "name", r->name);
    json_text(j, "initial_call", r->initial_call);
    json_text(j, "application", r->application);
    json_text(j, "current", r->current);
    json_values(j, r);
    json_text(j, "status", stack_status_name(r->status));
    json_key(j, "status_share");
    json_obj(j);
    for (unsigned s = STACK_RUNNING; s < STACK_STATUSES; s++)
        if (r->share[s] > 0) {
            json_key(j, stack_status_name(s));
            json_f(j, r->share[s], 3);
        }
    json_obj_end(j);
}

static void json_group(struct json *j, const struct process_row *r)
{
    json_text(j, "name", r->rest ? "" : r->name);
    json_key(j, "other");
    json_bool(j, r->rest);
    json_key(j, "processes");
    json_u64(j, r->processes);
    json_values(j, r);
}

static void json(struct buf *out, const struct process_table *t, const struct process_query *q,
                 const struct pick *p, const char *node, const char *at)
{
    struct json j;

    json_init(&j, out);
    json_obj(&j);
    json_text(&j, "at", at);
    json_text(&j, "node", node);
    json_key(&j, "processes");
    json_u64(&j, t->head.processes);
    json_text(&j, "ranked_by", process_value_name(t->head.by));
    json_key(&j, "between_s");
    json_f(&j, t->head.between_s, 3);
    json_key(&j, "cost_percent");
    json_f(&j, t->head.cost_percent, 3);
    json_text(&j, "row", groups[q->group]);
    json_key(&j, "rows");
    json_arr(&j);
    for (size_t i = 0; i < p->n; i++) {
        const struct process_row *r = &t->row[q->group][p->at[i]];
        json_obj(&j);
        if (q->group == PROCESS_UNGROUPED)
            json_process(&j, r);
        else
            json_group(&j, r);
        json_obj_end(&j);
    }
    json_arr_end(&j);
    json_obj_end(&j);
    buf_addch(out, '\n');
}

bool export_processes(struct buf *out, const struct process_table *t, const struct process_query *q,
                      const char *node, uint64_t at_ns, enum export_format f)
{
    struct pick p;
    char at[40];

    p.n = process_table_order(t, q, p.at);
    clock_format_wall(at_ns, at, sizeof at);
    switch (f) {
    case EXPORT_TEXT:
        text(out, t, q, &p, node, at);
        return true;
    case EXPORT_JSON:
        json(out, t, q, &p, node, at);
        return true;
    case EXPORT_CSV:
        csv(out, t, q, &p, node, at);
        return true;
    default:
        return false;
    }
}
