/* Self time across processes: at every instant, the time of a request belongs to the open call that
 * began last. Private to core.
 *
 * Invariant: the self times of the calls of a request add up to the time in which a call was open,
 * to the nanosecond; no instant is counted twice. Owns its scratch memory, which grows to the
 * largest request. One thread. */
#ifndef KPROF_CORE_SELF_TIME_H
#define KPROF_CORE_SELF_TIME_H

#include <stdint.h>

struct core;
struct request;

struct self_time { /* scratch of self_time_share */
    struct self_time_item {
        uint64_t start_ns;
        uint32_t call, order;
    } * item;
    uint32_t *stack;
    uint32_t cap;
};

void self_time_release(struct self_time *s);
/* Divides the time from self_time_until_ns of the request to until_ns among its calls. */
void self_time_share(struct core *c, struct request *r, uint64_t until_ns);

#endif
