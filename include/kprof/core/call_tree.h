/* The call tree of a full trace: which function called which, how often, and for how long, by
 * position: a function that is called at two places has two nodes.
 *
 * A node stands for a function called by its parent. A tail call is a child of its caller, too; a
 * function that tail-calls itself stays one node. A process below the root (node 0) holds the calls
 * that began in it. Time in which a process did not run is a child node SLEEP of the function that
 * waited. A garbage collection is a child node GC of the function that caused it. The time between
 * two events of a process also becomes a sample of the profile that the tree was made with: for
 * flame graphs, files and time lines. Its status is waiting, garbage collecting or running.
 *
 * Invariant: accepts any events. total = own + the totals of the children, of all nodes that are
 * not hidden; the root's total, with nothing hidden, is the sum of the times in which the processes
 * were traced, and equals that of the weights of the samples added to the profile. The calls of all
 * function nodes plus the calls that were cut are the calls that were added. The time of a call
 * that was cut (too many or too deep nodes) is its caller's. Times of a process never go back. Owns
 * its memory, borrows the profile. One thread. */
#ifndef KPROF_CORE_CALL_TREE_H
#define KPROF_CORE_CALL_TREE_H

#include <kprof/core/stack_profile.h>
#include <stdbool.h>
#include <stdint.h>

#define CALL_TREE_NODES_MAX     500000u
#define CALL_TREE_DEPTH_MAX     1000u
#define CALL_TREE_PROCESSES_MAX 4096u

enum call_event_kind {
    CALL_EVENT_CALL,
    CALL_EVENT_RETURN_TO, /* function: where to */
    CALL_EVENT_OUT,       /* the process stops running in function */
    CALL_EVENT_IN,
    CALL_EVENT_GC,
    CALL_EVENT_GC_END,
    CALL_EVENT_BEGIN, /* a call with which the trace of the process begins; END or END_EXCEPTION
                         ends this call */
    CALL_EVENT_END,
    CALL_EVENT_END_EXCEPTION,
    CALL_EVENT_KINDS
};

/* function, caller: frames of the profile; 0: not known. caller: where the call returns to. */
struct call_event {
    uint64_t time_ns;
    uint32_t process; /* a number of call_tree_process */
    enum call_event_kind kind;
    uint32_t function, caller;
};

enum call_node_kind { CALL_NODE_PROCESS, CALL_NODE_FUNCTION, CALL_NODE_SLEEP, CALL_NODE_GC };

struct call_node {
    enum call_node_kind kind;
    uint32_t parent, first_child, next; /* 0: none; children in the order of their first call */
    uint32_t depth;                     /* of the root: 0 */
    uint32_t frame;                     /* 0: root and processes */
    uint32_t stack;                     /* of the profile */
    uint64_t pid;                       /* of a process: serial << 32 | id */
    uint64_t calls;                     /* SLEEP, GC: how often; a process: how often it began */
    uint64_t own_ns, total_ns;
    uint64_t exceptions; /* calls that an exception ended, known for CALL_EVENT_BEGIN only */
};

struct call_tree_counts {
    uint64_t events, calls;
    uint64_t bad;       /* events of an unknown process or kind */
    uint64_t cut;       /* calls that have no node, because it did not fit */
    uint64_t no_return; /* frames without a reported return: an exception, before OTP 27.1 */
    uint64_t first_ns, last_ns;
};

struct call_tree;

/* Sets the unit of the profile. */
struct call_tree *call_tree_new(struct stack_profile *p);
void call_tree_free(struct call_tree *t); /* NULL is fine */
/* Names a process; before its first event. False: the number is too large. */
bool call_tree_process(struct call_tree *t, uint32_t number, uint64_t pid, uint32_t name,
                       uint32_t initial_call);
void call_tree_add(struct call_tree *t, const struct call_event *e);

/* Chooses what the totals do not contain. */
struct call_tree_hide {
    bool sleep, gc;
};

/* Computes the totals. Call it after the last event, and when what is hidden changes. */
void call_tree_sum(struct call_tree *t, const struct call_tree_hide *hide);
uint32_t call_tree_nodes(const struct call_tree *t); /* at least 1: the root */
const struct call_node *call_tree_node(const struct call_tree *t, uint32_t node);
/* The node after `node`, parents before their children; 0: there are no more. */
uint32_t call_tree_next(const struct call_tree *t, uint32_t node);
const struct call_tree_counts *call_tree_counts(const struct call_tree *t);
const struct stack_profile *call_tree_profile(const struct call_tree *t);

#endif
