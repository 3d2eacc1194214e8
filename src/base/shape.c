#include <kprof/base/shape.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)4 << 20)

struct shape_set *shape_new(void)
{
    struct shape_set *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    buf_init(&s->text, TEXT_BYTES);
    buf_addch(&s->text, 0); /* the empty text */
    return s;
}

void shape_free(struct shape_set *s)
{
    if (!s)
        return;
    buf_release(&s->text);
    free(s->node);
    free(s);
}

bool shape_call(struct shape_set *s)
{
    assert(s->open_n == 0);
    if (s->calls == SHAPE_CALLS)
        return false;
    s->call[s->calls++] = s->n;
    return true;
}

static bool grown(struct shape_set *s)
{
    if (s->n < s->cap)
        return true;
    if (s->cap == SHAPE_NODES)
        return false;
    s->cap = s->cap ? s->cap * 2 : 256;
    s->cap = s->cap < SHAPE_NODES ? s->cap : SHAPE_NODES;
    s->node = realloc(s->node, s->cap * sizeof *s->node);
    if (!s->node)
        abort();
    return true;
}

bool shape_open(struct shape_set *s, const struct shape_node *like)
{
    assert(s->calls > 0);
    if (s->open_n == SHAPE_DEPTH || !grown(s))
        return false;
    struct shape_node *n = &s->node[s->n];
    *n = *like;
    n->depth = s->open_n;
    n->parts = 0;
    if (s->open_n)
        s->node[s->open[s->open_n - 1]].parts++;
    s->open[s->open_n++] = s->n++;
    n->end = s->n;
    return true;
}

void shape_close(struct shape_set *s)
{
    assert(s->open_n > 0);
    s->node[s->open[--s->open_n]].end = s->n;
}

struct shape_text shape_text(struct shape_set *s, const void *p, size_t n)
{
    struct shape_text t = {.at = (uint32_t)s->text.len, .len = (uint32_t)n};

    if (n == 0 || n + 1 > s->text.max - s->text.len)
        return (struct shape_text){0, 0};
    buf_add(&s->text, p, n);
    buf_addch(&s->text, 0);
    return t;
}

const char *shape_str(const struct shape_set *s, struct shape_text t)
{
    return s->text.data + t.at;
}

uint32_t shape_call_end(const struct shape_set *s, uint32_t call)
{
    return call + 1 < s->calls ? s->call[call + 1] : s->n;
}

uint32_t shape_call_of(const struct shape_set *s, uint32_t node)
{
    uint32_t c = 0;

    while (c + 1 < s->calls && s->call[c + 1] <= node)
        c++;
    return c;
}

uint32_t shape_parent(const struct shape_set *s, uint32_t node)
{
    uint32_t i = node;

    if (s->node[node].depth == 0)
        return SHAPE_NONE;
    while (s->node[--i].depth >= s->node[node].depth)
        ;
    return i;
}

static bool same_text(const struct shape_set *s, struct shape_text a, struct shape_text b)
{
    return a.len == b.len && memcmp(shape_str(s, a), shape_str(s, b), a.len) == 0;
}

static bool same_step(const struct shape_set *s, const struct shape_node *a,
                      const struct shape_node *b)
{
    if (a->step != b->step)
        return false;
    return a->step == SHAPE_KEY || a->step == SHAPE_LONG_KEY ? same_text(s, a->key, b->key)
                                                             : a->nth == b->nth;
}

/* One step down, among the nodes [from, to) of one depth. */
static uint32_t step_down(const struct shape_set *s, uint32_t from, uint32_t to,
                          const struct shape_node *like)
{
    for (uint32_t i = from; i < to; i = s->node[i].end) {
        if (same_step(s, &s->node[i], like))
            return i;
    }
    return SHAPE_NONE;
}

/* May `like` be among the parts of p that were left out? */
static bool left_out(const struct shape_node *p, const struct shape_node *like)
{
    if (p->parts >= p->size)
        return false;
    return (p->kind == SHAPE_TUPLE && like->step == SHAPE_ELEMENT && like->nth <= p->size) ||
           (p->kind == SHAPE_LIST && like->step == SHAPE_NTH && like->nth <= p->size) ||
           (p->kind == SHAPE_MAP && (like->step == SHAPE_KEY || like->step == SHAPE_LONG_KEY));
}

uint32_t shape_alike(const struct shape_set *s, uint32_t node, uint32_t call, bool *cut)
{
    uint32_t way[SHAPE_DEPTH], n = 0;
    uint32_t from = s->call[call], to = shape_call_end(s, call), at = SHAPE_NONE;

    *cut = false;
    for (uint32_t i = node; i != SHAPE_NONE; i = shape_parent(s, i))
        way[n++] = i;
    while (n > 0) {
        const struct shape_node *like = &s->node[way[--n]];
        uint32_t next = step_down(s, from, to, like);
        if (next == SHAPE_NONE) {
            *cut = at != SHAPE_NONE && left_out(&s->node[at], like);
            return SHAPE_NONE;
        }
        at = next;
        from = at + 1;
        to = s->node[at].end;
    }
    return at;
}
