#include <kprof/core/call_tree.h>

#include <assert.h>
#include <kprof/base/buf.h>
#include <kprof/base/map.h>
#include <kprof/core/flame.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* A call that has not returned. */
struct entry {
    uint32_t node, function, caller;
    bool tail; /* the entry below made this call as a tail call: both end together */
};

struct proc {
    bool known, active;
    uint64_t pid;
    uint32_t name, initial_call;
    uint32_t node; /* 0: it has none yet */
    uint64_t last_ns;
    struct entry *stack;
    uint32_t depth;
    uint32_t sleep, gc; /* the node to which time is added now; 0: none */
};

struct call_tree {
    struct stack_profile *profile;
    struct call_node *node;
    uint32_t *last_child; /* by node */
    uint32_t nodes, cap;
    struct map children; /* parent << 32 | kind << 30 | frame */
    struct proc *proc;
    struct call_tree_counts counts;
};

struct call_tree *call_tree_new(struct stack_profile *p)
{
    struct call_tree *t = calloc(1, sizeof *t);
    struct stack_profile_meta meta = *stack_profile_meta(p);

    if (!t || !(t->proc = calloc(CALL_TREE_PROCESSES_MAX, sizeof *t->proc)))
        abort();
    t->profile = p;
    t->cap = 1024;
    t->node = calloc(t->cap, sizeof *t->node);
    t->last_child = calloc(t->cap, sizeof *t->last_child);
    if (!t->node || !t->last_child)
        abort();
    t->nodes = 1;
    map_init(&t->children, CALL_TREE_NODES_MAX);
    meta.unit = STACK_UNIT_NS;
    stack_profile_set_meta(p, &meta);
    return t;
}

void call_tree_free(struct call_tree *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < CALL_TREE_PROCESSES_MAX; i++)
        free(t->proc[i].stack);
    map_release(&t->children);
    free(t->proc);
    free(t->node);
    free(t->last_child);
    free(t);
}

bool call_tree_process(struct call_tree *t, uint32_t number, uint64_t pid, uint32_t name,
                       uint32_t initial_call)
{
    if (number >= CALL_TREE_PROCESSES_MAX)
        return false;
    struct proc *p = &t->proc[number];
    p->known = true;
    p->pid = pid;
    p->name = name;
    p->initial_call = initial_call;
    if (p->node)
        t->node[p->node].pid = pid;
    return true;
}

/* ---- nodes ---- */

static void grow(struct call_tree *t)
{
    if (t->nodes < t->cap)
        return;
    t->cap *= 2;
    t->node = realloc(t->node, t->cap * sizeof *t->node);
    t->last_child = realloc(t->last_child, t->cap * sizeof *t->last_child);
    if (!t->node || !t->last_child)
        abort();
}

/* "SLEEP kprof_sample:db/2" */
static uint32_t named_frame(struct call_tree *t, const char *word, uint32_t function)
{
    struct stack_frame f = {.arity = STACK_NO_ARITY};
    struct buf text;

    buf_init(&text, 0);
    buf_adds(&text, word);
    if (function) {
        buf_addch(&text, ' ');
        flame_frame_text(&text, t->profile, function, false);
    }
    f.function = stack_profile_text(t->profile, text.data, text.len);
    buf_release(&text);
    return stack_profile_frame(t->profile, &f);
}

static uint32_t add_node(struct call_tree *t, uint32_t parent, enum call_node_kind kind,
                         uint32_t frame)
{
    if (t->nodes >= CALL_TREE_NODES_MAX || t->node[parent].depth >= CALL_TREE_DEPTH_MAX + 2)
        return NONE;
    grow(t);
    uint32_t i = t->nodes++;
    struct call_node *up = &t->node[parent];
    t->node[i] = (struct call_node){
        .kind = kind, .parent = parent, .depth = up->depth + 1, .frame = frame, .stack = up->stack};
    if (frame)
        t->node[i].stack = stack_profile_push(t->profile, up->stack, frame);
    if (t->last_child[parent])
        t->node[t->last_child[parent]].next = i;
    else
        up->first_child = i;
    t->last_child[parent] = i;
    t->last_child[i] = 0;
    return i;
}

/* The child of `parent` for this function, or NONE if it does not fit. */
static uint32_t child(struct call_tree *t, uint32_t parent, enum call_node_kind kind,
                      uint32_t frame)
{
    uint64_t key = (uint64_t)parent << 32 | (uint64_t)kind << 30 | frame;
    uint32_t i = map_get(&t->children, key);

    if (i != MAP_EMPTY)
        return i;
    i = add_node(t, parent, kind, frame);
    if (i != NONE && !map_put(&t->children, key, i))
        return NONE;
    return i;
}

/* ---- time ---- */

static uint32_t top(const struct proc *p)
{
    return p->depth ? p->stack[p->depth - 1].node : p->node;
}

/* Adds the time since the last event of the process to the node that it is in. */
static void pass(struct call_tree *t, struct proc *p, uint64_t now_ns)
{
    if (p->active && now_ns > p->last_ns) {
        uint32_t in = p->gc ? p->gc : p->sleep ? p->sleep : top(p);
        struct stack_sample s = {
            .time_ns = p->last_ns,
            .weight = now_ns - p->last_ns,
            .process = p->pid,
            .stack = t->node[in].stack,
            .initial_call = p->initial_call,
            .name = p->name,
            .status = p->gc      ? STACK_GARBAGE_COLLECTING
                      : p->sleep ? STACK_WAITING
                                 : STACK_RUNNING,
        };
        t->node[in].own_ns += s.weight;
        stack_profile_add(t->profile, &s, NULL);
    }
    if (now_ns > p->last_ns)
        p->last_ns = now_ns;
}

/* ---- calls and returns ---- */

static void push(struct call_tree *t, struct proc *p, const struct call_event *e, bool tail)
{
    uint32_t node =
        p->depth < CALL_TREE_DEPTH_MAX ? child(t, top(p), CALL_NODE_FUNCTION, e->function) : NONE;

    if (node == NONE) { /* its time is the caller's */
        t->counts.cut++;
        return;
    }
    t->node[node].calls++;
    p->stack[p->depth++] = (struct entry){node, e->function, e->caller, tail};
}

/* Removes the topmost call, and those that ended with it. */
static void pop(struct proc *p)
{
    while (p->depth && p->stack[--p->depth].tail)
        ;
}

/* A function that tail-calls itself, directly or through other functions, continues in the node
 * that it has: the loop of a server stays one node. If the caller is not traced, it may also have
 * called the functions one after the other: then, too, one node is easier to read than a chain. */
static bool again(struct call_tree *t, struct proc *p, const struct call_event *e)
{
    for (uint32_t i = p->depth; i-- > 0;) {
        if (p->stack[i].function == e->function) {
            p->depth = i + 1;
            t->node[p->stack[i].node].calls++;
            return true;
        }
        if (!p->stack[i].tail)
            return false;
    }
    return false;
}

static bool on_stack(const struct proc *p, uint32_t function, uint32_t *at)
{
    for (uint32_t i = p->depth; i-- > 0;)
        if (p->stack[i].function == function) {
            *at = i;
            return true;
        }
    return false;
}

static void call(struct call_tree *t, struct proc *p, const struct call_event *e)
{
    uint32_t at = 0;

    t->counts.calls++;
    if (!p->depth || !e->caller || p->stack[p->depth - 1].function == e->caller) {
        push(t, p, e, false);
        return;
    }
    if (p->stack[p->depth - 1].caller == e->caller) {
        if (!again(t, p, e))
            push(t, p, e, true);
        return;
    }
    if (on_stack(p, e->caller, &at)) { /* the calls above it have ended without a return */
        t->counts.no_return += p->depth - 1 - at;
        p->depth = at + 1;
    }
    push(t, p, e, false);
}

static void return_to(struct call_tree *t, struct proc *p, uint32_t function)
{
    uint32_t at;

    if (!p->depth)
        return;
    if (p->stack[p->depth - 1].caller == function || !function) {
        pop(p);
        return;
    }
    for (uint32_t i = p->depth; i-- > 0;) {
        if (p->stack[i].caller == function) {
            t->counts.no_return += p->depth - 1 - i;
            p->depth = i + 1;
            pop(p);
            return;
        }
    }
    if (on_stack(p, function, &at)) {
        t->counts.no_return += p->depth - 1 - at;
        p->depth = at + 1;
    } else { /* a function that is not traced has caught an exception: at least this call ended */
        t->counts.no_return++;
        pop(p);
    }
}

/* ---- events ---- */

static bool begin(struct call_tree *t, struct proc *p, uint64_t now_ns)
{
    if (!p->node) {
        uint32_t i = add_node(t, 0, CALL_NODE_PROCESS, 0);
        if (i == NONE)
            return false;
        t->node[i].pid = p->pid;
        p->node = i;
    }
    if (!p->stack && !(p->stack = calloc(CALL_TREE_DEPTH_MAX, sizeof *p->stack)))
        abort();
    if (!p->active) {
        t->node[p->node].calls++;
        p->active = true;
        p->depth = p->sleep = p->gc = 0;
        if (now_ns > p->last_ns)
            p->last_ns = now_ns;
    }
    return true;
}

static void end(struct call_tree *t, struct proc *p, bool exception)
{
    if (exception && p->depth)
        t->node[p->stack[0].node].exceptions++;
    p->active = false;
    p->depth = p->sleep = p->gc = 0;
}

/* -> the node, or 0 */
static uint32_t pause_in(struct call_tree *t, struct proc *p, enum call_node_kind kind,
                         uint32_t function)
{
    uint32_t frame = named_frame(t, kind == CALL_NODE_SLEEP ? "SLEEP" : "GC", function);
    uint32_t i = child(t, top(p), kind, frame);

    if (i == NONE)
        return 0;
    t->node[i].calls++;
    return i;
}

void call_tree_add(struct call_tree *t, const struct call_event *e)
{
    struct proc *p = e->process < CALL_TREE_PROCESSES_MAX ? &t->proc[e->process] : NULL;

    if (!p || (unsigned)e->kind >= CALL_EVENT_KINDS ||
        ((e->kind == CALL_EVENT_CALL || e->kind == CALL_EVENT_BEGIN) && !e->function) ||
        e->function >= 1u << 30 || (!p->active && e->kind >= CALL_EVENT_END) ||
        !begin(t, p, e->time_ns)) {
        t->counts.bad++;
        return;
    }
    pass(t, p, e->time_ns);
    if (t->counts.events++ == 0)
        t->counts.first_ns = e->time_ns;
    if (e->time_ns > t->counts.last_ns)
        t->counts.last_ns = e->time_ns;
    switch (e->kind) {
    case CALL_EVENT_BEGIN:
    case CALL_EVENT_CALL:
        p->sleep = p->gc = 0;
        call(t, p, e);
        break;
    case CALL_EVENT_RETURN_TO:
        p->sleep = p->gc = 0;
        return_to(t, p, e->function);
        break;
    case CALL_EVENT_OUT:
        p->sleep = pause_in(t, p, CALL_NODE_SLEEP, e->function);
        break;
    case CALL_EVENT_IN:
        p->sleep = 0;
        break;
    case CALL_EVENT_GC:
        p->gc = pause_in(t, p, CALL_NODE_GC, 0);
        break;
    case CALL_EVENT_GC_END:
        p->gc = 0;
        break;
    case CALL_EVENT_END:
    case CALL_EVENT_END_EXCEPTION:
        end(t, p, e->kind == CALL_EVENT_END_EXCEPTION);
        break;
    case CALL_EVENT_KINDS:
        break;
    }
}

/* ---- the result ---- */

void call_tree_sum(struct call_tree *t, const struct call_tree_hide *hide)
{
    for (uint32_t i = 0; i < t->nodes; i++) {
        struct call_node *n = &t->node[i];
        bool hidden =
            (n->kind == CALL_NODE_SLEEP && hide->sleep) || (n->kind == CALL_NODE_GC && hide->gc);
        n->total_ns = hidden ? 0 : n->own_ns;
    }
    for (uint32_t i = t->nodes; i-- > 1;) /* a parent has the smaller number */
        t->node[t->node[i].parent].total_ns += t->node[i].total_ns;
}

uint32_t call_tree_nodes(const struct call_tree *t)
{
    return t->nodes;
}

const struct call_node *call_tree_node(const struct call_tree *t, uint32_t node)
{
    assert(node < t->nodes);
    return &t->node[node];
}

uint32_t call_tree_next(const struct call_tree *t, uint32_t node)
{
    if (t->node[node].first_child)
        return t->node[node].first_child;
    while (node && !t->node[node].next)
        node = t->node[node].parent;
    return node ? t->node[node].next : 0;
}

const struct call_tree_counts *call_tree_counts(const struct call_tree *t)
{
    return &t->counts;
}

const struct stack_profile *call_tree_profile(const struct call_tree *t)
{
    return t->profile;
}
