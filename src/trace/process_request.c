#include <kprof/trace/process_request.h>

#include "agent_call.h"

#include <kprof/erl/enc.h>
#include <kprof/erl/term.h>
#include <stddef.h>
#include <string.h>

#define TEXT_BYTES 256
#define MOST       (INT64_C(1) << 52) /* largest number; exact in a double */
#define MOST_US    UINT64_C(1000000000000)
#define INTEGER    97 /* tag of 0, which stands for no name */

/* ---- the request ---- */

static void enc_within(struct buf *b, const struct process_order *r)
{
    struct mfa f;
    size_t at;

    if (r->within == PROCESS_BY_APPLICATION) {
        enc_tuple(b, 2);
        enc_atom(b, "application");
        enc_str(b, r->name);
    } else if (r->within == PROCESS_BY_CALL && term_parse_mfa(r->name, &f, &at)) {
        enc_tuple(b, 2);
        enc_atom(b, "initial_call");
        enc_tuple(b, 3);
        enc_str(b, f.module);
        enc_str(b, f.function);
        enc_i64(b, f.arity);
    } else {
        enc_atom(b, "all");
    }
}

static int read_error(struct etf *c, struct err *e)
{
    char why[300];
    struct etf at = *c;
    uint32_t arity;

    if (!etf_tuple(&at, &arity) || arity != 3 || !etf_is_atom(&at, "error") || !etf_skip(&at))
        return agent_call_unreadable("processes", e);
    etf_text(&at, why, sizeof why);
    return err_set(e, "the node cannot show its processes: %s", why);
}

int process_request_take(struct session *s, const struct process_request *r,
                         struct process_table *t, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "processes");
    enc_map(&q.request, 4);
    enc_atom(&q.request, "by");
    enc_atom(&q.request, process_value_name(r->order.by));
    enc_atom(&q.request, "rows");
    enc_u64(&q.request, PROCESS_ROWS);
    enc_atom(&q.request, "period_ms");
    enc_u64(&q.request, r->period_ms);
    enc_atom(&q.request, "within");
    enc_within(&q.request, &r->order);
    int rc = agent_call_send(&q, s, e);
    struct etf answer = q.c;
    if (rc == 0 && !process_request_read(&q.c, t))
        rc = read_error(&answer, e);
    agent_call_end(&q);
    return rc;
}

int process_request_end(struct session *s, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "processes");
    enc_atom(&q.request, "off");
    return agent_call_done(&q, s, e);
}

/* ---- figures ---- */

struct figures {
    uint64_t gate, period_us, asked_us, next_us, cost, processes, born, died, late, unnamed,
        between_us, round_us;
};

static const struct {
    const char *name;
    size_t at;
} figures[] = {
#define FIGURE(f)                                                                                  \
    {                                                                                              \
#f, offsetof(struct figures, f)                                                            \
    }
    FIGURE(gate), FIGURE(period_us), FIGURE(asked_us),   FIGURE(next_us),
    FIGURE(cost), FIGURE(processes), FIGURE(born),       FIGURE(died),
    FIGURE(late), FIGURE(unnamed),   FIGURE(between_us), FIGURE(round_us),
#undef FIGURE
};

/* Unknown names are from a newer agent. */
static bool read_figures(struct etf *c, struct figures *f)
{
    uint32_t pairs;

    memset(f, 0, sizeof *f);
    if (!etf_map(c, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs && !c->bad; i++) {
        const char *k;
        size_t n;
        int64_t v;
        if (!etf_atom(c, &k, &n))
            return false;
        struct etf value = *c;
        bool is = etf_i64(&value, &v) && v >= 0;
        for (size_t j = 0; is && j < sizeof figures / sizeof *figures; j++)
            if (strlen(figures[j].name) == n && memcmp(figures[j].name, k, n) == 0)
                *(uint64_t *)((char *)f + figures[j].at) = (uint64_t)v;
        etf_skip(c);
    }
    return !c->bad;
}

static double seconds(uint64_t us)
{
    return (double)(us < MOST_US ? us : MOST_US) / 1e6;
}

static void set_head(struct process_head *h, const struct figures *f)
{
    h->gate = f->gate <= PROCESS_GATE_RUN_QUEUE ? (enum process_gate)f->gate : PROCESS_GATE_BREAKER;
    h->processes = f->processes;
    h->between_s = seconds(f->between_us);
    if (h->between_s > 0) {
        h->born_per_s = (double)f->born / h->between_s;
        h->died_per_s = (double)f->died / h->between_s;
    }
    h->period_s = seconds(f->period_us);
    h->asked_s = seconds(f->asked_us);
    h->next_s = seconds(f->next_us);
    h->round_s = seconds(f->round_us);
    h->cost_percent = (double)(f->cost < 1000000 ? f->cost : 1000000) / 1e4;
    h->late = f->late;
    h->unnamed = f->unnamed;
}

/* ---- rows ---- */

/* A function or 0; an atom or 0: as text. */
static const char *read_text(struct etf *c, struct process_table *t, bool call, bool *ok)
{
    struct buf text;
    const char *kept = "";

    if (etf_peek(c) == INTEGER) {
        *ok &= etf_skip(c);
        return kept;
    }
    buf_init(&text, TEXT_BYTES);
    *ok &= call ? term_mfa(c, &text, TEXT_BYTES) : term_identity(c, &text, TEXT_BYTES);
    if (*ok)
        kept = process_table_text(t, text.data, text.len);
    buf_release(&text);
    return kept;
}

static const char *read_binary(struct etf *c, struct process_table *t, bool *ok)
{
    const uint8_t *b;
    size_t n;

    if (!etf_binary(c, &b, &n)) {
        *ok = false;
        return "";
    }
    return process_table_text(t, (const char *)b, n < TEXT_BYTES ? n : TEXT_BYTES);
}

static int64_t read_number(struct etf *c, bool *ok)
{
    int64_t v = 0;

    *ok &= etf_i64(c, &v) && v < MOST && v > -MOST;
    return v;
}

/* {Total, Reductions, Queue, Growth, Words, BinaryWords, Gcs, Statuses} */
static bool read_values(struct etf *c, struct process_raw *raw)
{
    uint32_t n;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 8 || !etf_skip(c))
        return false;
    raw->reductions = read_number(c, &ok);
    raw->queue = read_number(c, &ok);
    raw->growth = read_number(c, &ok);
    raw->words = read_number(c, &ok);
    raw->binary_words = read_number(c, &ok);
    raw->gcs = read_number(c, &ok);
    return ok && etf_u64(c, &raw->statuses);
}

/* {Pid, Name | 0, FirstCall | 0, Application, Present | 0, Values} */
static bool read_row(struct etf *c, struct process_table *t)
{
    struct process_raw raw;
    uint64_t pid;
    uint32_t n;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 6 || !etf_pid(c, &pid))
        return false;
    const char *name = read_text(c, t, false, &ok), *call = read_text(c, t, true, &ok);
    const char *application = read_binary(c, t, &ok), *current = read_text(c, t, true, &ok);
    if (!ok || !read_values(c, &raw))
        return false;
    struct process_row *r = process_table_add(t, PROCESS_UNGROUPED, &raw);
    if (r) {
        r->pid = pid;
        r->name = name;
        r->initial_call = call;
        r->application = application;
        r->current = current;
    }
    return true;
}

/* {Processes, Reductions, Queue, Growth, Words, BinaryWords, Gcs} */
static bool read_sums(struct etf *c, struct process_raw *raw, int64_t *processes)
{
    uint32_t n;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 7)
        return false;
    memset(raw, 0, sizeof *raw);
    *processes = read_number(c, &ok);
    raw->reductions = read_number(c, &ok);
    raw->queue = read_number(c, &ok);
    raw->growth = read_number(c, &ok);
    raw->words = read_number(c, &ok);
    raw->binary_words = read_number(c, &ok);
    raw->gcs = read_number(c, &ok);
    return ok && *processes >= 0;
}

/* {FirstCall | Application | other, Sums} */
static bool read_group(struct etf *c, struct process_table *t, enum process_group kind)
{
    struct process_raw raw;
    int64_t processes;
    uint32_t n;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 2)
        return false;
    bool rest = etf_is_atom(c, "other");
    const char *name = rest                      ? ""
                       : kind == PROCESS_BY_CALL ? read_text(c, t, true, &ok)
                                                 : read_binary(c, t, &ok);
    if (!ok || !read_sums(c, &raw, &processes))
        return false;
    struct process_row *r = process_table_add(t, kind, &raw);
    if (r) {
        r->name = name;
        r->rest = rest;
        r->processes = (uint64_t)processes;
    }
    return true;
}

static bool read_rows(struct etf *c, struct process_table *t, enum process_group kind)
{
    uint32_t n;

    if (!etf_list(c, &n) || n > PROCESS_ROWS + 1)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!(kind == PROCESS_UNGROUPED ? read_row(c, t) : read_group(c, t, kind)))
            return false;
    return n == 0 || etf_nil(c);
}

/* {processes, Seq, By, Figures, Rows, Calls, Applications} */
static bool read_table(struct etf *c, struct process_table *t)
{
    struct figures f;
    const char *by;
    size_t n;

    if (!etf_is_atom(c, "processes") || !etf_u64(c, &t->head.seq) || !etf_atom(c, &by, &n) ||
        !read_figures(c, &f))
        return false;
    t->head.by = process_value_parse(by, n);
    set_head(&t->head, &f);
    if (t->head.by == PROCESS_VALUES) {
        t->head.by = PROCESS_REDUCTIONS;
        return false;
    }
    for (enum process_group kind = 0; kind < PROCESS_GROUPS; kind++)
        if (!read_rows(c, t, kind))
            return false;
    return true;
}

bool process_request_read(struct etf *c, struct process_table *t)
{
    struct figures f;
    uint32_t arity;

    if (!etf_tuple(c, &arity))
        return false;
    if (arity == 7)
        return read_table(c, t);
    if (arity != 2 || !etf_is_atom(c, "wait") || !read_figures(c, &f))
        return false;
    set_head(&t->head, &f);
    return true;
}
