/* Requests that are followed in detail: adds the parts of their calls to the rows and to slow
 * traces. Private to core.
 *
 * Invariant: the parts of a call of such a request are added once, when the call is added to its
 * row; the pieces of the same call in a slow trace have the same sums. A slow trace has at most
 * DETAIL_TRACE_PIECES pieces; calls for which there is no room have none. One thread. */
#ifndef KPROF_CORE_DETAIL_H
#define KPROF_CORE_DETAIL_H

#include "part_sums.h"
#include "scheduling.h"

#include <stdint.h>

enum { DETAIL_CALLS = 1024, DETAIL_TRACE_PIECES = 1024, DETAIL_NAMES = 255 };

struct call;
struct core;
struct request;
struct slow_trace_request;

struct detail {
    struct scheduling scheduling;
    struct part_sums sums;
    struct { /* of the request that is being finalized; NULL until there is a detailed one */
        struct scheduling_call *call;
        uint32_t n;
        struct scheduling_cut cut;
    } * work;
};

void detail_init(struct detail *d);
void detail_release(struct detail *d);

/* A call of a tier in a request that is followed in detail. */
void detail_called(struct core *c, uint64_t pid, uint64_t ts_ns);
struct event;
/* EVENT_SENT, of any request. */
void detail_sent(struct core *c, const struct event *ev);
/* The calls of the request are about to be added to the rows, or to a slow trace. */
void detail_request(struct core *c, const struct request *r);
/* A call of this request is added to its row. */
void detail_member(struct core *c, const struct call *f, const struct request *r, uint16_t ident);
/* All calls of this request are in the slow trace `to`: adds their pieces. */
void detail_trace(struct core *c, struct slow_trace_request *to);

#endif
