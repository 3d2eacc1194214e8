#include <kprof/core/process_table.h>

#include <assert.h>
#include <kprof/base/intern.h>
#include <kprof/base/text.h>
#include <kprof/core/snapshot.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX   4096u
#define TEXTS_BYTES ((size_t)1 << 20)
#define WORD_BYTES  8.0
#define STATUS_BITS 3
_Static_assert(PROCESS_PID_BYTES == SNAPSHOT_PID_BYTES, "room for a pid");

static const char *const names[PROCESS_VALUES] = {
    [PROCESS_REDUCTIONS] = "reductions", [PROCESS_MEMORY] = "memory", [PROCESS_QUEUE] = "queue",
    [PROCESS_GROWTH] = "growth",         [PROCESS_BINARY] = "binary", [PROCESS_GCS] = "gcs"};

const char *process_value_name(enum process_value v)
{
    assert(v < PROCESS_VALUES);
    return names[v];
}

enum process_value process_value_parse(const char *name, size_t n)
{
    enum process_value v = 0;

    while (v < PROCESS_VALUES && (strlen(names[v]) != n || memcmp(names[v], name, n) != 0))
        v++;
    return v;
}

/* ---- for a decoder ---- */

struct process_table *process_table_new(void)
{
    struct process_table *t = calloc(1, sizeof *t);

    if (!t)
        abort();
    t->owner = intern_new(TEXTS_MAX, TEXTS_BYTES);
    t->head.born_per_s = t->head.died_per_s = NAN;
    return t;
}

void process_table_free(struct process_table *t)
{
    if (!t)
        return;
    intern_free(t->owner);
    free(t);
}

const char *process_table_text(struct process_table *t, const char *s, size_t n)
{
    uint32_t id = intern_add(t->owner, s, n);

    return id == INTERN_FULL ? "" : intern_str(t->owner, id);
}

static double known(int64_t v, double factor)
{
    return v < 0 ? NAN : (double)v * factor;
}

/* A rate since the round before. */
static double per_s(const struct process_table *t, double v)
{
    return t->head.between_s > 0 ? v / t->head.between_s : NAN;
}

static void set_statuses(struct process_row *r, uint64_t statuses)
{
    r->status =
        (enum stack_status)(statuses & 7) < STACK_STATUSES ? statuses & 7 : STACK_STATUS_NONE;
    for (unsigned i = 0; i < PROCESS_ROUNDS; i++, statuses >>= STATUS_BITS) {
        unsigned s = statuses & 7;
        if (s == STACK_STATUS_NONE || s >= STACK_STATUSES)
            continue;
        r->share[s]++;
        r->rounds++;
    }
    for (unsigned s = 0; s < STACK_STATUSES && r->rounds; s++)
        r->share[s] /= r->rounds;
}

struct process_row *process_table_add(struct process_table *t, enum process_group kind,
                                      const struct process_raw *raw)
{
    assert(kind < PROCESS_GROUPS);
    if (t->n[kind] == PROCESS_ROWS + 1)
        return NULL;
    struct process_row *r = &t->row[kind][t->n[kind]++];
    *r = (struct process_row){
        .processes = 1, .name = "", .initial_call = "", .application = "", .current = ""};
    r->value[PROCESS_REDUCTIONS] = per_s(t, known(raw->reductions, 1));
    r->value[PROCESS_MEMORY] = known(raw->words, WORD_BYTES);
    r->value[PROCESS_QUEUE] = known(raw->queue, 1);
    r->value[PROCESS_GROWTH] = raw->queue < 0 ? NAN : per_s(t, (double)raw->growth);
    r->value[PROCESS_BINARY] = known(raw->binary_words, WORD_BYTES);
    r->value[PROCESS_GCS] = per_s(t, known(raw->gcs, 1));
    set_statuses(r, raw->statuses);
    return r;
}

/* ---- for a screen or an export ---- */

double process_row_run(const struct process_row *r)
{
    return r->rounds ? r->share[STACK_RUNNING] + r->share[STACK_RUNNABLE] +
                           r->share[STACK_GARBAGE_COLLECTING]
                     : NAN;
}

const char *process_row_name(const struct process_row *r, char out[PROCESS_PID_BYTES])
{
    if (r->name[0])
        return r->name;
    if (r->pid == 0)
        return "";
    if (r->initial_call[0])
        return r->initial_call;
    snapshot_pid(r->pid, out);
    return out;
}

static bool matches(const struct process_row *r, const char *text)
{
    char pid[PROCESS_PID_BYTES] = "";

    if (r->pid)
        snapshot_pid(r->pid, pid);
    return text_contains(r->name, text) || text_contains(r->initial_call, text) ||
           text_contains(r->application, text) || text_contains(r->current, text) ||
           text_contains(pid, text);
}

struct order {
    const struct process_row *row;
    const struct process_query *q;
};

static double value(const struct process_row *r, unsigned sort)
{
    return sort == PROCESS_SORT_RUN ? process_row_run(r) : r->value[sort];
}

/* < 0: x comes first */
static int in_order(const struct process_row *x, const struct process_row *y,
                    const struct process_query *q)
{
    char a[PROCESS_PID_BYTES], b[PROCESS_PID_BYTES];

    if (x->rest != y->rest)
        return x->rest - y->rest;
    if (q->sort >= PROCESS_SORT_NAME) {
        int way = strcmp(process_row_name(x, a), process_row_name(y, b));
        return q->reverse ? -way : way;
    }
    double v = value(x, q->sort), w = value(y, q->sort);
    if (isnan(v) || isnan(w))
        return isnan(v) - isnan(w);
    int way = v > w ? -1 : v < w;
    return q->reverse ? -way : way;
}

static int compare(const void *a, const void *b, void *arg)
{
    const uint16_t *i = a, *j = b;
    const struct order *o = arg;
    int way = in_order(&o->row[*i], &o->row[*j], o->q);

    return way ? way : *i - *j; /* in the order of the node */
}

size_t process_table_order(const struct process_table *t, const struct process_query *q,
                           uint16_t *out)
{
    struct order o = {t->row[q->group], q};
    size_t n = 0;

    for (size_t i = 0; i < t->n[q->group]; i++)
        if (!q->filter[0] || matches(&o.row[i], q->filter))
            out[n++] = (uint16_t)i;
    qsort_r(out, n, sizeof *out, compare, &o);
    return n;
}
