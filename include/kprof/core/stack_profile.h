/* Stack samples of processes: a store that is filled by the decoder of the sampler, by recordings
 * and by files of stacks, and read by flame graphs, heat maps and exports.
 *
 * Texts, frames and stacks are interned: their ids count up from 1 and stay valid until the profile
 * is freed; id 0 is "none" (no text, no frame, the empty stack). A stack is a node of a call tree:
 * the stack of its caller and one more frame. Samples are stored in chunks. When max_bytes or
 * max_samples is reached, the oldest chunk is dropped (keep_newest) or new samples are left out;
 * both are counted.
 *
 * Invariant: added = samples kept + dropped + left_out, in samples and in weight. A stack
 * that does not fit is attributed to the deepest of its callers that does, and counted as cut.
 * Texts are raw bytes from the node or a file: code that draws or writes them must make them safe.
 *
 * One thread (the writer) adds and takes views. A view is an immutable list of samples: one thread
 * at a time may read it while the writer continues. It keeps its chunks, and must be released
 * before the profile is freed. */
#ifndef KPROF_CORE_STACK_PROFILE_H
#define KPROF_CORE_STACK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Metrics of a process, by the names that process_info and flame_prof use. Sizes are in words,
 * `memory` in bytes. */
enum stack_metric {
    STACK_REDUCTIONS,
    STACK_MESSAGE_QUEUE_LEN,
    STACK_MEMORY,
    STACK_TOTAL_HEAP_SIZE,
    STACK_OLD_HEAP_BLOCK_SIZE, /* from here: garbage_collection_info */
    STACK_HEAP_BLOCK_SIZE,
    STACK_MBUF_SIZE,
    STACK_RECENT_SIZE,
    STACK_STACK_SIZE,
    STACK_OLD_HEAP_SIZE,
    STACK_HEAP_SIZE,
    STACK_BIN_VHEAP_SIZE,
    STACK_BIN_VHEAP_BLOCK_SIZE,
    STACK_BIN_OLD_VHEAP_SIZE,
    STACK_BIN_OLD_VHEAP_BLOCK_SIZE,
    STACK_MINOR_GCS,
    STACK_METRICS
};

const char *stack_metric_name(enum stack_metric m); /* "reductions" */
/* Returns STACK_METRICS if there is no metric with this name. */
enum stack_metric stack_metric_parse(const char *name, size_t n);

enum stack_status {
    STACK_STATUS_NONE, /* not known */
    STACK_RUNNING,     /* it may wait for a scheduler, or run a dirty job: not "on CPU" */
    STACK_RUNNABLE,
    STACK_WAITING,
    STACK_GARBAGE_COLLECTING,
    STACK_SUSPENDED,
    STACK_EXITING,
    STACK_STATUSES
};

const char *stack_status_name(enum stack_status s); /* "running"; "" for none */
/* Returns STACK_STATUS_NONE for other names. */
enum stack_status stack_status_parse(const char *name, size_t n);

/* The unit of the weights of samples. */
enum stack_unit { STACK_UNIT_SAMPLES, STACK_UNIT_NS, STACK_UNIT_US, STACK_UNIT_BYTES };

enum { STACK_NO_ARITY = 255 };

/* A function, or a line in it. A frame without module is only a text, `function`, such as SLEEP or
 * a name from a file. All fields except line and arity are text ids. */
struct stack_frame {
    uint32_t module, function, file;
    uint32_t line;  /* 0: not known */
    uint32_t arity; /* 0..254; STACK_NO_ARITY: none */
};

struct stack_sample {
    uint64_t time_ns; /* node time; files without times: 0 */
    uint64_t weight;  /* in the profile's unit (enum stack_unit) */
    uint64_t process; /* serial << 32 | id; 0: not known */
    uint64_t request; /* label of the request that contains it; 0: none */
    uint32_t stack;
    uint32_t initial_call;      /* a frame id */
    uint32_t name, application; /* text ids: registered name or label; application */
    uint32_t tier, identity;    /* text ids: inside a request; 0: outside */
    uint32_t status;            /* enum stack_status */
    uint32_t metrics_at;        /* of the store; ignored by stack_profile_add */
};

/* Bit m of `known`: value[m] and delta[m] are valid. delta is the change since the last sample of
 * the process; 0 in its first. */
struct stack_metrics {
    uint32_t known;
    int64_t value[STACK_METRICS], delta[STACK_METRICS];
};

struct stack_profile_limits {
    size_t max_bytes;   /* of samples with their metrics; 0: 64 MiB; at least 4 MiB. A view may keep
                           more than this. */
    size_t max_samples; /* 0: as many as fit; with keep_newest at least 8192 */
    uint32_t max_texts, max_frames, max_stacks; /* 0: 200,000, 200,000 and 1,000,000 */
    bool keep_newest; /* drop the oldest 4096 samples; false: leave out new samples */
};

struct stack_profile_counts {
    uint64_t added, added_weight;
    uint64_t dropped, dropped_weight;   /* the oldest, to make room */
    uint64_t left_out, left_out_weight; /* new samples that did not fit */
    uint64_t cut_stacks;                /* frames not stored because a table was full */
    uint64_t refused_texts;
    size_t bytes; /* of the stored samples and metrics */
};

struct stack_profile;
struct stack_view;

struct stack_profile *stack_profile_new(const struct stack_profile_limits *l); /* NULL: defaults */
void stack_profile_free(struct stack_profile *p);                              /* NULL is fine */

/* Values common to all samples. wall_ns: the wall clock at time_ns 0; 0: not known. interval_ns:
 * the time between two samples of a process; 0: not known, or it changes. */
struct stack_profile_meta {
    enum stack_unit unit;
    uint64_t interval_ns;
    int64_t wall_ns;
};

void stack_profile_set_meta(struct stack_profile *p, const struct stack_profile_meta *m);
const struct stack_profile_meta *stack_profile_meta(const struct stack_profile *p);

/* Intern texts and frames. They return 0 if a table is full; stacks leave out such a frame. */
uint32_t stack_profile_text(struct stack_profile *p, const char *s, size_t n);
uint32_t stack_profile_frame(struct stack_profile *p, const struct stack_frame *f);
/* Returns the stack of `caller` (0: empty) with `frame` added: a decoder pushes frames from the
 * root to the leaf. Returns `caller`, and counts this as cut, if the table is full or frame is 0.
 */
uint32_t stack_profile_push(struct stack_profile *p, uint32_t caller, uint32_t frame);

/* Adds a sample; m may be NULL. Ids must be of this profile. Returns false if the sample was left
 * out, which includes a weight of 0. */
bool stack_profile_add(struct stack_profile *p, const struct stack_sample *s,
                       const struct stack_metrics *m);
void stack_profile_clear(struct stack_profile *p); /* removes samples and counts; ids stay valid */
struct stack_profile_counts stack_profile_counts(const struct stack_profile *p);

/* The value of an id. Any thread that received the id. */
const char *stack_profile_str(const struct stack_profile *p, uint32_t text, size_t *n);
struct stack_frame stack_profile_frame_of(const struct stack_profile *p, uint32_t frame);
/* The frame without line and file; it is the same for all frames of a function. */
uint32_t stack_profile_function(const struct stack_profile *p, uint32_t frame);
uint32_t stack_profile_leaf(const struct stack_profile *p, uint32_t stack); /* a frame id */
uint32_t stack_profile_caller(const struct stack_profile *p, uint32_t stack);
uint32_t stack_profile_frames(const struct stack_profile *p); /* ids are 1..this */
uint32_t stack_profile_stacks(const struct stack_profile *p);

/* A view: the present samples, oldest first. */
struct stack_view *stack_profile_view(struct stack_profile *p);
void stack_view_release(struct stack_view *v); /* NULL is fine */
const struct stack_profile *stack_view_profile(const struct stack_view *v);
size_t stack_view_count(const struct stack_view *v);
/* The counts at the time when the view was made. */
const struct stack_profile_counts *stack_view_counts(const struct stack_view *v);
const struct stack_sample *stack_view_at(const struct stack_view *v, size_t i); /* i < count */
/* One metric of a sample. Returns false if it is not known. */
bool stack_view_metric(const struct stack_view *v, size_t i, enum stack_metric m, int64_t *value,
                       int64_t *delta);
void stack_view_metrics(const struct stack_view *v, size_t i, struct stack_metrics *out);

#endif
