#include <kprof/base/value_tree.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)4 << 20)

struct value_tree *value_tree_new(void)
{
    struct value_tree *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    buf_init(&s->text, TEXT_BYTES);
    buf_addch(&s->text, 0); /* the empty text */
    return s;
}

void value_tree_free(struct value_tree *s)
{
    if (!s)
        return;
    buf_release(&s->text);
    free(s->node);
    free(s);
}

bool value_tree_call(struct value_tree *s)
{
    assert(s->open_n == 0);
    if (s->calls == VALUE_TREE_CALLS)
        return false;
    s->call[s->calls++] = s->n;
    return true;
}

static bool grown(struct value_tree *s)
{
    if (s->n < s->cap)
        return true;
    if (s->cap == VALUE_TREE_NODES)
        return false;
    s->cap = s->cap ? s->cap * 2 : 256;
    s->cap = s->cap < VALUE_TREE_NODES ? s->cap : VALUE_TREE_NODES;
    s->node = realloc(s->node, s->cap * sizeof *s->node);
    if (!s->node)
        abort();
    return true;
}

bool value_tree_open(struct value_tree *s, const struct value_tree_node *like)
{
    assert(s->calls > 0);
    if (s->open_n == VALUE_TREE_DEPTH || !grown(s))
        return false;
    struct value_tree_node *n = &s->node[s->n];
    *n = *like;
    n->depth = s->open_n;
    n->parts = 0;
    if (s->open_n)
        s->node[s->open[s->open_n - 1]].parts++;
    s->open[s->open_n++] = s->n++;
    n->end = s->n;
    return true;
}

void value_tree_close(struct value_tree *s)
{
    assert(s->open_n > 0);
    s->node[s->open[--s->open_n]].end = s->n;
}

struct value_tree_text value_tree_text(struct value_tree *s, const void *p, size_t n)
{
    struct value_tree_text t = {.at = (uint32_t)s->text.len, .len = (uint32_t)n};

    if (n == 0 || n + 1 > s->text.max - s->text.len)
        return (struct value_tree_text){0, 0};
    buf_add(&s->text, p, n);
    buf_addch(&s->text, 0);
    return t;
}

const char *value_tree_str(const struct value_tree *s, struct value_tree_text t)
{
    return s->text.data + t.at;
}

uint32_t value_tree_call_end(const struct value_tree *s, uint32_t call)
{
    return call + 1 < s->calls ? s->call[call + 1] : s->n;
}

uint32_t value_tree_call_of(const struct value_tree *s, uint32_t node)
{
    uint32_t c = 0;

    while (c + 1 < s->calls && s->call[c + 1] <= node)
        c++;
    return c;
}

uint32_t value_tree_parent(const struct value_tree *s, uint32_t node)
{
    uint32_t i = node;

    if (s->node[node].depth == 0)
        return VALUE_TREE_NONE;
    while (s->node[--i].depth >= s->node[node].depth)
        ;
    return i;
}

static bool same_text(const struct value_tree *s, struct value_tree_text a,
                      struct value_tree_text b)
{
    return a.len == b.len && memcmp(value_tree_str(s, a), value_tree_str(s, b), a.len) == 0;
}

static bool same_step(const struct value_tree *s, const struct value_tree_node *a,
                      const struct value_tree_node *b)
{
    if (a->step != b->step)
        return false;
    return a->step == VALUE_TREE_KEY || a->step == VALUE_TREE_LONG_KEY
               ? same_text(s, a->key, b->key)
               : a->nth == b->nth;
}

/* One step down, to a node in [from, to) of one depth. */
static uint32_t step_down(const struct value_tree *s, uint32_t from, uint32_t to,
                          const struct value_tree_node *like)
{
    for (uint32_t i = from; i < to; i = s->node[i].end) {
        if (same_step(s, &s->node[i], like))
            return i;
    }
    return VALUE_TREE_NONE;
}

/* True: `like` may be among the parts of p that were left out. */
static bool left_out(const struct value_tree_node *p, const struct value_tree_node *like)
{
    if (p->parts >= p->size)
        return false;
    return (p->kind == VALUE_TREE_TUPLE && like->step == VALUE_TREE_ELEMENT &&
            like->nth <= p->size) ||
           (p->kind == VALUE_TREE_LIST && like->step == VALUE_TREE_NTH && like->nth <= p->size) ||
           (p->kind == VALUE_TREE_MAP &&
            (like->step == VALUE_TREE_KEY || like->step == VALUE_TREE_LONG_KEY));
}

uint32_t value_tree_alike(const struct value_tree *s, uint32_t node, uint32_t call, bool *cut)
{
    uint32_t way[VALUE_TREE_DEPTH], n = 0;
    uint32_t from = s->call[call], to = value_tree_call_end(s, call), at = VALUE_TREE_NONE;

    *cut = false;
    for (uint32_t i = node; i != VALUE_TREE_NONE; i = value_tree_parent(s, i))
        way[n++] = i;
    while (n > 0) {
        const struct value_tree_node *like = &s->node[way[--n]];
        uint32_t next = step_down(s, from, to, like);
        if (next == VALUE_TREE_NONE) {
            *cut = at != VALUE_TREE_NONE && left_out(&s->node[at], like);
            return VALUE_TREE_NONE;
        }
        at = next;
        from = at + 1;
        to = s->node[at].end;
    }
    return at;
}
