/* A session's inside, for the file that holds it and the file that brings the agent to the target.
 * For src/trace only. */
#ifndef KPROF_TRACE_SESSION_IMPL_H
#define KPROF_TRACE_SESSION_IMPL_H

#include <kprof/base/buf.h>
#include <kprof/trace/agent.h>
#include <kprof/trace/session.h>
#include <pthread.h>
#include <stdatomic.h>

#define SESSION_ANSWER_BYTES ((size_t)8 << 20)

struct session {
    struct session_opts o;
    struct conn *conn;
    pthread_t reader;
    bool reading;
    unsigned slot;
    struct agent_module module[AGENT_MODULES_MAX];
    size_t modules;
    struct buf keeper;   /* its pid, encoded */
    uint8_t key[16];     /* of the requests: only who loaded the agent knows it */
    atomic_bool beating; /* the keeper has started: heartbeats come */

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t came;
    struct buf answer;
    uint64_t want, got; /* reference of the request under way; of the answer in `answer` */
    uint64_t sent_ns;   /* when it was sent, or a little before */
    bool got_rpc, lost;
    struct err why;
    uint64_t refs;
};

/* rpc through rex: {Self, {call, M, F, Args, user}} -> {rex, Result}. args: an encoded list. */
int session_rpc(struct session *s, const char *mod, const char *fun, const struct buf *args,
                struct buf *answer, int timeout_ms, struct err *e);

/* Loads the agent into a free slot and starts its keeper, all in one call on the target: whenever
 * our connection goes, either nothing has been loaded or a keeper lives that cleans up. Waits some
 * seconds for an agent that is just leaving. */
int session_load(struct session *s, struct session_info *info, struct err *e);
/* After detach: waits until the agent has unloaded itself; what is left, by the target's word. */
void session_left(struct session *s, struct session_receipt *r);

#endif
