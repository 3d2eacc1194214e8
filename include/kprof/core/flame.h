/* Flame graphs: the call tree of the samples of a view that pass a filter, its two halves around
 * one function (sandwich), and the comparison of two trees.
 *
 * Invariants: node 0 is the root, "all". A parent comes before its children; the children of a node
 * are contiguous, the widest first, equal ones in the order of their texts. total = self + the
 * totals of the children. The root's total is the sum over the samples that pass the filter, minus
 * those in `left_out`. A flame owns its memory and its texts: after it is built it needs neither
 * view nor profile. Texts are raw bytes from the node or a file. One thread. */
#ifndef KPROF_CORE_FLAME_H
#define KPROF_CORE_FLAME_H

#include <kprof/base/buf.h>
#include <kprof/core/stack_profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAME_NODES_MAX 2000000u

/* The meaning of the width of a node: samples (their weights), a metric, or the growth or shrinkage
 * of a metric. Negative values have no width. */
enum flame_by { FLAME_SAMPLES, FLAME_VALUE, FLAME_GROWTH, FLAME_SHRINKAGE };

/* The groups below the root. FLAME_WHO: the name of the process, else its initial call. */
enum flame_group {
    FLAME_UNGROUPED,
    FLAME_STATUS,
    FLAME_MEMORY, /* by powers of ten */
    FLAME_PROCESS,
    FLAME_WHO,
    FLAME_APPLICATION,
    FLAME_TIER,
    FLAME_IDENTITY,
    FLAME_GROUPS
};

const char *flame_group_name(enum flame_group g); /* "status", "memory", ...; "none" */

/* Selects samples. A field that is 0 (NULL, false) selects all. Ids are those of the profile. */
struct flame_filter {
    uint64_t from_ns, to_ns; /* [from, to) */
    uint64_t process;
    uint32_t statuses; /* bit 1 << enum stack_status for each */
    uint32_t initial_call, name, application, tier, identity;
    unsigned memory_decade;   /* 1 + the power of ten of the bytes */
    bool inside;              /* only inside requests */
    const uint64_t *requests; /* only inside these, ascending */
    size_t requests_n;
};

/* The part of each stack that is shown, relative to the outermost frame of the function `focus`.
 * Samples without this function are left out. */
enum flame_part {
    FLAME_WHOLE,   /* focus is ignored */
    FLAME_CALLEES, /* the function and its callees */
    FLAME_CALLERS  /* the function, its callers, their callers ... */
};

struct flame_query {
    struct flame_filter filter;
    enum flame_by by;
    enum stack_metric metric; /* not for FLAME_SAMPLES */
    enum flame_group group;
    bool fold_recursion; /* direct recursion is one frame */
    bool lines;          /* frames of different lines differ */
    enum flame_part part;
    uint32_t focus; /* a frame id */
};

struct flame_node {
    uint64_t total, self;           /* with and without the children */
    uint64_t base_total, base_self; /* the same in the base, if made by flame_compare; else 0 */
    uint32_t parent;                /* of the root: 0 */
    uint32_t first_child, children;
    uint32_t label; /* nodes with the same text have the same label, 1.. */
    uint32_t frame; /* a frame id of the profile; 0: root, group, or only in the base */
    uint32_t depth; /* of the root: 0 */
};

struct intern;

struct flame {
    struct flame_node *node;
    uint32_t nodes, depth; /* depth of the deepest node */
    uint32_t labels;       /* labels are 1..this */
    uint64_t samples;      /* samples that pass the filter and have a width */
    uint64_t widthless;    /* selected, but the metric is not known, or has no width */
    uint64_t left_out;     /* selected, but would make the sum too large */
    uint64_t cut;          /* number of times that a node did not fit: its caller got the width */
    uint64_t first_ns, last_ns; /* of the samples counted; 0 when there are none */
    enum stack_unit unit;       /* of the weights */
    enum flame_by by;
    enum stack_metric metric;
    bool compared;
    struct intern *texts;
};

struct flame *flame_build(const struct stack_view *v, const struct flame_query *q);
/* The tree of `now`, with the values of each node in `base` (matched by text). Nodes that only the
 * base has are included with a total of 0. */
struct flame *flame_compare(const struct flame *now, const struct flame *base);
void flame_free(struct flame *f); /* NULL is fine */

/* The node after `node` in the part below `top`, callers before callees; 0: there are no more. */
uint32_t flame_next(const struct flame *f, uint32_t node, uint32_t top);
const char *flame_text(const struct flame *f, uint32_t node, size_t *n); /* n may be NULL */
const char *flame_label_text(const struct flame *f, uint32_t label, size_t *n);

/* The sum over the nodes whose label is in `hit` (indexed by label, labels + 1 entries), each
 * sample once: a node below another such node adds nothing. `below` 0: the whole graph. */
uint64_t flame_sum(const struct flame *f, const bool *hit, uint32_t below);

/* What sample i adds to the width of its frames; 0: nothing, or it is not known. m: not for
 * FLAME_SAMPLES. */
uint64_t flame_sample_width(const struct stack_view *v, size_t i, enum flame_by by,
                            enum stack_metric m);
/* Whether sample i counts. */
bool flame_passes(const struct stack_view *v, size_t i, const struct flame_filter *f);
/* The memory of a sample's process: 1 + the power of ten of the bytes; 0: not known. */
unsigned flame_decade(const struct stack_view *v, size_t i);
/* The group of a sample, as a key (samples with equal keys are in one group) and as text. */
uint64_t flame_group_key(const struct stack_view *v, size_t i, enum flame_group g);
void flame_group_text(struct buf *out, const struct stack_view *v, size_t i, enum flame_group g);

/* Appends a frame as text: lists:map/2, MyApp.Repo.get/2, with lines lists:map/2:12. */
void flame_frame_text(struct buf *out, const struct stack_profile *p, uint32_t frame, bool line);

/* A possible width of a graph. */
struct flame_width {
    enum flame_by by;
    enum stack_metric metric; /* not for FLAME_SAMPLES */
};
#define FLAME_WIDTHS_MAX (1 + 3 * STACK_METRICS)

/* Finds the widths that some sample of the view has: samples first, then those of each metric. Goes
 * through all samples. Returns how many. */
size_t flame_widths(const struct stack_view *v, struct flame_width out[FLAME_WIDTHS_MAX]);
/* Appends "samples", "reductions", "growth of memory". unit: of the profile. */
void flame_width_text(struct buf *out, const struct flame_width *w, enum stack_unit unit);
/* What a sample adds to a width by FLAME_VALUE, FLAME_GROWTH or FLAME_SHRINKAGE. */
uint64_t flame_metric_width(enum flame_by by, int64_t value, int64_t delta);

#endif
