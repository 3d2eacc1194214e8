/* Why a handshake failed, and what to do: one sentence. For src/erl only. It may connect to the
 * server once more, to find out what it is (probe); it then blocks, at most until deadline_ns. All
 * strings are borrowed. Any thread. */
#ifndef KPROF_ERL_EXPLAIN_H
#define KPROF_ERL_EXPLAIN_H

#include "dial.h"
#include "handshake.h"

struct explain {
    const struct node_name *name;
    const struct conn_target *target;
    const struct dialed *to;
    const char *our_name;
    int timeout_ms;       /* of the handshake */
    uint64_t deadline_ns; /* of the probe */
};

enum conn_fail explain_handshake(const struct explain *x, const struct handshake *s,
                                 enum handshake_result end, struct err *e);

#endif
