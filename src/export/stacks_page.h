/* The data of the interactive page: stacks_rows computes them from the samples, stacks_page writes
 * them; stacks_still draws the picture for viewers without scripts.
 *
 * Invariant: the sums of the rows are those of the samples that pass the filter. One thread. */
#ifndef KPROF_EXPORT_STACKS_PAGE_H
#define KPROF_EXPORT_STACKS_PAGE_H

#include <kprof/base/intern.h>
#include <kprof/base/map.h>

#include "stacks_out.h"

enum {
    STACKS_ROWS_MAX = 30000, /* beyond this number a sample has its stack, but no groups */
    STACKS_NODES_MAX = 60000,
    STACKS_TEXTS_MAX = 200000,
    STACKS_DIMS = 6
};

struct stacks_node {
    uint32_t parent, name;
};

/* All samples with the same stack and groups. dim: numbers of texts, from 1 on. */
struct stacks_row {
    uint32_t node, dim[STACKS_DIMS];
};

struct stacks_page {
    struct stacks_out *o;
    const struct stack_view *view;
    const struct stack_profile *profile;
    const struct stacks_options *how;
    struct intern *names, *nodes, *rows; /* of texts, struct stacks_node, struct stacks_row */
    struct intern *dim[STACKS_DIMS];     /* of texts */
    struct map dim_of[STACKS_DIMS];      /* key of the group to text */
    struct map node_of;                  /* stack to node */
    uint32_t *name_of;                   /* by frame id */
    struct flame_width width[FLAME_WIDTHS_MAX];
    size_t widths;
    uint32_t *path;
    size_t path_cap;
    uint64_t *sum;   /* by row, and in it by width */
    uint64_t merged; /* samples whose row has no groups */
};

extern const enum flame_group stacks_dim[STACKS_DIMS];

/* o, view, profile and how are set by the caller; the rest is computed. */
void stacks_page_init(struct stacks_page *p);
void stacks_page_release(struct stacks_page *p);

/* Appends the graph of the query as rects and texts of an SVG image. */
void stacks_still(struct stacks_out *o, const struct flame *f, const char *title);
unsigned stacks_still_height(const struct flame *f);
/* Appends s as text of XML. */
void stacks_xml(struct buf *b, const char *s, size_t n);

#endif
