/* The control thread: every call that may wait for a node runs here.
 *
 * Invariant: the caller (the core thread) never blocks: it passes a configuration or a request and
 * takes results later. The thread always sends the latest configuration to the node, also after
 * every reconnect. Until the first connection is up, a failure is final (RESULT_FAILED); after that
 * the thread reconnects, with delays that grow while connections are short. All functions are for
 * the core thread; all except control_finish return at once. */
#ifndef KPROF_ENGINE_CONTROL_H
#define KPROF_ENGINE_CONTROL_H

#include <kprof/trace/agent_request.h>
#include <kprof/trace/capture.h>
#include <kprof/trace/code_query.h>
#include <kprof/trace/full_request.h>
#include <kprof/trace/process_request.h>
#include <kprof/trace/session.h>
#include <kprof/trace/stack_request.h>
#include <kprof/trace/trace_config.h>

struct control;

enum control_ask {
    CONTROL_COMPLETE,
    CONTROL_WHY,
    CONTROL_DEAD,
    CONTROL_WHO,
    CONTROL_STACK,
    CONTROL_QUEUE, /* text: a registered name; ix: copied to the result */
    CONTROL_HANG,  /* poll what these processes do */
    CONTROL_TRIP,
    CONTROL_PAGE, /* control_code_query: a page of the catalog; lines: `after` of code_query_page */
    CONTROL_CALLEES, /* lines: a function; as CONTROL_PAGE: those that it calls */
    CONTROL_CALLS,   /* the same, also with the function itself */
    CONTROL_EXIST,   /* lines: functions as shown, one a line */
    CONTROL_RATES,   /* as CONTROL_EXIST */
    CONTROL_RATES_TAKE,
    CONTROL_CAPTURE,      /* ix: begin to capture calls of this tier */
    CONTROL_CAPTURED,     /* ask for the progress of the capture */
    CONTROL_NO_CAPTURE,   /* cancel the capture */
    CONTROL_STACKS,       /* control_stacks: begin to sample stacks, or change what is sampled */
    CONTROL_NO_STACKS,    /* end it */
    CONTROL_PROCESSES,    /* control_processes: the newest round of the process table */
    CONTROL_NO_PROCESSES, /* end the rounds */
    CONTROL_FULL,         /* control_full: begin a full trace */
    CONTROL_NO_FULL       /* end it */
};

enum result_kind {
    RESULT_NONE,
    RESULT_FAILED,     /* text: the error message; this is the last result */
    RESULT_CONNECTED,  /* info */
    RESULT_CONFIGURED, /* config: the answer to configuration number `gen`; text: its identity rule,
                          if the node accepted it */
    RESULT_SAME,       /* the node has configuration number `gen`, which traces the same functions,
                          by the same rule, as the one before */
    RESULT_TRACING,    /* on: the node has switched tracing on or off */
    RESULT_LOST,       /* text; the next try is in delay_ms */
    RESULT_TROUBLE,    /* text; the connection is up. gen: this configuration could not be set (on:
                          it will be sent again); 0: another request failed */
    RESULT_COMPLETIONS, /* typed; text: one completion per line */
    RESULT_WHY,         /* ix, called */
    RESULT_STACK,       /* pids[0]; text: one function per line; on: the process is dead */
    RESULT_WHO,         /* pids[0..n); text: one line for each */
    RESULT_DEAD,        /* pids[0..n) */
    RESULT_QUEUE,       /* ix, length: of the message queue; -1: not known */
    RESULT_HANG,        /* text: the lines of agent_request_hang */
    RESULT_CODE,        /* ix: the tag; code */
    RESULT_CALLS,       /* the same: the answer to CONTROL_CALLS */
    RESULT_CAPTURE,     /* capture; answers CONTROL_CAPTURE and CONTROL_CAPTURED */
    RESULT_STACKS,      /* on: answers CONTROL_STACKS; else CONTROL_NO_STACKS */
    RESULT_PROCESSES,   /* processes */
    RESULT_FULL         /* the full trace has begun; its events come through the stream */
};

struct code_query_result {
    enum control_ask what;
    bool there[CODE_QUERY_EXIST];
    struct code_query_rates rates; /* CONTROL_RATES: only `wait` */
    /* CONTROL_PAGE, CONTROL_CALLEES, CONTROL_CALLS: text[0..n) for code_query_read */
    char note[CODE_QUERY_NOTE_BYTES]; /* CONTROL_CALLEES: what the functions are */
};

struct result { /* free with result_release */
    enum result_kind kind;
    bool failed; /* the request failed: text says why; only the fields of the request are set */
    uint64_t question_id; /* of a request: the number that control_ask returned */
    uint64_t session;     /* RESULT_CONNECTED: number of the session */
    struct result *next;  /* private to control */
    struct session_info info;
    struct agent_request_config config;
    struct agent_request_called called;
    struct code_query_result code;
    struct capture capture;
    uint64_t gen;
    int64_t length;
    uint16_t ix;
    bool on;
    int delay_ms;
    char typed[256];
    char *text;     /* owned, or NULL */
    uint64_t *pids; /* owned, or NULL */
    size_t n;
    struct process_table *processes; /* owned, or NULL; without a sequence number: no new round */
};

/* Copies o, whose strings must outlive the thread. Other threads call o->wake when a result is
 * ready. */
struct control *control_start(const struct session_opts *o);
/* returns its number */
uint64_t control_configure(struct control *c, const struct trace_config *w);
/* Reports that the core thread is running. After the first call, the control thread renews the
 * lease only as of the latest call, so the node stops tracing while the core thread hangs. */
void control_alive(struct control *c);
/* Sends a request to the node and returns its question_id, which the result has, too. Every request
 * gets one answer, which may be a failure: too many requests are queued, the answer took too long,
 * or the connection of the request is lost (a later connection does not answer it). A newer
 * completion replaces the text of one in the queue, and both get one answer. CONTROL_TRIP, with the
 * reason in text, is sent before all other requests and does not wait for the pending answer.
 * CONTROL_TRIP and the ends (CONTROL_NO_CAPTURE, CONTROL_NO_PROCESSES, CONTROL_NO_FULL) have a
 * result (a RESULT_TROUBLE) only when they fail; none if the connection was lost, because then they
 * are not needed. A request without a connection waits for the next connection. */
uint64_t control_ask(struct control *c, enum control_ask what, uint16_t ix, const char *text,
                     const uint64_t *pids, size_t n);
/* lines: as described at the request (enum control_ask). The answer's ix is tag. */
void control_code_query(struct control *c, enum control_ask what, uint16_t tag, const char *lines);
/* r: what to sample; NULL: end the sampling; when this is answered, all samples have arrived.
 * Returns the question_id of the answer. */
uint64_t control_stacks(struct control *c, const struct stack_request *r);
/* Asks for the newest round of the process table, or (r NULL) ends the rounds; the latter has a
 * result (a RESULT_TROUBLE) only when it fails. */
uint64_t control_processes(struct control *c, const struct process_request *r);
/* r: begins a full trace; NULL: ends it, which has a result (a RESULT_TROUBLE) only when it fails.
 */
uint64_t control_full(struct control *c, const struct full_request *r);
struct result *control_take(struct control *c); /* NULL: none */
void result_release(struct result *r);
/* Detaches and ends the thread; blocks for up to some seconds. */
void control_finish(struct control *c, struct session_receipt *receipt);

#endif
