#include "agent_terms.h"

#include <kprof/erl/enc.h>

enum { NEW_PID_EXT = 88 };

static void u32(struct buf *b, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addch(b, (char)(n >> shift & 0xff));
}

void agent_pid(struct buf *b, const char *node, uint32_t id, uint32_t serial)
{
    buf_addch(b, NEW_PID_EXT);
    enc_atom(b, node);
    u32(b, id);
    u32(b, serial);
    u32(b, 9);
}

void agent_mfa(struct buf *b, const char *module, const char *function, int arity)
{
    enc_tuple(b, 3);
    enc_atom(b, module);
    enc_atom(b, function);
    enc_i64(b, arity);
}
