/* A session: our agent on one node, from connecting to the receipt.
 *
 * Invariant: while it is open one reader thread receives and feeds the stream; all functions here
 * block for at most the timeout and are for one thread (control). When the connection goes, every
 * call fails with a sentence and session_lost is true; the agent then removes itself from the
 * target. */
#ifndef KPROF_TRACE_SESSION_H
#define KPROF_TRACE_SESSION_H

#include <kprof/base/buf.h>
#include <kprof/base/err.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stream.h>

struct session;

struct session_opts {
    const char *node, *cookie, *self_name;
    int timeout_ms;
    bool force;
    bool again;        /* the connection was lost: the agent begins as after an overload */
    const char *who;   /* for the sentence that a second kprof-top gets */
    uint16_t epoch;    /* 1..65535, high part of the labels */
    uint32_t pause_ms; /* silence of ours after which the agent stops tracing (after six times that
                          it leaves); 0: its own, 10 s */
    struct stream *stream;
    struct recorder *recorder; /* or NULL */
    void (*wake)(void *arg);   /* called by the reader when something came */
    void *wake_arg;
};

struct session_info {
    char node[256], otp[16];
    int64_t start_native, units_per_s;
    uint32_t schedulers;
    bool own_session, lean, elixir;
    bool local;       /* the node is on this machine */
    char others[300]; /* who else traces; "" nobody */
    size_t n_held;    /* uses of the VM that are held back there, because this VM has the fault; */
    char held[1000];  /* a short sentence each, with "; " between */
};

struct session *session_open(const struct session_opts *o, struct session_info *info,
                             struct err *e);
bool session_lost(struct session *s);
void session_why(struct session *s, struct err *e); /* why it was lost, as a sentence */
/* Sends {kp,Key,Ref,Request}; request is ETF without version byte. 0 with the answer's bytes (no
 * version byte) in *answer, -1 with err. */
int session_request(struct session *s, const struct buf *request, struct buf *answer,
                    int timeout_ms, struct err *e);

/* Has the thread that waits in session_request now send this request, too, at once; nobody waits
 * for its answer. False: none waits, send it yourself. Any thread; does not block. */
bool session_request_urgent(struct session *s, const struct buf *request);

struct session_receipt { /* what is left, by the target's own word */
    bool asked;          /* false: the node did not answer any more */
    uint64_t patterns, flags, processes, modules;
    char
        tokens[32]; /* what became of them: none, drained, reset, kept (another tracer uses them) */
    uint64_t holders; /* idle processes that keep a trace token, which leads to nothing */
};
/* Detaches, removes the agent, closes. receipt may be NULL. */
void session_close(struct session *s, struct session_receipt *receipt);

#endif
