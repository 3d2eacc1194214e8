/* Decodes the agent's full trace ({kf,...}; src/agent/PROTOCOL.md, "Full trace") into a
 * core/call_tree, and says how it ended.
 *
 * Invariant: accepts any bytes. A malformed part is counted in `bad`, and the rest of that message
 * is not used. Tables are bounded. A message with number 1 begins another trace: the tree must be
 * new then. Borrows the tree and its profile; for the one thread that writes the profile. */
#ifndef KPROF_TRACE_FULL_DECODE_H
#define KPROF_TRACE_FULL_DECODE_H

#include <kprof/core/call_tree.h>
#include <kprof/trace/node_clock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum full_phase { FULL_BEGUN, FULL_SETTING, FULL_WAITING, FULL_RUNNING, FULL_SENDING };

/* Why it has ended. */
enum full_reason {
    FULL_NOT_ENDED,
    FULL_DONE, /* the request has ended */
    FULL_NO_CALL,
    FULL_NONE_MATCHED,
    FULL_BUDGET,
    FULL_TIME,
    FULL_NO_FUNCTION,
    FULL_TOO_MANY,
    FULL_BREAKER,
    FULL_LEASE,
    FULL_RUN_QUEUE,
    FULL_BEHIND,
    FULL_CANCELED,
    FULL_DIED,
    FULL_REFUSED,
    FULL_CODE_SERVER, /* it did not answer */
    FULL_REASONS
};

/* The agent's report about the trace. */
struct full_figures {
    enum full_phase phase;
    enum full_reason reason;
    uint64_t functions;      /* functions that have a pattern; FULL_TOO_MANY: that would have one */
    uint64_t budget, events; /* maximum, and events of the request that is traced, or kept */
    uint64_t total;          /* events of all requests */
    uint64_t dropped;        /* events of a process while it did not work for the request */
    uint64_t requests;       /* requests that were traced */
    uint64_t calls, counted; /* calls of the first function; counted 0: they are not known */
    uint64_t slowest_ns;     /* the longest duration of the requests that were not kept */
    uint64_t set_ms;         /* time to set the patterns */
    uint64_t off_us;         /* from the end until no process had a trace flag */
    bool waits, gc; /* this VM can report when a process does not run; when it collects garbage */
};

struct full_decode_counts {
    uint64_t messages, missing, bad;
};

struct full_decoder;
struct full_decoder *full_decoder_new(struct call_tree *t, struct stack_profile *p);
void full_decoder_free(struct full_decoder *d); /* NULL is fine */
/* Whether a message of stream_take_stacks is one of a full trace. */
bool full_decoder_is(const void *bytes, size_t n);
/* The id of the full_request that this message belongs to; 0: it has none. */
uint64_t full_decoder_id(const void *bytes, size_t n);
/* One message with its version byte. False: at least a part of it could not be read. */
bool full_decoder_feed(struct full_decoder *d, const void *bytes, size_t n,
                       const struct node_clock *clock);
const struct full_figures *full_decoder_figures(const struct full_decoder *d);
const struct full_decode_counts *full_decoder_counts(const struct full_decoder *d);

/* Writes how it ended, or what it does now, as a sentence without a full stop. what: the function,
 * or the pid, as the operator wrote it; safe to show. */
void full_figures_say(const struct full_figures *f, const char *what, char *out, size_t n);

#endif
