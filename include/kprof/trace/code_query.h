/* Requests about the node's code: which functions could be traced, which exist, their call rates.
 * src/agent/PROTOCOL.md describes the forms.
 *
 * Functions that take a session block for at most their timeout, are for the session's one control
 * thread, and return 0, or -1 with err. The readers are pure and accept any bytes. */
#ifndef KPROF_TRACE_CODE_QUERY_H
#define KPROF_TRACE_CODE_QUERY_H

#include <kprof/erl/term.h>
#include <kprof/trace/session.h>

#define CODE_QUERY_NAME_BYTES 1024 /* length of a module name on the node */
#define CODE_QUERY_RATES      400
#define CODE_QUERY_EXIST      100

/* Stores a page of the catalog as the agent sent it, for code_query_read. after: "" or
 * code_query_page.next. */
int code_query_page(struct session *s, const char *after, struct buf *page, struct err *e);

/* Origin of an application, with the agent's numbers. */
enum code_query_origin { CODE_QUERY_OWN, CODE_QUERY_PLATFORM, CODE_QUERY_LIBRARY };

struct code_query_sink { /* shown: name in the form of term_module or term_function; behaviours:
                            those that the module has declared, blanks between them; texts are valid
                            during the call */
    void *arg;
    void (*module)(void *arg, const char *shown, const char *app, enum code_query_origin origin,
                   const char *behaviours);
    void (*function)(void *arg, const char *shown, unsigned arity, bool exported);
};

struct code_query_page {
    uint32_t at, of;                  /* number of modules reported so far; number of all modules */
    char next[CODE_QUERY_NAME_BYTES]; /* "": that was the last page */
};

/* False: the bytes are not a page; the sink may already have received a part. */
bool code_query_read(const void *bytes, size_t n, const struct code_query_sink *sink,
                     struct code_query_page *page);

#define CODE_QUERY_NOTE_BYTES 200
/* Stores the functions that f calls according to the code in its module's file, as one page for
 * code_query_read; note: what they are. itself: with f if it calls itself. -1 with err also when
 * the file is not there. */
int code_query_callees(struct session *s, const struct mfa *f, bool itself, struct buf *page,
                       char note[CODE_QUERY_NOTE_BYTES], struct err *e);

/* Sets there[i] if the module of f[i] is loaded and has the function; n is at most
 * CODE_QUERY_EXIST. */
int code_query_exist(struct session *s, const struct mfa *f, size_t n, bool *there, struct err *e);

struct code_query_rates {
    bool wait;   /* there is no result yet: call again later */
    uint32_t ms; /* time of counting */
    size_t n;
    int64_t calls[CODE_QUERY_RATES]; /* -1: not counted */
};
/* Begins to count calls of f[0..n), for a second; n is at most CODE_QUERY_RATES. *wait: the node
 * still counts other functions, or its breaker is not closed: try again later. */
int code_query_rates_begin(struct session *s, const struct mfa *f, size_t n, bool *wait,
                           struct err *e);
int code_query_rates_take(struct session *s, struct code_query_rates *out, struct err *e);

#endif
