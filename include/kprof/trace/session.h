/* A session: the agent on one node, from connecting to the receipt.
 *
 * Invariant: while a session is open, one reader thread receives messages and feeds the stream. All
 * functions block for at most the timeout and are for one thread (control), unless their comment
 * says otherwise. After the connection is lost, every call fails with a sentence and session_lost
 * is true; the agent then removes itself from the node. */
#ifndef KPROF_TRACE_SESSION_H
#define KPROF_TRACE_SESSION_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <kprof/erl/conn.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stream.h>

struct session;

struct session_opts {
    struct conn_target to;
    const char *self_name;
    int timeout_ms;
    bool force;
    bool reconnected;  /* the connection was lost before: the breaker begins half open */
    const char *who;   /* for the sentence that a second kprof-top shows */
    uint64_t instance; /* a random number, the same for all connections of this kprof-top */
    uint16_t epoch;    /* 1..65535, high part of the labels */
    uint32_t pause_ms; /* the agent stops tracing after this time without a message from kprof-top
                          (it ends after six times as long); 0: the agent's default, 10 s */
    struct stream *stream;
    struct recorder *recorder; /* or NULL */
    void (*wake)(void *arg);   /* the reader calls it after a message */
    void *wake_arg;
};

struct session_info {
    char node[256], otp[16];
    int64_t start_native, units_per_s;
    uint32_t schedulers;
    bool own_session, lean, elixir;
    bool no_gc;       /* garbage collections inside requests are not traced on this VM */
    bool local;       /* the node is on this machine */
    bool unreached;   /* of a failed session_open: there is no way to its host or port */
    uint16_t port;    /* of the node; 0: not known */
    char others[300]; /* other tracers; "": none */
    /* number of hazards of this VM because of which the agent avoids something */
    size_t n_avoided;
    char avoided[1000]; /* one short sentence for each of them, with "; " between */
};

struct session *session_open(const struct session_opts *o, struct session_info *info,
                             struct err *e);
bool session_lost(struct session *s);
/* The last call failed because no answer came in time: the node may have done it, or do it later.
 */
bool session_unanswered(struct session *s);
void session_why(struct session *s, struct err *e); /* why the session was lost, as a sentence */
/* Sends {kp,Key,Ref,Request}; request is ETF without version byte. Returns 0 with the answer's
 * bytes (no version byte) in *answer, or -1 with err. */
int session_request(struct session *s, const struct buf *request, struct buf *answer,
                    int timeout_ms, struct err *e);

/* Lets the thread that now waits in session_request send this request, too, at once; the answer is
 * not awaited. False: no thread waits there, and the caller must send the request itself. Any
 * thread; does not block. */
bool session_request_urgent(struct session *s, const struct buf *request);

struct session_receipt { /* what is left on the node, as the node reports it */
    bool asked;          /* the node answered; false: see `lost` */
    bool lost;           /* without an answer: there was no connection; engine/control sets it */
    uint64_t patterns, flags, processes, modules;
    char tokens[32];  /* result for the trace tokens: none, drained, reset, kept (another tracer has
                         a match spec for `send`, or the removal took too long) */
    uint64_t holders; /* idle processes that have an inert trace token */
};
/* Detaches, removes the agent and closes the session. receipt may be NULL. */
void session_close(struct session *s, struct session_receipt *receipt);

#endif
