/* The output of the writers of stacks: a buffer that is passed to the sink when it is full.
 * Invariant: after the sink has returned false, nothing more is passed to it, and `ok` is false.
 * One thread.
 */
#ifndef KPROF_EXPORT_STACKS_OUT_H
#define KPROF_EXPORT_STACKS_OUT_H

#include <kprof/base/buf.h>
#include <kprof/export/stacks.h>

struct stacks_out {
    struct buf b; /* append here, and call stacks_out_more regularly */
    stacks_sink *sink;
    void *arg;
    bool ok;
};

void stacks_out_more(struct stacks_out *o); /* passes the buffer to the sink if it is full enough */
void stacks_out_end(struct stacks_out *o);  /* passes the rest to the sink */

/* Appends s with control characters made safe, and each byte of `not` replaced by `by`. */
void stacks_out_name(struct buf *b, const char *s, size_t n, const char * not, char by);
void stacks_out_pid(struct buf *b, uint64_t process); /* 0.80.0 */

/* The frames of a stack, leaf first. fold: a function that calls itself directly is one frame, the
 * innermost. Begins zeroed; frames_of replaces what was there. */
struct stacks_frames {
    uint32_t *frame;
    size_t n, cap;
};

void stacks_frames_of(struct stacks_frames *f, const struct stack_profile *p, uint32_t stack,
                      bool fold);
void stacks_frames_release(struct stacks_frames *f);

/* The output for each frame: made when the frame is first written, then copied. */
struct stacks_texts {
    const struct stack_profile *profile;
    void (*make)(struct buf *b, const struct stack_profile *p, uint32_t frame);
    struct buf made;
    size_t *from, *to; /* by frame id: a range of `made`; to 0: not yet made */
};

void stacks_texts_init(struct stacks_texts *t, const struct stack_profile *p,
                       void (*make)(struct buf *b, const struct stack_profile *p, uint32_t frame));
void stacks_texts_release(struct stacks_texts *t);
void stacks_texts_add(struct stacks_texts *t, struct buf *out, uint32_t frame);

/* The writers, one for each format of stacks.h. */
void stacks_write_folded(struct stacks_out *o, const struct stack_view *v,
                         const struct stacks_options *how);
void stacks_write_eflame(struct stacks_out *o, const struct stack_view *v,
                         const struct stacks_options *how);
void stacks_write_perf(struct stacks_out *o, const struct stack_view *v,
                       const struct stacks_options *how);
void stacks_write_speedscope(struct stacks_out *o, const struct stack_view *v,
                             const struct stacks_options *how);
void stacks_write_pprof(struct stacks_out *o, const struct stack_view *v,
                        const struct stacks_options *how);
void stacks_write_chrome(struct stacks_out *o, const struct stack_view *v,
                         const struct stacks_options *how);
void stacks_write_page(struct stacks_out *o, const struct stack_view *v,
                       const struct stacks_options *how, bool html);

#endif
