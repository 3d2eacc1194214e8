#include <kprof/trace/stack_decode.h>

#include "stack_message.h"
#include "stack_values.h"

#include <assert.h>
#include <kprof/base/map.h>
#include <kprof/erl/etf.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 65536u
#define STACKS_MAX    65536u
#define FRAMES_MAX    1024u
#define SAMPLES_MAX   65536u

struct process {
    uint64_t pid;
    uint32_t name, initial_call, application;
    struct stack_values_last last;
};

struct raw { /* a sample as received */
    uint64_t time_ns, process, stack;
    uint32_t status;
    struct etf values;
};

struct stack_decoder {
    struct stack_profile *profile;
    stack_decode_take *take; /* NULL: samples go to the profile */
    void *take_arg;
    struct map process_of, stack_of; /* the agent's numbers -> slot; -> stack of the profile */
    struct process *process;
    uint32_t *free_slot;
    uint32_t n_free, slots;
    struct raw *raw;
    size_t raw_cap;
    uint64_t seq;
    struct stack_figures fig;
    struct stack_decode_counts counts;
};

struct stack_decoder *stack_decoder_new(struct stack_profile *p)
{
    struct stack_decoder *d = calloc(1, sizeof *d);
    struct stack_profile_meta meta = *stack_profile_meta(p);

    if (!d || !(d->process = calloc(PROCESSES_MAX, sizeof *d->process)) ||
        !(d->free_slot = calloc(PROCESSES_MAX, sizeof *d->free_slot)))
        abort();
    d->profile = p;
    map_init(&d->process_of, PROCESSES_MAX);
    map_init(&d->stack_of, STACKS_MAX);
    meta.unit = STACK_UNIT_US;
    stack_profile_set_meta(p, &meta);
    return d;
}

void stack_decoder_free(struct stack_decoder *d)
{
    if (!d)
        return;
    map_release(&d->process_of);
    map_release(&d->stack_of);
    free(d->process);
    free(d->free_slot);
    free(d->raw);
    free(d);
}

void stack_decoder_pass_to(struct stack_decoder *d, stack_decode_take *take, void *arg)
{
    d->take = take;
    d->take_arg = arg;
}

const struct stack_figures *stack_decoder_figures(const struct stack_decoder *d)
{
    return &d->fig;
}

const struct stack_decode_counts *stack_decoder_counts(const struct stack_decoder *d)
{
    return &d->counts;
}

/* Another sampler: all numbers are new. */
static void begin(struct stack_decoder *d)
{
    map_clear(&d->process_of);
    map_clear(&d->stack_of);
    d->n_free = d->slots = 0;
    memset(&d->fig, 0, sizeof d->fig);
}

/* ---- totals ---- */

static const struct figure {
    const char *name;
    size_t at;
} figures[] = {
#define FIGURE(f)                                                                                  \
    {                                                                                              \
#f, offsetof(struct stack_figures, f)                                                      \
    }
#define FIGURE_NAMED(name, f)                                                                      \
    {                                                                                              \
        name, offsetof(struct stack_figures, f)                                                    \
    }
    FIGURE(asked),     FIGURE(sampled), FIGURE(other),
    FIGURE(died),      FIGURE(own),     FIGURE(skipped),
    FIGURE(late),      FIGURE(stuck),   FIGURE(lost),
    FIGURE(cut),       FIGURE(matched), FIGURE(chosen),
    FIGURE(walked),    FIGURE(held),    FIGURE(interval_us),
    FIGURE(asked_us),  FIGURE(pace_us), FIGURE(groups),
    FIGURE(weight_us), FIGURE(workers), FIGURE_NAMED("cost", cost_ppm),
    FIGURE(sample_ns), FIGURE(depth),   FIGURE(born),
    FIGURE(born_ms),
#undef FIGURE
#undef FIGURE_NAMED
};

static void take_figure(struct stack_figures *f, const char *k, size_t n, uint64_t v)
{
    if (n == 4 && memcmp(k, "gate", 4) == 0)
        f->gate = v <= STACK_GATE_RUN_QUEUE ? (enum stack_gate)v : STACK_GATE_BREAKER;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strlen(figures[i].name) == n && memcmp(figures[i].name, k, n) == 0)
            *(uint64_t *)((char *)f + figures[i].at) = v;
}

/* A newer agent may send unknown names. */
static bool read_figures(struct stack_decoder *d, struct etf *c)
{
    uint32_t pairs;

    if (!etf_map(c, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs && !c->bad; i++) {
        const char *k;
        size_t n;
        int64_t v;
        if (!etf_atom(c, &k, &n))
            return false;
        struct etf value = *c;
        if (etf_i64(&value, &v))
            take_figure(&d->fig, k, n, v > 0 ? (uint64_t)v : 0);
        etf_skip(c);
    }
    return !c->bad;
}

/* ---- processes ---- */

/* 0: none; moves past it. */
static bool is_none(struct etf *c)
{
    struct etf in = *c;
    uint64_t v;

    if (!etf_u64(&in, &v) || v != 0)
        return false;
    *c = in;
    return true;
}

/* An atom, a binary, or 0. */
static uint32_t read_text(struct stack_decoder *d, struct etf *c, bool *ok)
{
    const char *s;
    const uint8_t *b;
    size_t n;
    struct etf in = *c;

    if (is_none(c))
        return 0;
    if (etf_binary(&in, &b, &n)) {
        *c = in;
        return stack_profile_text(d->profile, (const char *)b, n);
    }
    if (etf_atom(c, &s, &n))
        return stack_profile_text(d->profile, s, n);
    *ok = false;
    return 0;
}

static uint32_t read_small(struct etf *c, uint32_t most, bool *ok)
{
    uint64_t v;

    *ok &= etf_u64(c, &v) && v <= most;
    return *ok ? (uint32_t)v : 0;
}

/* {M, F, A}, or 0 */
static uint32_t read_call(struct stack_decoder *d, struct etf *c, bool *ok)
{
    struct stack_frame f = {0};
    uint32_t n;

    if (is_none(c))
        return 0;
    if (!etf_tuple(c, &n) || n != 3) {
        *ok = false;
        return 0;
    }
    f.module = read_text(d, c, ok);
    f.function = read_text(d, c, ok);
    f.arity = read_small(c, STACK_NO_ARITY - 1, ok);
    return *ok ? stack_profile_frame(d->profile, &f) : 0;
}

/* The slot of a process: its present one, or a new one; MAP_EMPTY: the table is full. */
static uint32_t slot_for(struct stack_decoder *d, uint64_t number)
{
    uint32_t slot = map_get(&d->process_of, number);

    if (slot != MAP_EMPTY)
        return slot;
    if (d->n_free == 0 && d->slots == PROCESSES_MAX)
        return MAP_EMPTY;
    slot = d->n_free ? d->free_slot[--d->n_free] : d->slots++;
    memset(&d->process[slot], 0, sizeof d->process[slot]);
    bool put = map_put(&d->process_of, number, slot);
    assert(put);
    (void)put;
    return slot;
}

/* {Number, Pid, Name | 0, FirstCall | 0, Application} */
static bool read_process(struct stack_decoder *d, struct etf *c)
{
    struct process p = {0};
    uint64_t number;
    uint32_t n;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 5 || !etf_u64(c, &number) || !etf_pid(c, &p.pid))
        return false;
    p.name = read_text(d, c, &ok);
    p.initial_call = read_call(d, c, &ok);
    p.application = read_text(d, c, &ok);
    if (!ok)
        return false;
    uint32_t slot = slot_for(d, number);
    if (slot != MAP_EMPTY) {
        struct process *at = &d->process[slot];
        at->pid = p.pid;
        at->name = p.name;
        at->initial_call = p.initial_call;
        at->application = p.application;
    }
    return true;
}

static void forget_process(void *arg, uint64_t number)
{
    struct stack_decoder *d = arg;
    uint32_t slot = map_get(&d->process_of, number);

    if (slot != MAP_EMPTY && map_del(&d->process_of, number))
        d->free_slot[d->n_free++] = slot;
}

/* ---- stacks ---- */

/* {M, F, A, Line, File} */
static uint32_t read_frame(struct stack_decoder *d, struct etf *c, bool *ok)
{
    struct stack_frame f;
    uint32_t n;

    if (!etf_tuple(c, &n) || n != 5) {
        *ok = false;
        return 0;
    }
    f.module = read_text(d, c, ok);
    f.function = read_text(d, c, ok);
    f.arity = read_small(c, STACK_NO_ARITY - 1, ok);
    f.line = read_small(c, UINT32_MAX, ok);
    f.file = read_text(d, c, ok);
    return *ok ? stack_profile_frame(d->profile, &f) : 0;
}

/* The frame that represents callers that the node has cut off. */
static uint32_t cut_frame(struct stack_decoder *d)
{
    static const char text[] = "[truncated]";
    struct stack_frame f = {.arity = STACK_NO_ARITY};

    f.function = stack_profile_text(d->profile, text, sizeof text - 1);
    return stack_profile_frame(d->profile, &f);
}

/* {Number, Cut, [Frame]}, innermost first */
static bool read_stack(struct stack_decoder *d, struct etf *c)
{
    uint32_t frame[FRAMES_MAX], n, stack = 0;
    uint64_t number, cut;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 3 || !etf_u64(c, &number) || !etf_u64(c, &cut) ||
        !etf_list(c, &n) || n > FRAMES_MAX)
        return false;
    for (uint32_t i = 0; i < n && ok; i++)
        frame[i] = read_frame(d, c, &ok);
    if (!ok || (n && !etf_nil(c)))
        return false;
    if (cut)
        stack = stack_profile_push(d->profile, stack, cut_frame(d));
    for (uint32_t i = n; i > 0; i--)
        stack = stack_profile_push(d->profile, stack, frame[i - 1]);
    map_put(&d->stack_of, number, stack); /* full: its samples are unknown */
    return true;
}

static void forget_stack(void *arg, uint64_t number)
{
    struct stack_decoder *d = arg;

    map_del(&d->stack_of, number);
}

/* ---- samples ---- */

/* {Process, Native, Stack, Status, Values} */
static bool read_sample(struct etf *c, const struct node_clock *k, struct raw *r)
{
    int64_t native;
    uint32_t n;
    bool ok = true;

    if (!etf_tuple(c, &n) || n != 5 || !etf_u64(c, &r->process) || !etf_i64(c, &native) ||
        !etf_u64(c, &r->stack))
        return false;
    r->time_ns = node_clock_ns(k, native);
    r->status = read_small(c, STACK_STATUSES - 1, &ok);
    r->values = *c;
    return ok && etf_skip(c);
}

static int by_time(const void *a, const void *b)
{
    const struct raw *x = a, *y = b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static bool add_sample(struct stack_decoder *d, const struct raw *r)
{
    uint32_t slot = map_get(&d->process_of, r->process), stack = map_get(&d->stack_of, r->stack);
    struct stack_metrics m;
    struct etf values = r->values;

    if (slot == MAP_EMPTY || stack == MAP_EMPTY) {
        d->counts.unknown++;
        return true;
    }
    if (!stack_values_read(&values, &m))
        return false;
    struct process *p = &d->process[slot];
    stack_values_changes(&p->last, &m);
    struct stack_sample s = {
        .time_ns = r->time_ns,
        .weight = d->fig.weight_us,
        .process = p->pid,
        .stack = stack,
        .initial_call = p->initial_call,
        .name = p->name,
        .application = p->application,
        .status = r->status,
    };
    if (d->take)
        d->take(d->take_arg, &s, &m);
    else
        stack_profile_add(d->profile, &s, &m);
    d->counts.samples++;
    return true;
}

static bool read_samples(struct stack_decoder *d, struct etf *c, const struct node_clock *k)
{
    uint32_t n;
    bool ok = true;

    if (!etf_list(c, &n) || n > SAMPLES_MAX)
        return false;
    if (n > d->raw_cap) {
        free(d->raw);
        d->raw = malloc(n * sizeof *d->raw);
        if (!d->raw)
            abort();
        d->raw_cap = n;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!read_sample(c, k, &d->raw[i]))
            return false;
    if (n && !etf_nil(c))
        return false;
    if (n)
        qsort(d->raw, n, sizeof *d->raw, by_time); /* several workers: their turns overlap */
    for (uint32_t i = 0; i < n; i++)
        ok &= add_sample(d, &d->raw[i]);
    return ok;
}

/* ---- a message ---- */

static bool each(struct stack_decoder *d, struct etf *c,
                 bool (*read)(struct stack_decoder *, struct etf *))
{
    uint32_t n;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!read(d, c))
            return false;
    return n == 0 || etf_nil(c);
}

/* Figures, Processes, Left, Stacks, Gone, Samples. Samples may refer to Left and Gone, so these are
 * removed last. */
static bool read_body(struct stack_decoder *d, struct etf *c, const struct node_clock *k)
{
    if (!read_figures(d, c) || !each(d, c, read_process))
        return false;
    struct etf left = *c;
    if (!etf_skip(c) || !each(d, c, read_stack))
        return false;
    struct etf gone = *c;
    if (!etf_skip(c))
        return false;
    bool ok = read_samples(d, c, k);
    return stack_message_numbers(&left, forget_process, d) &&
           stack_message_numbers(&gone, forget_stack, d) && ok;
}

/* The numbers of another sampler begin again; its first messages may be missing. A recording may
 * begin in the middle of a sampler. */
static void note_seq(struct stack_decoder *d, uint64_t seq)
{
    if (seq <= 1 || seq <= d->seq) {
        begin(d);
        d->seq = 0;
    }
    d->counts.samplers += d->seq == 0;
    if (d->counts.messages && seq > d->seq + 1)
        d->counts.missing += seq - d->seq - 1;
    d->seq = seq;
}

bool stack_decoder_feed(struct stack_decoder *d, const void *bytes, size_t n,
                        const struct node_clock *clock)
{
    struct etf c;
    uint64_t seq;
    int64_t native;

    if (!stack_message_head(&c, bytes, n, &seq, &native))
        goto bad;
    note_seq(d, seq);
    d->counts.messages++;
    if (read_body(d, &c, clock))
        return true;
bad:
    d->counts.bad++;
    return false;
}
