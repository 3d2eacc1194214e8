/* The agent's requests as functions: encode, send, wait, read the answer. Forms:
 * src/agent/PROTOCOL.md.
 *
 * All block for at most their timeout and are for the session's one control thread; 0, or -1 with
 * err. Answers from the target are bounded and may hold any bytes. */
#ifndef KPROF_TRACE_ASK_H
#define KPROF_TRACE_ASK_H

#include <kprof/trace/session.h>
#include <kprof/trace/wish.h>

#define ASK_NOTE_BYTES 240
#define ASK_ITEMS      500
#define ASK_PIDS       1024
#define ASK_FRAMES     20
#define ASK_WHO_BYTES  80

struct ask_tier {
    uint16_t ix;
    uint64_t matched;
    char note[ASK_NOTE_BYTES]; /* why it matched nothing; "" */
};

struct ask_config {
    struct ask_tier tier[EVENT_TIERS];
    size_t n;
    bool rule_refused; /* then nothing was changed and rule_error says why and where */
    char rule_error[400];
};

struct ask_called { /* answer of why */
    bool no_function;
    uint64_t called, in_request, outside; /* calls in the second that was counted */
};

int ask_config(struct session *s, const struct wish *w, struct ask_config *out, struct err *e);
int ask_tracing(struct session *s, bool on, struct err *e);
int ask_limits(struct session *s, const struct wish *w, struct err *e);
int ask_sample(struct session *s, uint32_t n, struct err *e);
/* Renews the lease as of age_ms ago. */
int ask_ping(struct session *s, uint64_t age_ms, struct err *e);
int ask_trip(struct session *s, const char *why,
             struct err *e); /* our reason to open the breaker */
/* The same while the control thread waits for another answer, from any thread: session_urge. */
bool ask_trip_urged(struct session *s, const char *why);
int ask_why(struct session *s, uint16_t ix, struct ask_called *out, struct err *e);
/* Of pids[0..n) (serial << 32 | id) those that are dead; *n_dead of them in dead. */
int ask_dead(struct session *s, const uint64_t *pids, size_t n, uint64_t *dead, size_t *n_dead,
             struct err *e);
/* Registered names or initial calls: one line for each of pids[0..n) in *lines, empty when the
 * process is gone. */
int ask_who(struct session *s, const uint64_t *pids, size_t n, struct buf *lines, struct err *e);
/* Where a process is now: a line a function, innermost first, in *lines; *dead: it is no more. */
int ask_stack(struct session *s, uint64_t pid, struct buf *lines, bool *dead, struct err *e);
/* What typed could become: full M:F/A texts or module names, one a line in *lines. */
int ask_completions(struct session *s, const char *typed, struct buf *lines, struct err *e);

#endif
