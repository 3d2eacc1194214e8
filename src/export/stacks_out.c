#include <kprof/base/must.h>
#include <kprof/base/text.h>

#include "stacks_out.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 64 << 10 };

static void hand_on(struct stacks_out *o)
{
    if (o->b.len == 0)
        return;
    o->ok = o->ok && o->sink(o->arg, o->b.data, o->b.len);
    buf_clear(&o->b);
}

void stacks_out_more(struct stacks_out *o)
{
    if (o->b.len >= PIECE_BYTES)
        hand_on(o);
}

void stacks_out_end(struct stacks_out *o)
{
    hand_on(o);
    buf_release(&o->b);
}

void stacks_out_name(struct buf *b, const char *s, size_t n, const char * not, char by)
{
    size_t from = b->len;
    text_safe(b, s, n, 0, false);
    for (size_t i = from; i < b->len; i++)
        if (strchr(not, b->data[i]))
            b->data[i] = by;
}

void stacks_out_pid(struct buf *b, uint64_t process)
{
    buf_addf(b, "0.%u.%u", (unsigned)(uint32_t)process, (unsigned)(process >> 32));
}

void stacks_frames_of(struct stacks_frames *f, const struct stack_profile *p, uint32_t stack,
                      bool fold)
{
    f->n = 0;
    for (; stack != 0; stack = stack_profile_caller(p, stack)) {
        uint32_t frame = stack_profile_leaf(p, stack);
        if (fold && f->n > 0 &&
            stack_profile_function(p, f->frame[f->n - 1]) == stack_profile_function(p, frame))
            continue;
        if (f->n == f->cap) {
            f->cap = f->cap ? f->cap * 2 : 64;
            f->frame = must(realloc(f->frame, f->cap * sizeof *f->frame));
        }
        f->frame[f->n++] = frame;
    }
}

void stacks_frames_release(struct stacks_frames *f)
{
    free(f->frame);
    *f = (struct stacks_frames){0};
}

void stacks_texts_init(struct stacks_texts *t, const struct stack_profile *p,
                       void (*make)(struct buf *b, const struct stack_profile *p, uint32_t frame))
{
    size_t n = (size_t)stack_profile_frames(p) + 1;
    *t = (struct stacks_texts){.profile = p, .make = make};
    buf_init(&t->made, SIZE_MAX / 4);
    t->from = must(calloc(n, sizeof *t->from));
    t->to = must(calloc(n, sizeof *t->to));
    buf_addch(&t->made, ' '); /* so that no range ends at 0 */
}

void stacks_texts_release(struct stacks_texts *t)
{
    buf_release(&t->made);
    free(t->from);
    free(t->to);
}

void stacks_texts_add(struct stacks_texts *t, struct buf *out, uint32_t frame)
{
    if (t->to[frame] == 0) {
        t->from[frame] = t->made.len;
        t->make(&t->made, t->profile, frame);
        t->to[frame] = t->made.len;
    }
    buf_add(out, t->made.data + t->from[frame], t->to[frame] - t->from[frame]);
}
