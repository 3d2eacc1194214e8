/* The ended calls of the requests in which stack samples were taken. They give the requests, and so
 * the samples, of the cells of a latency heat map. Private to core.
 *
 * Invariant: a call has the second and the duration with which its row counts it (windows_add), so
 * the calls of a cell are those that the heat map counts. Samples arrive late, so the newest
 * SAMPLED_RECENT ended calls of all requests are kept until their samples may have arrived. The
 * newest SAMPLED_REQUESTS requests and SAMPLED_KEPT of their calls are kept. Memory is reserved
 * when it is switched on (core_keep_inside). One thread. */
#ifndef KPROF_CORE_SAMPLED_H
#define KPROF_CORE_SAMPLED_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

struct core;

enum { SAMPLED_RECENT = 1 << 16, SAMPLED_REQUESTS = 1 << 17, SAMPLED_KEPT = 1 << 18 };

struct sampled_call {
    uint64_t request; /* label */
    uint64_t took_ns;
    uint32_t second;
    uint16_t tier, ident; /* as a row; ROW_TOTAL: the request itself */
};

struct sampled {
    struct sampled_recent {
        struct sampled_call call;
        uint64_t before; /* number of the call of the same request before; 0: none */
    } * recent;          /* rings, by number; NULL: off */
    struct sampled_call *kept;
    uint64_t *request;
    uint64_t n_recent, n_kept, n_requests; /* so far; they are numbered 1..n */
    struct map newest;                     /* label -> slot of its newest recent call */
    struct map known;                      /* label of a request with samples -> slot */
};

void sampled_init(struct sampled *s);
void sampled_release(struct sampled *s);
void sampled_forget_calls(struct sampled *s); /* seconds and identities get new numbers */
void sampled_fold_ident(struct sampled *s, uint16_t from, uint16_t into);

/* A call of a request was added to its row. */
void sampled_ended(struct core *c, uint64_t request, uint16_t tier, uint16_t ident,
                   uint64_t took_ns);
/* A sample was taken in the request. */
void sampled_note(struct sampled *s, uint64_t request);
void sampled_merged(struct sampled *s, uint64_t into, uint64_t from);

#endif
