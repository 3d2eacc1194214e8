/* Questions about the node's code: what could be traced, is it there, how often is it called.
 * Forms: src/agent/PROTOCOL.md.
 *
 * Those with a session block for at most their timeout and are for its one control thread; 0, or -1
 * with err. The readers are pure and take any bytes. */
#ifndef KPROF_TRACE_CODE_QUERY_H
#define KPROF_TRACE_CODE_QUERY_H

#include <kprof/erl/term.h>
#include <kprof/trace/session.h>

#define CODE_QUERY_NAME_BYTES 1024 /* of a module as the node names it */
#define CODE_QUERY_RATES      40
#define CODE_QUERY_EXIST      100

/* A page of the catalog as the agent sent it, for code_query_read. after: "" or
 * code_query_page.next. */
int code_query_page(struct session *s, const char *after, struct buf *page, struct err *e);

/* Whose an application is: as the agent numbers it. */
enum code_query_origin { CODE_QUERY_OWN, CODE_QUERY_PLATFORM, CODE_QUERY_LIBRARY };

struct code_query_sink { /* shown: as term_module and term_function write them; valid during the
                            call */
    void *arg;
    void (*module)(void *arg, const char *shown, const char *app, enum code_query_origin origin);
    void (*function)(void *arg, const char *shown, unsigned arity, bool exported);
};

struct code_query_page {
    uint32_t at, of;                  /* modules told so far, of all */
    char next[CODE_QUERY_NAME_BYTES]; /* "": that was the last page */
};

/* False: these bytes are no page; the sink may have got some of it. */
bool code_query_read(const void *bytes, size_t n, const struct code_query_sink *sink,
                     struct code_query_page *page);

/* Which of f[0..n) are loaded and have that function; n is at most CODE_QUERY_EXIST. */
int code_query_exist(struct session *s, const struct mfa *f, size_t n, bool *there, struct err *e);

struct code_query_rates {
    bool wait;   /* nothing yet: ask again */
    uint32_t ms; /* counted for so long */
    size_t n;
    int64_t calls[CODE_QUERY_RATES]; /* -1: not counted */
};
/* Begins to count calls of f[0..n), for a second; wait: others are being counted. */
int code_query_rates_begin(struct session *s, const struct mfa *f, size_t n, bool *wait,
                           struct err *e);
int code_query_rates_take(struct session *s, struct code_query_rates *out, struct err *e);

#endif
