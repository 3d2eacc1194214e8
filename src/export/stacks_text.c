#include <kprof/base/map.h>

#include "stacks_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 1000000 }; /* maximum lines of eflame for a sample: weights may be nanoseconds */

/* ---- folded ---- */

void stacks_write_folded(struct stacks_out *o, const struct stack_view *v,
                         const struct stacks_options *how)
{
    struct flame *f = flame_build(v, &how->query);
    uint32_t *path = malloc((f->depth + 1) * sizeof *path);
    size_t *at_label = malloc(((size_t)f->labels + 2) * sizeof *at_label);
    struct buf names; /* the text of each label, made safe once */
    if (!path || !at_label)
        abort();
    buf_init(&names, SIZE_MAX / 4);
    for (uint32_t l = 1; l <= f->labels; l++) {
        size_t len;
        const char *s = flame_label_text(f, l, &len);
        at_label[l] = names.len;
        stacks_out_name(&names, s, len, ";", ':');
    }
    at_label[f->labels + 1] = names.len;
    for (uint32_t i = 0; i < f->nodes && o->ok; i++) {
        uint32_t n = 0;
        if (f->node[i].self == 0)
            continue;
        for (uint32_t at = i; at != 0; at = f->node[at].parent)
            path[n++] = at;
        if (n == 0)
            buf_adds(&o->b, "all"); /* samples without a stack */
        while (n-- > 0) {
            uint32_t l = f->node[path[n]].label;
            buf_add(&o->b, names.data + at_label[l], at_label[l + 1] - at_label[l]);
            if (n > 0)
                buf_addch(&o->b, ';');
        }
        buf_addf(&o->b, " %" PRIu64 "\n", f->node[i].self);
        stacks_out_more(o);
    }
    buf_release(&names);
    free(at_label);
    free(path);
    flame_free(f);
}

/* ---- one sample after the other ---- */

/* M:F/A as Erlang's tools write it: without quotes, Elixir modules with their prefix. */
static void add_function(struct buf *b, const struct stack_profile *p, const struct stack_frame *f)
{
    size_t n;
    const char *s = stack_profile_str(p, f->module, &n);
    stacks_out_name(b, s, n, ";", ':');
    if (n > 0)
        buf_addch(b, ':');
    s = stack_profile_str(p, f->function, &n);
    stacks_out_name(b, s, n, ";", ':');
    if (f->arity != STACK_NO_ARITY)
        buf_addf(b, "/%u", (unsigned)f->arity);
}

static void eflame_frame(struct buf *b, const struct stack_profile *p, uint32_t frame)
{
    struct stack_frame f = stack_profile_frame_of(p, frame);
    buf_addch(b, ';');
    add_function(b, p, &f);
}

void stacks_write_eflame(struct stacks_out *o, const struct stack_view *v,
                         const struct stacks_options *how)
{
    const struct stack_profile *p = stack_view_profile(v);
    enum stack_unit unit = stack_profile_meta(p)->unit;
    /* in eflame a line is a millisecond */
    uint64_t per_line = unit == STACK_UNIT_NS ? 1000000 : unit == STACK_UNIT_US ? 1000 : 1;
    struct stacks_frames f = {0};
    struct stacks_texts texts;
    struct buf line;
    buf_init(&line, 0);
    stacks_texts_init(&texts, p, eflame_frame);
    for (size_t i = 0; i < stack_view_count(v) && o->ok; i++) {
        const struct stack_sample *s = stack_view_at(v, i);
        if (!flame_passes(v, i, &how->query.filter))
            continue;
        stacks_frames_of(&f, p, s->stack, how->query.fold_recursion);
        buf_clear(&line);
        buf_addch(&line, '<');
        stacks_out_pid(&line, s->process);
        buf_addch(&line, '>');
        for (size_t k = f.n; k-- > 0;)
            stacks_texts_add(&texts, &line, f.frame[k]);
        buf_adds(&line, s->status == STACK_WAITING ? ";sleep\n" : "\n");
        /* eflame has no counts: its scripts count equal lines. */
        uint64_t lines = s->weight / per_line > 0 ? s->weight / per_line : 1;
        for (uint64_t w = 0; w < lines && w < LINES_MAX && o->ok; w++) {
            buf_add(&o->b, line.data, line.len);
            stacks_out_more(o);
        }
    }
    stacks_texts_release(&texts);
    buf_release(&line);
    stacks_frames_release(&f);
}

/* ---- perf script ---- */

static void perf_header(struct buf *b, const struct stack_view *v, size_t i, bool integer_pid)
{
    const struct stack_sample *s = stack_view_at(v, i);
    struct stack_metrics m;
    buf_addf(b, "%s\t", s->status ? stack_status_name(s->status) : "unknown");
    if (integer_pid)
        buf_addf(b, "%u", (unsigned)(uint32_t)s->process);
    else
        stacks_out_pid(b, s->process);
    buf_addf(b, " [000] %" PRIu64 ".%06u: cpu-clock:", s->time_ns / 1000000000u,
             (unsigned)(s->time_ns / 1000 % 1000000));
    stack_view_metrics(v, i, &m);
    for (unsigned k = 0; k < STACK_METRICS; k++)
        if (m.known >> k & 1)
            buf_addf(b, "\tmetric_erlang_%s: %" PRId64 ", %" PRId64, stack_metric_name(k),
                     m.value[k], m.delta[k]);
    buf_addch(b, '\n');
}

/* A blank or a parenthesis would end the file name. */
static void add_file(struct buf *b, const struct stack_profile *p, const struct stack_frame *f)
{
    size_t n;
    const char *s = stack_profile_str(p, f->file ? f->file : f->module, &n);
    buf_adds(b, " (");
    stacks_out_name(b, s, n, " ()", '_');
    buf_adds(b, f->file || n == 0 ? ")\n" : ".erl)\n");
}

static void perf_frame(struct buf *b, const struct stack_profile *p, uint32_t frame)
{
    struct stack_frame f = stack_profile_frame_of(p, frame);
    buf_adds(b, "\tffffffff ");
    add_function(b, p, &f);
    if (f.line != 0)
        buf_addf(b, ";%u", (unsigned)f.line);
    add_file(b, p, &f);
}

static void perf_initial_call(struct buf *b, const struct stack_profile *p, uint32_t frame)
{
    struct stack_frame f = stack_profile_frame_of(p, frame);
    buf_adds(b, "\tffffffff (");
    add_function(b, p, &f);
    buf_addch(b, ')');
    f.file = 0;
    add_file(b, p, &f);
}

void stacks_write_perf(struct stacks_out *o, const struct stack_view *v,
                       const struct stacks_options *how)
{
    const struct stack_profile *p = stack_view_profile(v);
    struct stacks_frames f = {0};
    struct stacks_texts texts;
    stacks_texts_init(&texts, p, perf_frame);
    for (size_t i = 0; i < stack_view_count(v) && o->ok; i++) {
        const struct stack_sample *s = stack_view_at(v, i);
        if (!flame_passes(v, i, &how->query.filter))
            continue;
        perf_header(&o->b, v, i, how->integer_pid);
        stacks_frames_of(&f, p, s->stack, how->query.fold_recursion);
        for (size_t k = 0; k < f.n; k++)
            stacks_texts_add(&texts, &o->b, f.frame[k]);
        /* The initial call is written once: not if it is also the outermost frame. */
        if (s->initial_call && (f.n == 0 || stack_profile_function(p, f.frame[f.n - 1]) !=
                                                stack_profile_function(p, s->initial_call)))
            perf_initial_call(&o->b, p, s->initial_call);
        buf_addch(&o->b, '\n');
        stacks_out_more(o);
    }
    stacks_texts_release(&texts);
    stacks_frames_release(&f);
}
