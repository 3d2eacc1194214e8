/* The private state of a session: the link (session_link: connection, reader thread, requests),
 * loading the agent (session_load), requests that first load the tools (session_tools), opening and
 * closing (session). Each of them uses the ones before it. For src/trace only. */
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
    struct agent_module agent; /* the module as it is loaded on the node, in its slot */
    unsigned slot;
    struct buf controller; /* pid of the controller, encoded */
    uint8_t key[16];     /* key of the requests: only the kprof-top that loaded the agent has it */
    atomic_bool beating; /* the controller has started and sends heartbeats */

    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t came;
    struct buf answer;
    uint64_t want,
        got; /* references of the request under way (0: none) and of the answer in `answer` */
    uint64_t sent_ns; /* time at which the request was sent, or a little before */
    bool want_rpc, lost;
    struct err why;
    uint64_t refs;
    bool asking;       /* a thread is in session_request, also in the calls that load the tools */
    bool unanswered;   /* the last call ended because no answer came in time */
    struct buf urgent; /* request that this thread sends; empty: none */
};

/* ---- session_link ---- */
/* The parts of session_open and session_close. A test calls them with its own connection. */
struct session *session_new(const struct session_opts *o);
int session_listen(struct session *s, struct err *e); /* starts the reader of s->conn */
void session_free(struct session *s);

/* While it is on, session_request_urgent takes requests, which this thread sends: at the end at the
 * latest. */
void session_takes_urgent(struct session *s, bool on);

/* As session_request, but returns the answer of an agent without tools, too. */
int session_ask(struct session *s, const struct buf *request, struct buf *answer, int timeout_ms,
                struct err *e);

/* Calls a function through rex, with a gen_server call: {'$gen_call', {Self, Ref}, {call, M, F,
 * Args, user}} -> {Ref, Result}. To a plain message rex answers {rex, Result}, and a late answer
 * could not be distinguished from the next one. args: an encoded list. */
int session_rpc(struct session *s, const char *mod, const char *fun, const struct buf *args,
                struct buf *answer, int timeout_ms, struct err *e);

/* ---- session_load ---- */
/* Returns -1 with err if the node has almost no free atoms or processes. */
int session_has_room(struct session *s, struct err *e);
/* Loads the agent into a free slot and starts its controller, in one call on the node. If the
 * connection is lost, either nothing has been loaded, or a controller is running and cleans up.
 * Waits some seconds for an agent that is ending. */
int session_load(struct session *s, struct session_info *info, struct err *e);
/* After detach: waits until the agent has unloaded itself, then stores in r what is left, as the
 * node reports it. */
void session_left(struct session *s, struct session_receipt *r);

#endif
