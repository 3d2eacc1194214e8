/* Requests to the agent as functions: each encodes and sends a request, waits, and reads the
 * answer. src/agent/PROTOCOL.md describes the forms.
 *
 * All block for at most their timeout, are for the session's one control thread, and return 0, or
 * -1 with err. Answers from the node are bounded and may contain any bytes. */
#ifndef KPROF_TRACE_AGENT_REQUEST_H
#define KPROF_TRACE_AGENT_REQUEST_H

#include <kprof/base/buf.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>
#include <kprof/trace/trace_config.h>

#define AGENT_REQUEST_NOTE_BYTES 240
#define AGENT_REQUEST_ITEMS      500
#define AGENT_REQUEST_PIDS       1024
#define AGENT_REQUEST_FRAMES     20
#define AGENT_REQUEST_WHO_BYTES  80

struct agent_request_tier {
    uint16_t ix;
    uint64_t matched;
    char note[AGENT_REQUEST_NOTE_BYTES]; /* why it matched nothing; "" */
};

struct agent_request_config {
    struct agent_request_tier tier[EVENT_TIERS];
    size_t n;
    bool rule_refused; /* the agent changed nothing; rule_error says why and where */
    char rule_error[400];
};

struct agent_request_called { /* answer to agent_request_why */
    bool no_function;
    char held[200];                       /* not empty: the reason why its calls are not counted */
    uint64_t called, in_request, outside; /* calls in the second that was counted */
};

int agent_request_config(struct session *s, const struct trace_config *w,
                         struct agent_request_config *out, struct err *e);
int agent_request_tracing(struct session *s, bool on, struct err *e);
int agent_request_limits(struct session *s, const struct trace_config *w, struct err *e);
int agent_request_sample(struct session *s, uint32_t n, struct err *e);
/* Renews the lease: kprof-top was last known to be responsive age_ms ago. */
int agent_request_ping(struct session *s, uint64_t age_ms, struct err *e);
int agent_request_trip(struct session *s, const char *why,
                       struct err *e); /* kprof-top opens the breaker, for this reason */
/* Sends the same request while the control thread waits for another answer; see
 * session_request_urgent. Any thread. */
bool agent_request_trip_urged(struct session *s, const char *why);
int agent_request_why(struct session *s, uint16_t ix, struct agent_request_called *out,
                      struct err *e);
/* Stores those of pids[0..n) (serial << 32 | id) that are dead in dead, and their number in
 * *n_dead. */
int agent_request_dead(struct session *s, const uint64_t *pids, size_t n, uint64_t *dead,
                       size_t *n_dead, struct err *e);
/* Stores one line for each of pids[0..n) in *lines: the registered name or the initial call of the
 * process (of a proc_lib process with a large heap, its current function), or an empty line if it
 * has ended or did not answer. */
int agent_request_who(struct session *s, const uint64_t *pids, size_t n, struct buf *lines,
                      struct err *e);
/* Stores the length of the message queue of the process with this registered name (UTF-8, without
 * quotes); -1: not known. */
int agent_request_queue(struct session *s, const char *name, int64_t *length, struct err *e);
/* Stores the current stack of a process in *lines: one function per line, innermost first. *dead:
 * the process has ended. */
int agent_request_stack(struct session *s, uint64_t pid, struct buf *lines, bool *dead,
                        struct err *e);
/* Polls what processes (at most AGENT_REQUEST_HANG) do, for 50 ms. *lines: the first line is the
 * time in us that the polls took in all; then a line for each poll: number of the process in pids,
 * time in us since the start, status, functions; separated by single blanks. */
#define AGENT_REQUEST_HANG 4
int agent_request_hang(struct session *s, const uint64_t *pids, size_t n, struct buf *lines,
                       struct err *e);
/* Reads such an answer into *lines. False: it cannot be read, and *lines has a part of it. */
bool agent_request_polls(struct etf *c, struct buf *lines);
/* Stores the completions of typed in *lines: full M:F/A texts or module names, one per line. */
int agent_request_completions(struct session *s, const char *typed, struct buf *lines,
                              struct err *e);

#endif
