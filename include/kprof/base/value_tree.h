/* Values as trees, flat: each call's arguments with their parts in preorder, to walk over, point at
 * and compare.
 *
 * Invariant: nodes are only added; a node's subtree is [i, node[i].end), its parent is before it;
 * texts live in the set and hold any bytes (whoever draws them makes them safe). Bounded:
 * VALUE_TREE_NODES nodes, VALUE_TREE_DEPTH levels, VALUE_TREE_CALLS calls; beyond it adding fails.
 * Owned by one thread at a time. */
#ifndef KPROF_BASE_VALUE_TREE_H
#define KPROF_BASE_VALUE_TREE_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_TREE_NODES 60000u
#define VALUE_TREE_DEPTH 24
#define VALUE_TREE_CALLS 20
#define VALUE_TREE_NONE  UINT32_MAX

enum value_tree_kind {
    VALUE_TREE_VALUE, /* has no parts: an atom, a number */
    VALUE_TREE_BINARY,
    VALUE_TREE_STRING,
    VALUE_TREE_PROCESS,
    VALUE_TREE_TUPLE,
    VALUE_TREE_LIST,
    VALUE_TREE_MAP
};

enum value_tree_step {
    VALUE_TREE_ARG,
    VALUE_TREE_ELEMENT,
    VALUE_TREE_NTH,
    VALUE_TREE_KEY,
    VALUE_TREE_LONG_KEY
};

struct value_tree_text {
    uint32_t at, len; /* in the set */
};

struct value_tree_node {
    enum value_tree_kind kind;
    enum value_tree_step step;         /* how its parent leads here, */
    uint32_t nth;                      /* from 1: of ARG, ELEMENT, NTH; */
    struct value_tree_text key;        /* of KEY, LONG_KEY (a key too large to be written) */
    struct value_tree_text text;       /* as it is shown; empty: it has parts */
    struct value_tree_text name;       /* as it names a request */
    struct value_tree_text other_name; /* PROCESS: its registered name */
    uint64_t size;  /* bytes, characters, elements: of the whole, parts may be cut */
    uint32_t parts; /* of them here */
    uint32_t end, depth;
};

struct value_tree {
    struct value_tree_node *node;
    uint32_t n, cap;
    uint32_t call[VALUE_TREE_CALLS]; /* first node of each; its arguments follow at depth 0 */
    uint32_t calls;
    struct buf text;
    uint32_t open[VALUE_TREE_DEPTH], open_n; /* while it is built */
};

struct value_tree *value_tree_new(void);
void value_tree_free(struct value_tree *s); /* NULL is fine */

/* Building: a call, then its nodes; value_tree_open begins one (kind, step, nth, size are read),
 * value_tree_close ends the one begun last. False: no room. */
bool value_tree_call(struct value_tree *s);
bool value_tree_open(struct value_tree *s, const struct value_tree_node *like);
void value_tree_close(struct value_tree *s);
struct value_tree_text value_tree_text(struct value_tree *s, const void *p, size_t n);

const char *value_tree_str(const struct value_tree *s,
                           struct value_tree_text t);                    /* NUL-terminated */
uint32_t value_tree_call_end(const struct value_tree *s, uint32_t call); /* behind its last node */
uint32_t value_tree_call_of(const struct value_tree *s, uint32_t node);
uint32_t value_tree_parent(const struct value_tree *s,
                           uint32_t node); /* VALUE_TREE_NONE: an argument */
/* The part of another call that stands where `node` stands in its own: same argument, elements,
 * keys. VALUE_TREE_NONE: there is none; *cut then says whether it may have been left out. */
uint32_t value_tree_alike(const struct value_tree *s, uint32_t node, uint32_t call, bool *cut);

/* What a capture of calls is at, and what it brought. */
struct capture {
    enum { CAPTURE_NONE, CAPTURE_RUNNING, CAPTURE_DONE, CAPTURE_FAILED } state;
    char function[300]; /* as the operator named it: M:F/A */
    uint64_t kept, seen, elapsed_us;
    bool rested;            /* tracing rested meanwhile */
    char why[300];          /* FAILED: a sentence */
    struct value_tree *set; /* DONE: owned; else NULL */
};

#endif
