/* A snapshot: everything a screen or an export may show, frozen at one moment.
 *
 * Invariant: immutable once made; self-contained (strings are inside it); every text, JSON, CSV and
 * screen figure of that moment comes from here, so they agree. Freed by snapshot_free. Strings that
 * come from the target are raw bytes: whoever draws them passes them through text_safe or json_str.
 */
#ifndef KPROF_CORE_SNAPSHOT_H
#define KPROF_CORE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum window {
    WINDOW_1S,
    WINDOW_10S,
    WINDOW_1M,
    WINDOW_5M,
    WINDOW_30M,
    WINDOW_60M,
    WINDOW_3H,
    WINDOW_RUN,
    WINDOW_COUNT
};
const char *window_name(enum window w); /* "1s" "10s" "1m" "5m" "30m" "60m" "3h" "run" */
uint64_t window_ns(enum window w);      /* UINT64_MAX for the whole run */

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };
const char *breaker_name(enum breaker_state s); /* "closed" "open" "half-open" */

struct snap_row {
    uint16_t tier; /* tier number, or TIER_TOTAL */
    const char *tier_name;
    const char *ident;  /* NULL: the tier over all identities */
    uint64_t count;     /* calls seen that are aggregated in the window */
    uint64_t est_count; /* the same scaled by the sampling in force when each was seen */
    uint64_t late, errors;
    double rate; /* est_count per second of the window actually covered */
    double min_us, mean_us, sd_us, p25_us, p50_us, p75_us, p90_us, p95_us, p99_us, p999_us, max_us;
    double self_us; /* mean self time a call (without nested traced tiers) */
    double share;   /* 0..1: self time of these calls / duration of the requests of that identity */
    double oldest_open_us; /* age of the oldest call still open; 0: none */
    const char *note;      /* NULL, or why the row is empty ("no such function; near: ...") */
};

struct snap_slow_tier {
    uint16_t tier;
    const char *name;
    uint64_t start_us; /* from the start of the request */
    uint64_t duration_us;
    uint64_t pid;
    bool error;
};

struct snap_slow {
    uint64_t seq;     /* 1, 2, ... over the run */
    uint64_t wall_ns; /* when the call ended, our wall clock */
    uint64_t pid;     /* serial << 32 | id */
    const char *tier_name;
    const char *ident; /* "undefined" when the rule gave none */
    const char *args;  /* NULL unless --slow-args */
    const char *who;   /* registered name or initial call of the process; NULL: not known */
    uint64_t request;  /* label */
    double duration_us, request_us; /* request_us 0: still open */
    bool error;
    const struct snap_slow_tier *tiers;
    size_t n_tiers;
};

struct snap_log { /* what happened, for the log pane: breaker, reload, node lost, ... */
    uint64_t wall_ns;
    const char *text;
};

struct snap_node { /* filled by app from heartbeats; all zero when never heard */
    char name[256];
    char otp[16];
    bool connected, tracing;
    uint64_t uptime_s;
    uint32_t run_queue;
    double scheduler_use; /* 0..1; negative: not known */
    uint64_t memory_bytes, processes;
    uint64_t relay_queue, relay_bytes;
    char transport[16]; /* "dist" "replay" "memory" "native" */
    char state[200];    /* one line for a person: "reconnecting in 4 s: ..." or "" */
};

struct snap_breaker {
    enum breaker_state state;
    uint64_t trips;
    char reason[120];  /* "" : none */
    double next_try_s; /* seconds to the next try; 0 when closed */
};

struct snapshot {
    uint64_t wall_ns; /* when it was made */
    double elapsed_s; /* since the session began */
    enum window window;
    double window_s; /* seconds of the window actually covered so far */
    bool final;
    struct snap_node node;
    struct snap_breaker breaker;
    bool lean; /* returns mode */
    bool has_entry, has_identity;
    uint32_t sample;                        /* 1/sample */
    double events_per_s, lag_ms, ring_fill; /* ring_fill 0..1 */
    struct {
        uint64_t received, aggregated, open, expired, unattributed;
    } calls;
    struct {
        uint64_t target, ring;
    } lost;
    struct {
        uint64_t started, finished, open, expired;
    } requests;
    struct {
        uint64_t identities_folded, pids_full, requests_full, bad_events, late, orphan_returns;
    } odd;
    const struct snap_row *rows; /* tiers in order, _total last; of a tier: its total row, then its
                                    identities by count */
    size_t n_rows;
    const struct snap_slow *slow; /* newest first */
    size_t n_slow;
    const struct snap_log *log; /* newest first */
    size_t n_log;
    void *owner; /* memory behind all of it */
};

void snapshot_free(struct snapshot *s); /* NULL is fine */
/* Copies the lines (newest first) into the snapshot; for whoever made it, once, before it is handed
 * on. */
void snapshot_set_log(struct snapshot *s, const struct snap_log *lines, size_t n);
/* Sets who ran each slow call: who(arg, pid) is a name or NULL, copied. For whoever made it, before
 * it is handed on. */
void snapshot_set_who(struct snapshot *s, const char *(*who)(void *arg, uint64_t pid), void *arg);
bool snapshot_conserves(
    const struct snapshot *s); /* calls.received == aggregated + open + expired + unattributed */

#endif
