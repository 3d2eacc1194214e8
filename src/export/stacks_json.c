#include <kprof/base/json.h>
#include <kprof/base/must.h>

#include "stacks_out.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- speedscope ---- */

static void write_frames(struct stacks_out *o, struct json *j, const struct flame *f)
{
    json_key(j, "shared");
    json_obj(j);
    json_key(j, "frames");
    json_arr(j);
    for (uint32_t l = 1; l <= f->labels; l++) {
        size_t n;
        const char *s = flame_label_text(f, l, &n);
        json_obj(j);
        json_key(j, "name");
        json_strn(j, s, n);
        json_obj_end(j);
        stacks_out_more(o);
    }
    json_arr_end(j);
    json_obj_end(j);
}

/* The labels from below `top` down to the node; only that of `top` for its own samples. */
static void write_stack(struct json *j, const struct flame *f, uint32_t node, uint32_t top,
                        uint32_t *path)
{
    uint32_t n = 0;
    json_arr(j);
    if (node == top)
        json_u64(j, f->node[top].label - 1);
    for (; node != top; node = f->node[node].parent)
        path[n++] = f->node[node].label - 1;
    while (n > 0)
        json_u64(j, path[--n]);
    json_arr_end(j);
}

static void write_profile(struct stacks_out *o, struct json *j, const struct flame *f, uint32_t top,
                          uint32_t *path)
{
    static const char *const UNIT[] = {[STACK_UNIT_SAMPLES] = "none",
                                       [STACK_UNIT_NS] = "nanoseconds",
                                       [STACK_UNIT_US] = "microseconds",
                                       [STACK_UNIT_BYTES] = "bytes"};
    bool bytes = f->by != FLAME_SAMPLES && f->metric == STACK_MEMORY;
    size_t n;
    const char *name = flame_text(f, top, &n);
    json_obj(j);
    json_key(j, "type");
    json_str(j, "sampled");
    json_key(j, "name");
    json_strn(j, name, n);
    json_key(j, "unit");
    json_str(j, bytes ? "bytes" : f->by != FLAME_SAMPLES ? "none" : UNIT[f->unit]);
    json_key(j, "startValue");
    json_u64(j, 0);
    json_key(j, "endValue");
    json_u64(j, f->node[top].total);
    json_key(j, "samples");
    json_arr(j);
    uint32_t i = top;
    do {
        if (f->node[i].self > 0)
            write_stack(j, f, i, top, path);
        stacks_out_more(o);
        i = flame_next(f, i, top);
    } while (i != 0);
    json_arr_end(j);
    json_key(j, "weights");
    json_arr(j);
    i = top;
    do {
        if (f->node[i].self > 0)
            json_u64(j, f->node[i].self);
        stacks_out_more(o);
        i = flame_next(f, i, top);
    } while (i != 0);
    json_arr_end(j);
    json_obj_end(j);
}

void stacks_write_speedscope(struct stacks_out *o, const struct stack_view *v,
                             const struct stacks_options *how)
{
    struct flame *f = flame_build(v, &how->query);
    uint32_t *path = must(malloc((f->depth + 1) * sizeof *path));
    const struct flame_node *root = &f->node[0];
    struct json j;
    json_init(&j, &o->b);
    json_obj(&j);
    json_key(&j, "$schema");
    json_str(&j, "https://www.speedscope.app/file-format-schema.json");
    json_key(&j, "name");
    json_str(&j, how->title ? how->title : "kprof-top");
    json_key(&j, "exporter");
    json_str(&j, "kprof-top");
    write_frames(o, &j, f);
    json_key(&j, "profiles");
    json_arr(&j);
    if (how->query.group == FLAME_UNGROUPED || root->children == 0)
        write_profile(o, &j, f, 0, path);
    else
        for (uint32_t c = root->first_child; c < root->first_child + root->children && o->ok; c++)
            write_profile(o, &j, f, c, path);
    json_arr_end(&j);
    json_obj_end(&j);
    buf_addch(&o->b, '\n');
    free(path);
    flame_free(f);
}

/* ---- trace events ---- */

struct timed {
    uint64_t process, time_ns;
    uint32_t sample;
};

struct timeline {
    struct stacks_out *o;
    struct json j;
    const struct stack_view *view;
    const struct stack_profile *profile;
    bool fold;
    struct timed *timed; /* samples sorted by process, then by time */
    size_t n;
    uint64_t start_ns;
    bool no_times;
    uint32_t tid;
    uint32_t *open; /* functions that are open now, root first */
    size_t opened, open_cap;
    struct stacks_frames next; /* of the next sample */
    struct stacks_texts texts;
    struct buf name;
};

static int by_process_and_time(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void event(struct timeline *t, const char *phase, const char *name, size_t n,
                  uint64_t time_ns)
{
    struct json *j = &t->j;
    uint64_t ns = time_ns - t->start_ns;
    json_obj(j);
    json_key(j, "ph");
    json_str(j, phase);
    json_key(j, "pid");
    json_u64(j, 1);
    json_key(j, "tid");
    json_u64(j, t->tid);
    json_key(j, "ts");
    json_f(j, (double)ns / 1000, 3);
    json_key(j, "name");
    json_strn(j, name, n);
    json_obj_end(j);
    stacks_out_more(t->o);
}

static void frame_name(struct buf *b, const struct stack_profile *p, uint32_t frame)
{
    flame_frame_text(b, p, frame, false);
}

static void frame_event(struct timeline *t, const char *phase, uint32_t frame, uint64_t time_ns)
{
    buf_clear(&t->name);
    stacks_texts_add(&t->texts, &t->name, frame);
    event(t, phase, t->name.data, t->name.len, time_ns);
}

static void close_to(struct timeline *t, size_t depth, uint64_t time_ns)
{
    while (t->opened > depth)
        frame_event(t, "E", t->open[--t->opened], time_ns);
}

/* The function at a depth of the next sample's stack; 0: the root. */
static uint32_t next_at(const struct timeline *t, size_t depth)
{
    return stack_profile_function(t->profile, t->next.frame[t->next.n - 1 - depth]);
}

static void open_to(struct timeline *t, size_t depth, uint64_t time_ns)
{
    if (depth > t->open_cap) {
        t->open_cap = depth;
        t->open = must(realloc(t->open, depth * sizeof *t->open));
    }
    for (; t->opened < depth; t->opened++) {
        t->open[t->opened] = next_at(t, t->opened);
        frame_event(t, "B", t->open[t->opened], time_ns);
    }
}

/* The weight as a time; 1 us for each sample or byte. */
static uint64_t weight_ns(const struct timeline *t, size_t i)
{
    uint64_t weight = stack_view_at(t->view, t->timed[i].sample)->weight;
    if (stack_profile_meta(t->profile)->unit == STACK_UNIT_NS)
        return weight;
    return weight < UINT64_MAX / 1000 ? weight * 1000 : UINT64_MAX;
}

/* The duration of a sample: its weight if that is a time, or if there are no times; else the time
 * to the next sample of the process, or one interval if that time is longer than two, so that time
 * without samples stays empty. */
static uint64_t length_ns(const struct timeline *t, size_t i)
{
    const struct stack_profile_meta *m = stack_profile_meta(t->profile);
    const struct timed *k = &t->timed[i];
    if (t->no_times || m->unit == STACK_UNIT_NS || m->unit == STACK_UNIT_US)
        return weight_ns(t, i);
    if (i + 1 == t->n || k[1].process != k->process)
        return m->interval_ns;
    uint64_t ns = k[1].time_ns - k->time_ns;
    return m->interval_ns && ns > 2 * m->interval_ns ? m->interval_ns : ns;
}

/* Frames that the sample shares with the previous one stay open. */
static void take(struct timeline *t, size_t i)
{
    const struct timed *k = &t->timed[i];
    bool last = i + 1 == t->n || k[1].process != k->process;
    uint64_t ns = length_ns(t, i), end_ns = k->time_ns + ns;
    if (end_ns < k->time_ns)
        end_ns = UINT64_MAX;
    if (!last && end_ns > k[1].time_ns)
        end_ns = k[1].time_ns;
    stacks_frames_of(&t->next, t->profile, stack_view_at(t->view, k->sample)->stack, t->fold);
    size_t same = 0;
    while (same < t->next.n && same < t->opened && t->open[same] == next_at(t, same))
        same++;
    close_to(t, same, k->time_ns);
    if (end_ns > k->time_ns)
        open_to(t, t->next.n, k->time_ns);
    if (last || end_ns < k[1].time_ns)
        close_to(t, 0, end_ns);
}

static void begin_process(struct timeline *t, const struct timed *k)
{
    const struct stack_sample *s = stack_view_at(t->view, k->sample);
    struct buf name;
    struct json *j = &t->j;
    buf_init(&name, 0);
    if (s->process == 0) {
        buf_adds(&name, "process not known");
    } else {
        buf_addch(&name, '<');
        stacks_out_pid(&name, s->process);
        buf_addch(&name, '>');
    }
    if (s->name) {
        buf_addch(&name, ' ');
        buf_adds(&name, stack_profile_str(t->profile, s->name, NULL));
    }
    t->tid++;
    json_obj(j);
    json_key(j, "ph");
    json_str(j, "M");
    json_key(j, "pid");
    json_u64(j, 1);
    json_key(j, "tid");
    json_u64(j, t->tid);
    json_key(j, "name");
    json_str(j, "thread_name");
    json_key(j, "args");
    json_obj(j);
    json_key(j, "name");
    json_strn(j, name.data, name.len);
    json_obj_end(j);
    json_obj_end(j);
    buf_release(&name);
}

/* Without times, the samples of a process follow each other. */
static void lay_end_to_end(struct timeline *t)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (i == 0 || t->timed[i].process != t->timed[i - 1].process)
            end_ns = 0;
        t->timed[i].time_ns = end_ns;
        uint64_t ns = weight_ns(t, i);
        end_ns = ns < UINT64_MAX - end_ns ? end_ns + ns : UINT64_MAX;
    }
}

static void sort_samples(struct timeline *t, const struct flame_filter *filter)
{
    size_t all = stack_view_count(t->view);
    t->timed = must(malloc((all + 1) * sizeof *t->timed));
    t->no_times = true;
    for (size_t i = 0; i < all; i++) {
        const struct stack_sample *s = stack_view_at(t->view, i);
        if (!flame_passes(t->view, i, filter))
            continue;
        if (t->n == 0 || s->time_ns < t->start_ns)
            t->start_ns = s->time_ns;
        t->no_times = t->no_times && s->time_ns == 0;
        t->timed[t->n++] = (struct timed){s->process, s->time_ns, (uint32_t)i};
    }
    qsort(t->timed, t->n, sizeof *t->timed, by_process_and_time);
    if (t->no_times)
        lay_end_to_end(t);
}

void stacks_write_chrome(struct stacks_out *o, const struct stack_view *v,
                         const struct stacks_options *how)
{
    struct timeline t = {
        .o = o, .view = v, .profile = stack_view_profile(v), .fold = how->query.fold_recursion};
    sort_samples(&t, &how->query.filter);
    stacks_texts_init(&t.texts, t.profile, frame_name);
    buf_init(&t.name, 0);
    json_init(&t.j, &o->b);
    json_obj(&t.j);
    json_key(&t.j, "displayTimeUnit");
    json_str(&t.j, "ns");
    json_key(&t.j, "traceEvents");
    json_arr(&t.j);
    for (size_t i = 0; i < t.n && o->ok; i++) {
        if (i == 0 || t.timed[i].process != t.timed[i - 1].process)
            begin_process(&t, &t.timed[i]);
        take(&t, i);
    }
    json_arr_end(&t.j);
    json_obj_end(&t.j);
    buf_addch(&o->b, '\n');
    stacks_texts_release(&t.texts);
    buf_release(&t.name);
    free(t.timed);
    free(t.open);
    stacks_frames_release(&t.next);
}
