#include "recording_poll.h"

#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <string.h>

enum { STATUS_MOST = 6 };

void recording_poll_write(const struct core_poll *p, struct buf *out)
{
    enc_version(out);
    enc_tuple(out, 5);
    enc_atom(out, "poll");
    enc_u64(out, p->request);
    enc_u64(out, p->ns);
    enc_u64(out, p->status);
    enc_str(out, p->place);
}

bool recording_poll_read(struct core_poll *p, const void *bytes, size_t n)
{
    struct etf c;
    const uint8_t *text;
    uint32_t arity;
    uint64_t status;
    size_t len;

    memset(p, 0, sizeof *p);
    etf_init(&c, bytes, n);
    if (!etf_version(&c) || !etf_tuple(&c, &arity) || arity != 5 || !etf_is_atom(&c, "poll"))
        return false;
    if (!etf_u64(&c, &p->request) || !etf_u64(&c, &p->ns) || !etf_u64(&c, &status) ||
        !etf_string(&c, &text, &len))
        return false;
    if (status > STATUS_MOST || len >= sizeof p->place || memchr(text, 0, len))
        return false;
    p->status = (uint8_t)status;
    memcpy(p->place, text, len);
    return true;
}
