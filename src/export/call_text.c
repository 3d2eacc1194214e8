#include <kprof/export/call_text.h>

#include <inttypes.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <kprof/core/flame.h>

#define INDENT     2
#define INDENT_MAX 160
#define PIECE      (32u << 10)

static void add_time(struct buf *out, uint64_t ns)
{
    char text[FORMAT_BYTES];

    clock_format_ns(ns, text, sizeof text);
    buf_addf(out, "%10s ", text);
}

static void add_name(struct buf *out, const struct call_tree *t, const struct call_node *n)
{
    struct buf raw;

    buf_init(&raw, 0);
    if (n->kind == CALL_NODE_PROCESS)
        buf_addf(&raw, "<0.%" PRIu64 ".%" PRIu64 ">", n->pid & UINT32_MAX, n->pid >> 32);
    else
        flame_frame_text(&raw, call_tree_profile(t), n->frame, false);
    text_safe(out, raw.data, raw.len, 0, false);
    buf_release(&raw);
}

static void add_line(struct buf *out, const struct call_tree *t, uint32_t node)
{
    const struct call_node *n = call_tree_node(t, node);
    unsigned indent = (n->depth - 1) * INDENT;

    add_time(out, n->total_ns);
    add_time(out, n->own_ns);
    buf_addf(out, "%8" PRIu64 "  ", n->calls);
    buf_addf(out, "%*s", (int)(indent < INDENT_MAX ? indent : INDENT_MAX), "");
    add_name(out, t, n);
    if (n->exceptions)
        buf_adds(out, " (exception)");
    buf_addch(out, '\n');
}

bool call_text_write(const struct call_tree *t, const struct call_tree_hide *hide,
                     stacks_sink *sink, void *arg)
{
    struct buf out;
    bool ok = true;

    buf_init(&out, 0);
    buf_addf(&out, "%10s %10s %8s  %s\n", "total", "self", "calls", "function");
    for (uint32_t i = call_tree_next(t, 0); i && ok; i = call_tree_next(t, i)) {
        enum call_node_kind kind = call_tree_node(t, i)->kind;
        if ((kind == CALL_NODE_SLEEP && hide->sleep) || (kind == CALL_NODE_GC && hide->gc))
            continue;
        add_line(&out, t, i);
        if (out.len > PIECE) {
            ok = sink(arg, out.data, out.len);
            buf_clear(&out);
        }
    }
    if (ok && out.len)
        ok = sink(arg, out.data, out.len);
    buf_release(&out);
    return ok;
}
