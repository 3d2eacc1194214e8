#include "args.h"

#include <inttypes.h>
#include <kprof/erl/term.h>
#include <string.h>

enum { SLOTS = 5, LEAF_BYTES = 120 };

static void unknown(struct buf *out)
{
    buf_adds(out, "...");
}

/* {V}; any other value was left out. */
static void value(struct etf *c, struct buf *out)
{
    struct etf in = *c;
    uint32_t n;

    if (!etf_skip(c))
        return;
    if (!etf_tuple(&in, &n) || n != 1 || !term_print(&in, out, LEAF_BYTES))
        unknown(out);
}

/* {Bytes, Prefix} */
static void prefix(struct etf *c, struct buf *out)
{
    uint64_t bytes;

    if (!etf_u64(c, &bytes) || !term_print(c, out, LEAF_BYTES)) {
        unknown(out);
        return;
    }
    if (out->len >= 2 && memcmp(out->data + out->len - 2, ">>", 2) == 0)
        out->data[out->len -= 2] = 0;
    buf_addf(out, "...%" PRIu64 " bytes>>", bytes);
}

/* {Size, {V} | false, ...} */
static void elements(struct etf *c, uint32_t n, struct buf *out)
{
    uint64_t size;

    if (!etf_u64(c, &size)) {
        unknown(out);
        return;
    }
    buf_addch(out, '{');
    for (uint32_t i = 0; i + 1 < n && i < size; i++) {
        if (i > 0)
            buf_addch(out, ',');
        value(c, out);
    }
    buf_adds(out, size > n - 1 ? ",...}" : "}");
}

/* An argument: one of its elements is not false. */
static void slot(struct etf c, uint32_t which, struct buf *out)
{
    struct etf whole = c;
    uint64_t keys;
    uint32_t n = 0;

    if (which == 3 && etf_u64(&c, &keys)) {
        buf_addf(out, "#{%" PRIu64 " keys}", keys);
    } else if (which == 3 || !etf_tuple(&c, &n)) {
        unknown(out);
    } else if (which == 0 && n == 1) {
        value(&whole, out);
    } else if (which == 1 && n == 2) {
        prefix(&c, out);
    } else if (which == 2 && n >= 1) {
        elements(&c, n, out);
    } else if (which == 4 && n == 1) {
        buf_addch(out, '[');
        value(&c, out);
        buf_adds(out, "|...]");
    } else {
        unknown(out);
    }
}

static void argument(struct etf *c, struct buf *out)
{
    struct etf in = *c;
    uint32_t n;

    if (!etf_skip(c))
        return;
    if (!etf_tuple(&in, &n) || n != SLOTS) {
        unknown(out);
        return;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (etf_is_atom(&in, "false"))
            continue;
        slot(in, i, out);
        return;
    }
    unknown(out);
}

bool args_print(struct etf *c, struct buf *out, size_t max_bytes)
{
    struct etf in = *c;
    struct buf all;
    uint32_t n;

    if (!etf_skip(c))
        return false;
    in.end = c->p;
    buf_init(&all, 8192);
    if (etf_is_atom(&in, "big")) {
        buf_adds(&all, "(omitted: too large)");
    } else if (etf_is_atom(&in, "over")) {
        buf_adds(&all, "(omitted: limit per second reached)");
    } else if (!etf_tuple(&in, &n)) {
        unknown(&all);
    } else {
        buf_addch(&all, '[');
        for (uint32_t i = 0; i < n && all.len < max_bytes && !in.bad; i++) {
            if (i > 0)
                buf_addch(&all, ',');
            argument(&in, &all);
        }
        buf_addch(&all, ']');
    }
    if (all.len > max_bytes) {
        size_t keep = max_bytes > 3 ? max_bytes - 3 : 0;
        while (keep > 0 && ((unsigned char)all.data[keep] & 0xc0) == 0x80)
            keep--; /* ends at a whole character */
        buf_add(out, all.data, keep);
        unknown(out);
    } else {
        buf_add(out, all.data, all.len);
    }
    buf_release(&all);
    return true;
}
