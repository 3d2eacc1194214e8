#include "stack_message.h"

#define ELEMENTS 9

bool stack_message_head(struct etf *c, const void *bytes, size_t n, uint64_t *seq, int64_t *native)
{
    uint32_t arity;

    etf_init(c, bytes, n);
    return etf_version(c) && etf_tuple(c, &arity) && arity == ELEMENTS && etf_is_atom(c, "ks") &&
           etf_u64(c, seq) && etf_i64(c, native);
}

bool stack_message_numbers(struct etf *c, stack_message_take *take, void *arg)
{
    struct etf in = *c;
    const uint8_t *b;
    size_t len;
    uint32_t n;
    uint64_t v;

    if (etf_string(&in, &b, &len)) { /* the VM encodes lists of small numbers as STRING_EXT */
        *c = in;
        for (size_t i = 0; i < len; i++)
            take(arg, b[i]);
        return true;
    }
    if (!etf_list(c, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!etf_u64(c, &v))
            return false;
        take(arg, v);
    }
    return n == 0 || etf_nil(c);
}
