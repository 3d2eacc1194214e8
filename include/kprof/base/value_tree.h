/* Values as trees in one flat array: the arguments of each call with their parts in preorder. Users
 * walk over them, select a node and compare calls.
 *
 * Invariant: nodes are only added. The subtree of node i is [i, node[i].end), and a parent comes
 * before its parts. The tree owns the texts, which may contain any bytes; code that draws them must
 * make them safe. Bounded: VALUE_TREE_NODES nodes, VALUE_TREE_DEPTH levels, VALUE_TREE_CALLS calls;
 * adding beyond a bound fails. One thread at a time owns a tree. */
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
    uint32_t at, len; /* position in the text of the tree */
};

struct value_tree_node {
    enum value_tree_kind kind;
    enum value_tree_step step;         /* the step from its parent to this node */
    uint32_t nth;                      /* ARG, ELEMENT, NTH: the position, from 1 */
    struct value_tree_text key;        /* KEY, LONG_KEY (too large for a rule): the key */
    struct value_tree_text text;       /* as shown on the screen; empty: the node has parts */
    struct value_tree_text name;       /* as it appears in the name of a request */
    struct value_tree_text other_name; /* PROCESS: its registered name */
    uint64_t size;  /* bytes, characters or elements of the whole value; parts may be cut */
    uint32_t parts; /* parts that are in the tree */
    uint32_t end, depth;
};

struct value_tree {
    struct value_tree_node *node;
    uint32_t n, cap;
    uint32_t call[VALUE_TREE_CALLS]; /* first node of each call; its arguments have depth 0 */
    uint32_t calls;
    struct buf text;
    uint32_t open[VALUE_TREE_DEPTH], open_n; /* nodes that are open while the tree is built */
};

struct value_tree *value_tree_new(void);
void value_tree_free(struct value_tree *s); /* NULL is allowed */

/* Building: value_tree_call begins a call, value_tree_open begins a node of it (and reads kind,
 * step, nth and size of `like`), value_tree_close ends the node that was begun last.
 * value_tree_call and value_tree_open return false when there is no room. */
bool value_tree_call(struct value_tree *s);
bool value_tree_open(struct value_tree *s, const struct value_tree_node *like);
void value_tree_close(struct value_tree *s);
struct value_tree_text value_tree_text(struct value_tree *s, const void *p, size_t n);

const char *value_tree_str(const struct value_tree *s,
                           struct value_tree_text t);                    /* NUL-terminated */
uint32_t value_tree_call_end(const struct value_tree *s, uint32_t call); /* past its last node */
uint32_t value_tree_call_of(const struct value_tree *s, uint32_t node);
uint32_t value_tree_parent(const struct value_tree *s,
                           uint32_t node); /* VALUE_TREE_NONE: an argument */
/* Returns the node of another call with the same path of arguments, elements and keys.
 * VALUE_TREE_NONE: there is no such node; *cut then reports whether it may have been left out. */
uint32_t value_tree_alike(const struct value_tree *s, uint32_t node, uint32_t call, bool *cut);

/* The state of a capture, and its result. */
struct capture {
    enum { CAPTURE_NONE, CAPTURE_RUNNING, CAPTURE_DONE, CAPTURE_FAILED } state;
    char function[300]; /* as the operator wrote it: M:F/A */
    uint64_t kept, seen, elapsed_us;
    bool paused;            /* tracing was paused for part of the time */
    char why[300];          /* FAILED: the reason, a sentence */
    struct value_tree *set; /* DONE: the calls, owned by the capture; else NULL */
};

#endif
