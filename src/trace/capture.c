#include <kprof/trace/capture.h>

#include "agent_call.h"
#include "decode.h"

#include <kprof/erl/enc.h>
#include <kprof/erl/term.h>
#include <string.h>

#define SHOWN_BYTES 300
#define KEY_BYTES   1000 /* a longer key cannot be used in a rule */

/* The term as text; moves the cursor past it. */
static struct value_tree_text printed(struct value_tree *s, struct etf *c,
                                      bool (*how)(struct etf *, struct buf *, size_t), size_t max)
{
    struct buf b;

    buf_init(&b, 0);
    struct value_tree_text t = {0, 0};
    if (how(c, &b, max))
        t = value_tree_text(s, b.data, b.len);
    buf_release(&b);
    return t;
}

static struct value_tree_text name_of(struct value_tree *s, struct etf *c)
{
    return printed(s, c, term_identity, DECODE_IDENT_BYTES);
}

/* A term that is both shown and used as a name. */
static void shown_and_name(struct value_tree *s, struct etf *c, struct value_tree_node *n)
{
    struct etf again = *c;

    n->text = printed(s, c, term_print, SHOWN_BYTES);
    n->name = name_of(s, &again);
}

static bool read_part(struct value_tree *s, struct etf *c, struct value_tree_node *n);

static bool read_parts(struct value_tree *s, struct etf *c, enum value_tree_step step)
{
    uint32_t n;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct value_tree_node part = {.step = step, .nth = i + 1};
        if (!read_part(s, c, &part))
            return false;
    }
    return n == 0 || etf_nil(c);
}

static bool read_fields(struct value_tree *s, struct etf *c)
{
    uint32_t n, arity;

    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct value_tree_node part = {.step = VALUE_TREE_KEY, .nth = i + 1};
        const uint8_t *text;
        size_t len;
        if (!etf_tuple(c, &arity) || (arity != 2 && arity != 3))
            return false;
        if (arity == 2) {
            part.key = printed(s, c, term_print, KEY_BYTES);
        } else {
            part.step = VALUE_TREE_LONG_KEY;
            if (!etf_string(c, &text, &len))
                return false;
            part.key = value_tree_text(s, text, len);
        }
        if (!read_part(s, c, &part) || (arity == 3 && !etf_skip(c)))
            return false;
    }
    return n == 0 || etf_nil(c);
}

/* {Tag, Size, Name} of a value without parts. */
static bool read_sized(struct value_tree *s, struct etf *c, struct value_tree_node *n,
                       enum value_tree_kind kind)
{
    n->kind = kind;
    if (!etf_u64(c, &n->size))
        return false;
    shown_and_name(s, c, n);
    return !c->bad;
}

/* The elements of the tuple after its tag, of a value without parts. */
static bool read_leaf(struct value_tree *s, struct etf *c, struct value_tree_node *n,
                      uint32_t arity)
{
    const uint8_t *text;
    size_t len;

    if (arity == 2 && etf_is_atom(c, "v")) {
        shown_and_name(s, c, n);
    } else if (arity == 3 && etf_is_atom(c, "b")) {
        return read_sized(s, c, n, VALUE_TREE_BINARY);
    } else if (arity == 3 && etf_is_atom(c, "s")) {
        return read_sized(s, c, n, VALUE_TREE_STRING);
    } else if (arity == 3 && etf_is_atom(c, "p")) {
        n->kind = VALUE_TREE_PROCESS;
        shown_and_name(s, c, n);
        n->other_name = name_of(s, c);
    } else if (arity == 3 && etf_is_atom(c, "o")) {
        if (!etf_string(c, &text, &len))
            return false;
        n->text = value_tree_text(s, text, len);
        n->name = name_of(s, c);
    } else {
        return false;
    }
    return !c->bad;
}

static bool read_inner(struct value_tree *s, struct etf *c, struct value_tree_node *n,
                       uint32_t arity)
{
    bool ok;

    if (arity == 4 && etf_is_atom(c, "t"))
        n->kind = VALUE_TREE_TUPLE;
    else if (arity == 4 && etf_is_atom(c, "l"))
        n->kind = VALUE_TREE_LIST;
    else if (arity == 3 && etf_is_atom(c, "m"))
        n->kind = VALUE_TREE_MAP;
    else
        return false;
    if (!etf_u64(c, &n->size))
        return false;
    n->name = n->kind == VALUE_TREE_MAP ? value_tree_text(s, "...", 3) : name_of(s, c);
    if (c->bad || !value_tree_open(s, n))
        return false;
    if (n->kind == VALUE_TREE_MAP)
        ok = read_fields(s, c);
    else
        ok = read_parts(s, c, n->kind == VALUE_TREE_TUPLE ? VALUE_TREE_ELEMENT : VALUE_TREE_NTH);
    value_tree_close(s);
    return ok;
}

static bool read_part(struct value_tree *s, struct etf *c, struct value_tree_node *n)
{
    uint32_t arity;
    struct etf tag;

    if (!etf_tuple(c, &arity))
        return false;
    tag = *c;
    if (etf_is_atom(&tag, "t") || etf_is_atom(&tag, "l") || etf_is_atom(&tag, "m"))
        return read_inner(s, c, n, arity);
    if (!read_leaf(s, c, n, arity) || !value_tree_open(s, n))
        return false;
    value_tree_close(s);
    return true;
}

struct value_tree *capture_read(struct etf *c)
{
    struct value_tree *s = value_tree_new();
    uint32_t n;
    bool ok = etf_list(c, &n);

    for (uint32_t i = 0; ok && i < n; i++)
        ok = value_tree_call(s) && read_parts(s, c, VALUE_TREE_ARG);
    if (ok && (n == 0 || etf_nil(c)))
        return s;
    value_tree_free(s);
    return NULL;
}

/* ---- requests ---- */

/* {error, Tag, Text} */
static bool refused(struct etf *c, struct capture *out)
{
    struct etf at = *c;
    uint32_t arity;

    if (!etf_tuple(&at, &arity) || arity != 3 || !etf_is_atom(&at, "error") || !etf_skip(&at))
        return false;
    etf_text(&at, out->why, sizeof out->why);
    if (at.bad)
        return false;
    out->state = CAPTURE_FAILED;
    return true;
}

int capture_begin(struct session *s, uint16_t ix, struct capture *out, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "capture");
    enc_u64(&q.request, ix);
    int rc = agent_call_send(&q, s, e);
    if (rc == 0 && etf_is_atom(&q.c, "ok"))
        out->state = CAPTURE_RUNNING;
    else if (rc == 0 && !refused(&q.c, out))
        rc = agent_call_unreadable("capture", e);
    agent_call_end(&q);
    return rc;
}

int capture_look(struct session *s, struct capture *out, struct err *e)
{
    struct agent_call q;
    struct etf at;
    uint32_t arity;

    agent_call_word(&q, "captured");
    int rc = agent_call_send(&q, s, e);
    at = q.c;
    if (rc < 0 || refused(&q.c, out))
        goto out;
    rc = -1;
    if (!etf_tuple(&at, &arity)) {
        agent_call_unreadable("captured", e);
    } else if (arity == 3 && etf_is_atom(&at, "capturing") && etf_u64(&at, &out->kept) &&
               etf_u64(&at, &out->seen)) {
        out->state = CAPTURE_RUNNING;
        rc = 0;
    } else if (arity == 4 && etf_is_atom(&at, "captured") && etf_u64(&at, &out->seen) &&
               etf_u64(&at, &out->elapsed_us) && (out->set = capture_read(&at))) {
        out->state = CAPTURE_DONE;
        out->kept = out->set->calls;
        rc = 0;
    } else {
        agent_call_unreadable("captured", e);
    }
out:
    agent_call_end(&q);
    return rc;
}

int capture_give_up(struct session *s, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "capture");
    enc_atom(&q.request, "none");
    return agent_call_done(&q, s, e);
}
