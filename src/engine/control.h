/* The control thread: every call that may wait for a node happens here.
 *
 * Invariant: the caller (the core thread) never blocks: it states a configuration or asks a
 * question and later takes results. The latest configuration is always what the target is brought
 * to, after every reconnect too. Until the first connection stands, failing is final
 * (RESULT_FAILED); after that the thread reconnects, with delays that grow while connections do not
 * last. All functions but control_finish are for the core thread and return at once. */
#ifndef KPROF_ENGINE_CONTROL_H
#define KPROF_ENGINE_CONTROL_H

#include <kprof/trace/agent_request.h>
#include <kprof/trace/capture.h>
#include <kprof/trace/code_query.h>
#include <kprof/trace/session.h>
#include <kprof/trace/trace_config.h>

struct control;

enum control_ask {
    CONTROL_COMPLETE,
    CONTROL_WHY,
    CONTROL_DEAD,
    CONTROL_WHO,
    CONTROL_STACK,
    CONTROL_TRIP,
    CONTROL_PAGE,  /* control_code_query: of the catalog; lines: code_query_page's `after` */
    CONTROL_EXIST, /* lines: functions as shown, one a line */
    CONTROL_RATES, /* the same */
    CONTROL_RATES_TAKE,
    CONTROL_CAPTURE,   /* ix: begin to capture its calls */
    CONTROL_CAPTURED,  /* how far is it */
    CONTROL_NO_CAPTURE /* give it up */
};

enum result_kind {
    RESULT_NONE,
    RESULT_FAILED,      /* text: the sentence; nothing more will come */
    RESULT_CONNECTED,   /* info */
    RESULT_CONFIGURED,  /* config: of configuration number `gen` */
    RESULT_TRACING,     /* on: tracing was switched on or off at the target */
    RESULT_LOST,        /* text; next try in delay_ms */
    RESULT_TROUBLE,     /* text: a configuration could not be set, the connection stands */
    RESULT_COMPLETIONS, /* typed; text: lines */
    RESULT_WHY,         /* ix, called */
    RESULT_STACK,       /* pids[0], text: a line a function; on: the process is dead */
    RESULT_WHO,         /* pids[0..n), text: a line for each */
    RESULT_DEAD,        /* pids[0..n) */
    RESULT_CODE,        /* ix: the tag; look */
    RESULT_CAPTURE      /* capture; to CONTROL_CAPTURE and CONTROL_CAPTURED */
};

struct code_query_result {
    enum control_ask what;
    bool there[CODE_QUERY_EXIST];
    struct code_query_rates rates; /* CONTROL_RATES: only `wait` */
    /* CONTROL_PAGE: text[0..n) for code_query_read */
};

struct result { /* free with result_release */
    enum result_kind kind;
    bool failed; /* of a question: text says why, nothing else but what was asked is told */
    uint64_t question_id; /* of a question: what control_ask said */
    uint64_t session;     /* RESULT_CONNECTED: its number */
    struct result *next;  /* control's own */
    struct session_info info;
    struct agent_request_config config;
    struct agent_request_called called;
    struct code_query_result code;
    struct capture capture;
    uint64_t gen;
    uint16_t ix;
    bool on;
    int delay_ms;
    char typed[256];
    char *text;     /* owned, or NULL */
    uint64_t *pids; /* owned, or NULL */
    size_t n;
};

/* o is copied; its strings must outlive the thread; o->wake is called from other threads when a
 * result waits. */
struct control *control_start(const struct session_opts *o);
uint64_t control_configure(struct control *c, const struct trace_config *w); /* its number */
/* The core thread is not stuck. While it does not say so (once it has), the lease is not renewed:
 * the target stops tracing until it does. */
void control_alive(struct control *c);
/* Every question gets one answer, if only why there is none: too many wait, it took too long, the
 * connection that stood when it was asked is gone (no other answers it). A completion that waits is
 * answered as the newer one. The result has its question_id. CONTROL_TRIP, text why, waits
 * behind nothing, not even the answer that is under way; like CONTROL_NO_CAPTURE it has a result (a
 * RESULT_TROUBLE) only when it failed. Asked while nothing is connected, a question waits for that.
 */
uint64_t control_ask(struct control *c, enum control_ask what, uint16_t ix, const char *text,
                     const uint64_t *pids, size_t n);
/* lines: as the question has it. The answer's ix is tag. */
void control_code_query(struct control *c, enum control_ask what, uint16_t tag, const char *lines);
struct result *control_take(struct control *c); /* NULL: none */
void result_release(struct result *r);
/* Detaches and ends the thread; blocks for up to some seconds. */
void control_finish(struct control *c, struct session_receipt *receipt);

#endif
