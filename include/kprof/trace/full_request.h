/* Requests to the agent for a full trace: all calls of chosen modules in one request, or in given
 * processes. src/agent/PROTOCOL.md, "Full trace", describes the forms. Its events come through the
 * stream (stream_take_stacks), for trace/full_decode.
 *
 * As in trace/agent_request, the functions are for the session's one control thread, block for a
 * bounded time and return 0, or -1 with err. */
#ifndef KPROF_TRACE_FULL_REQUEST_H
#define KPROF_TRACE_FULL_REQUEST_H

#include <kprof/erl/term.h>
#include <kprof/trace/session.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FULL_FOLLOW_MAX 64
#define FULL_PIDS_MAX   16

struct full_request {
    const uint64_t *pids; /* serial << 32 | id; NULL: a request, which begins with `call` */
    size_t n_pids;
    struct mfa call;
    const struct mfa *follow; /* functions that other processes call for the request */
    size_t n_follow;
    const char *rule, *value; /* an identity rule and the term that it must give; NULL: none */
    const char *name; /* instead of value: the identity as term_identity writes it; NULL: none */
    /* "all"; or modules and applications, separated by commas: "shop,MyApp.Repo,app:shop_db" */
    const char *modules;
    bool with_applications; /* these modules and all others of their applications */
    uint64_t slow_ns;       /* only a request of this time or longer is kept */
    uint64_t events;        /* at most */
    uint64_t id;            /* its messages have this number: full_decoder_id */
    uint64_t wait_ms, run_ms;
};

/* A copy with all that it points at, in one block for free(). */
struct full_request *full_request_copy(const struct full_request *r);

int full_request_begin(struct session *s, const struct full_request *r, struct err *e);
int full_request_end(struct session *s, struct err *e);

#endif
