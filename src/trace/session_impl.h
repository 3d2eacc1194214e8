/* A session's inside: the link (session_link: connection, reader thread, requests), loading the
 * agent (session_load), opening and closing (session), each of which uses the ones before. For
 * src/trace only. */
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
    struct agent_module agent; /* as it is loaded there, in its slot */
    struct buf controller;     /* its pid, encoded */
    uint8_t key[16];           /* of the requests: only who loaded the agent knows it */
    atomic_bool beating;       /* the controller has started: heartbeats come */

    pthread_mutex_t lock; /* what follows */
    pthread_cond_t came;
    struct buf answer;
    uint64_t want,
        got;          /* reference of the request under way (0: none); of the answer in `answer` */
    uint64_t sent_ns; /* when it was sent, or a little before */
    bool want_rpc, lost;
    struct err why;
    uint64_t refs;
    bool asking;       /* a thread waits for the agent's answer, */
    struct buf urgent; /* and is to send this; empty: nothing */
};

/* ---- session_link ---- */
/* The parts of session_open and session_close, and a test's own way in: it brings a connection. */
struct session *session_new(const struct session_opts *o);
int session_listen(struct session *s, struct err *e); /* starts the reader of s->conn */
void session_free(struct session *s);

/* rpc through rex, called as the gen_server that it is: {'$gen_call', {Self, Ref}, {call, M, F,
 * Args, user}} -> {Ref, Result}. Asked by a plain message it answers {rex, Result}, and an answer
 * that comes too late could not be told from the next. args: an encoded list. */
int session_rpc(struct session *s, const char *mod, const char *fun, const struct buf *args,
                struct buf *answer, int timeout_ms, struct err *e);

/* ---- session_load ---- */
/* Loads the agent into a free slot and starts its controller, all in one call on the target:
 * whenever our connection goes, either nothing has been loaded or a controller lives that cleans
 * up. Waits some seconds for an agent that is just leaving. */
int session_load(struct session *s, struct session_info *info, struct err *e);
/* After detach: waits until the agent has unloaded itself; what is left, by the target's word. */
void session_left(struct session *s, struct session_receipt *r);

#endif
