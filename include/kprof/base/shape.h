/* Values as trees, flat: each call's arguments with their parts in preorder, to walk over, point at
 * and compare.
 *
 * Invariant: nodes are only added; a node's subtree is [i, node[i].end), its parent is before it;
 * texts live in the set and hold any bytes (whoever draws them makes them safe). Bounded:
 * SHAPE_NODES nodes, SHAPE_DEPTH levels, SHAPE_CALLS calls; beyond it adding fails. Owned by one
 * thread at a time. */
#ifndef KPROF_BASE_SHAPE_H
#define KPROF_BASE_SHAPE_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_NODES 60000u
#define SHAPE_DEPTH 24
#define SHAPE_CALLS 20
#define SHAPE_NONE  UINT32_MAX

enum shape_kind {
    SHAPE_VALUE, /* has no parts: an atom, a number */
    SHAPE_BINARY,
    SHAPE_STRING,
    SHAPE_PROCESS,
    SHAPE_TUPLE,
    SHAPE_LIST,
    SHAPE_MAP
};

enum shape_step { SHAPE_ARG, SHAPE_ELEMENT, SHAPE_NTH, SHAPE_KEY, SHAPE_LONG_KEY };

struct shape_text {
    uint32_t at, len; /* in the set */
};

struct shape_node {
    enum shape_kind kind;
    enum shape_step step;         /* how its parent leads here, */
    uint32_t nth;                 /* from 1: of ARG, ELEMENT, NTH; */
    struct shape_text key;        /* of KEY, LONG_KEY (a key too large to be written) */
    struct shape_text text;       /* as it is shown; empty: it has parts */
    struct shape_text name;       /* as it names a request */
    struct shape_text other_name; /* PROCESS: its registered name */
    uint64_t size;                /* bytes, characters, elements: of the whole, parts may be cut */
    uint32_t parts;               /* of them here */
    uint32_t end, depth;
};

struct shape_set {
    struct shape_node *node;
    uint32_t n, cap;
    uint32_t call[SHAPE_CALLS]; /* first node of each; its arguments follow at depth 0 */
    uint32_t calls;
    struct buf text;
    uint32_t open[SHAPE_DEPTH], open_n; /* while it is built */
};

struct shape_set *shape_new(void);
void shape_free(struct shape_set *s); /* NULL is fine */

/* Building: a call, then its nodes; shape_open begins one (kind, step, nth, size are read),
 * shape_close ends the one begun last. False: no room. */
bool shape_call(struct shape_set *s);
bool shape_open(struct shape_set *s, const struct shape_node *like);
void shape_close(struct shape_set *s);
struct shape_text shape_text(struct shape_set *s, const void *p, size_t n);

const char *shape_str(const struct shape_set *s, struct shape_text t); /* NUL-terminated */
uint32_t shape_call_end(const struct shape_set *s, uint32_t call);     /* behind its last node */
uint32_t shape_call_of(const struct shape_set *s, uint32_t node);
uint32_t shape_parent(const struct shape_set *s, uint32_t node); /* SHAPE_NONE: an argument */
/* The part of another call that stands where `node` stands in its own: same argument, elements,
 * keys. SHAPE_NONE: there is none; *cut then says whether it may have been left out. */
uint32_t shape_alike(const struct shape_set *s, uint32_t node, uint32_t call, bool *cut);

/* What a capture of calls is at, and what it brought. */
struct capture {
    enum { CAPTURE_NONE, CAPTURE_RUNNING, CAPTURE_DONE, CAPTURE_FAILED } state;
    char function[300]; /* as the operator named it: M:F/A */
    uint64_t kept, seen, elapsed_us;
    bool rested;           /* tracing rested meanwhile */
    char why[300];         /* FAILED: a sentence */
    struct shape_set *set; /* DONE: owned; else NULL */
};

#endif
