/* A snapshot: everything a screen or an export may show, frozen at one time.
 *
 * Invariant: immutable once it is handed on (who makes it fills it in before that: snapshot_rows,
 * snapshot_set_who, snapshot_set_log); self-contained (what it points at is inside it; slow
 * requests are shared and counted); figures of one time, in whatever export or on whatever
 * screen, come from here, so they agree. Freed by snapshot_free. Strings that come from the target
 * are raw bytes: whoever draws them passes them through text_safe or json_str. */
#ifndef KPROF_CORE_SNAPSHOT_H
#define KPROF_CORE_SNAPSHOT_H

#include <kprof/core/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAP_GAPS 64

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

#define SNAP_TREND 60 /* seconds */
#define IDENT_ALL  UINT16_MAX
const char *gap_name(enum gap_reason r); /* "off" "overload" "lease" "lost" "silent"; "none" */

struct snap_row {
    uint16_t tier;    /* tier number, or TIER_TOTAL */
    uint16_t ident_n; /* number of the identity, until figures are forgotten; IDENT_ALL */
    const char *tier_name;
    const char *tier_mfa; /* its function, as the operator wrote it; NULL: _total */
    const char *ident;    /* NULL: the tier over all identities */
    bool gone;            /* only a former rule gave this identity */
    uint64_t count;       /* calls seen that are aggregated in the window */
    uint64_t run_count;   /* of a tier: calls since figures were forgotten, whatever the window */
    uint64_t est_count;   /* the same scaled by the sampling in force when each was seen */
    uint64_t late, errors, exits; /* exits: of the errors, those of processes that died inside */
    /* Calls counted by the VM while nothing was traced (breaker open, or tracing was about to
     * begin); 0 for identities, which nobody knew then. They are in none of the figures but rate;
     * how long they took is not known. */
    uint64_t counted;
    /* Per second of the window in which its tier was set and traced: est_count; of a tier with
     * `counted`, per second that was traced or counted, both together. NAN: none of it was (or less
     * than 50 ms); 0: nothing of the window has passed. */
    double rate;
    double min_us, mean_us, sd_us, p25_us, p50_us, p75_us, p90_us, p95_us, p99_us, p999_us, max_us;
    double self_us; /* mean self time a call (without nested traced tiers) */
    /* Self time of these calls within their requests / duration of the requests of that identity
     * that ended in the window: 0..1 over a run, but a short window may have calls whose request
     * ends outside of it. 0 without an entry. */
    double share;
    double oldest_open_us; /* age of the oldest call still open; 0: none, or the window is past */
    /* Against the mark, where the snapshot is compared: changes as parts of what it was (0.1: a
     * tenth more; NaN: nothing to compare), and the calls seen then. */
    double d_rate, d_p50, d_p99;
    uint64_t then_count;
    const uint8_t *packed; /* the histogram as hist_pack has it; NULL unless core_keep_hists */
    size_t n_packed;
    /* Of a tier: what the node said when asked why it is empty ("no such function; near: ..."),
     * until calls were seen; NULL: nothing. */
    const char *note;
    /* The SNAP_TREND seconds before the window's end, oldest first; NAN where it is not known, or
     * nothing was to measure. NULL: not asked for. */
    const float *trend_rate, *trend_p99_us;
};

/* How the calls of one row in the window lie on base/scale. */
struct snap_dist {
    bool there;
    uint16_t tier, ident_n;
    size_t low, n; /* bins low .. low + n - 1 hold all there is */
    const uint64_t *bin;
    uint64_t count;
};

/* One column of the heat map. Where single seconds are no longer kept, a column may hold more than
 * its own seconds; those that follow then lie inside and are empty. */
struct snap_heat_col {
    uint64_t from_s, to_s; /* what it holds */
    bool known;            /* false: nothing is kept of it */
    bool inside;           /* its time is covered by the nearest earlier column that is not */
    uint64_t count, errors;
    double gap_s; /* of its time nothing was traced, */
    enum gap_reason gap;
    const uint32_t *bin; /* as of snap_heat; NULL: no calls */
};

struct snap_heat {
    bool there;
    uint16_t tier, ident_n;
    uint64_t from_s; /* column i begins there, plus i * col_s */
    uint32_t col_s;
    size_t n, low, n_bins; /* columns; bins of base/scale: low .. low + n_bins - 1 */
    const struct snap_heat_col *col;
};

struct snap_slow_tier {
    uint16_t tier;
    const char *name;
    uint64_t start_us; /* from the start of the request */
    uint64_t duration_us;
    uint64_t self_us; /* without the calls that began within it, in any process */
    uint64_t pid;
    bool error;
};

struct snap_slow_sum { /* a tier in a slow request, all its calls together */
    const char *name;
    uint32_t calls;
    double sum_us, self_us;
    uint64_t pid;    /* of its call with the most self time */
    const char *who; /* that process; NULL: not known */
};

struct snap_slow_call { /* the slow calls of a tier in a request: the longest, and how many */
    const char *tier_name;
    uint32_t calls;
    double duration_us;
    uint64_t pid;
    const char *args; /* NULL unless --slow-args */
    bool error;
};

/* A request with slow calls, all of them together; or a slow call without a request. */
struct snap_slow {
    uint64_t seq;      /* 1, 2, ... by the first slow call, since the figures were forgotten last */
    uint64_t done;     /* the same by the end of the request; 0: it is still open */
    uint64_t wall_ns;  /* when it ended (open: its last slow call), our wall clock */
    uint64_t first_ns; /* the slow call that ended first did so before wall_ns by so much */
    uint64_t pid;      /* serial << 32 | id; this and the next: of the longest slow call */
    const char *tier_name;
    const char *ident;  /* "undefined" when the rule gave none */
    const char *args;   /* of the longest slow call; NULL unless --slow-args */
    const char *who;    /* registered name or initial call of the process; NULL: not known */
    uint64_t request;   /* label; 0: no request */
    uint64_t trace;     /* id of its snap_slow_trace, if that is still there; 0: none */
    double duration_us; /* of the longest slow call */
    double request_us;  /* 0: still open, or given up, or no request */
    bool error, exit;   /* of the longest slow call; exit: the process died inside */
    uint32_t n_slow;    /* slow calls */
    const struct snap_slow_call *calls; /* by tier, as many as are kept */
    size_t n_calls;
    const struct snap_slow_tier *tiers; /* the first calls of the request, slow or not */
    size_t n_tiers;
    const struct snap_slow_sum *sums;
    size_t n_sums;
};
/* The tier that explains most of it, by self time; NULL: its tiers are not known. */
const struct snap_slow_sum *slow_most(const struct snap_slow *w);
/* What its line says: how long the request took, or, without one that has ended, its longest slow
 * call; and the tier that explains most of it, and the process in which. */
double slow_took_us(const struct snap_slow *w);
const char *slow_tier(const struct snap_slow *w);
uint64_t slow_pid(const struct snap_slow *w);
const char *slow_who(const struct snap_slow *w);

struct slow_trace_request; /* core/slow_trace.h; core/waterfall.h makes rows of it */

struct snap_slow_trace { /* a slow request with its calls */
    const struct slow_trace_request *request;
    uint64_t wall_ns; /* when it began, our wall clock */
};

/* Which slow requests are meant: those with the text in a name, a process or arguments on their
 * line, that have a slow call that ended in the time, or ended themselves then. */
struct slow_filter {
    char text[128];          /* "": any */
    uint64_t from_ns, to_ns; /* our wall clock, [from, to); to 0: without end */
};
bool slow_filter_set(const struct slow_filter *f); /* it leaves something out */
bool slow_matches(const struct slow_filter *f, const struct snap_slow *w);

enum { SNAP_OPEN = 100 };

struct snap_open {          /* a call that has not ended now, wherever the window is */
    uint64_t pid, start_ns; /* start: target time; the two tell it from others */
    const char *tier_name;
    const char *ident; /* "undefined" when not known (yet) */
    const char *who;   /* registered name or initial call of the process; NULL: not known */
    double age_us;
};

struct snap_log { /* what happened, for the log pane: breaker, reload, node lost, ... */
    uint64_t wall_ns;
    const char *text;
};

struct snap_gap {        /* seconds before now; begins not before the window, may end after it */
    double from_s, to_s; /* to_s 0: it goes on */
    enum gap_reason reason;
};

struct snap_mark { /* a traced module was loaded again */
    uint64_t wall_ns;
    double ago_s;
    const char *module;
};

struct snap_node { /* filled by engine/view; figures are the last heartbeat's, before the first 0 */
    char name[256]; /* as it was typed until it answers */
    char otp[16];
    bool connected, tracing;
    uint64_t uptime_s;
    uint32_t run_queue;
    double scheduler_use; /* 0..1; negative: not known, as before the first heartbeat */
    uint64_t memory_bytes, processes;
    uint64_t relay_queue, relay_bytes;
    char transport[16]; /* "dist" "replay" */
    bool replay;        /* a recording: */
    double replay_share,
        replay_speed; /* 0..1 of it has been read; times its own pace, 0: all at once */
    double silent_s;  /* without a word for so long, though connected; 0: it is heard */
    char state[200];  /* one line for a person: "NODE LOST, next try in 4 s: ..." or "" */
};

struct snap_breaker {
    enum breaker_state state;
    uint64_t trips;
    char reason[120];  /* why it opened last; "": it never did, or the agent has not yet said */
    double next_try_s; /* seconds to the next try; 0 when not open, and in a replay */
    double pause_s;    /* how long it stays open this time; 0 when not open */
};

/* Why less is sampled than asked for. At the start of tracing SAMPLE_COST, whichever limit it is.
 */
enum sample_why { SAMPLE_ASKED, SAMPLE_RATE, SAMPLE_COST, SAMPLE_BREAKER, SAMPLE_FLOOD };
/* "" "max-rate" "max-overhead" "breaker" "flood" */
const char *sample_why_name(enum sample_why w);

struct snap_cost { /* what tracing costs the node, by its own account */
    bool known;
    bool assumed;         /* call_ns was not measured there */
    double percent;       /* of its schedulers' time, smoothed over a second */
    double limit_percent; /* 0: none, or a replay */
    double call_ns;       /* of a traced call, in the process that makes it */
};

struct snap_clock { /* the node's clock against ours */
    bool error_known, drift_known;
    double error_us;  /* what ages and times of the node may be wrong by */
    double drift_ppm; /* it runs faster than ours by so much */
};

struct snapshot {
    uint64_t wall_ns; /* when it was made; of a replay: what our clock showed then */
    double elapsed_s; /* since the run began; of a replay: since its first event */
    enum window window;
    double window_s; /* seconds of the window actually covered so far */
    struct {
        uint64_t zero_wall_ns;    /* when second 0 of the history began, our wall clock */
        uint64_t oldest_s, now_s; /* kept are the closed seconds [oldest, now) */
        bool history;             /* the window is the range from_s, to_s; false: it ends now */
        uint64_t from_s, to_s;    /* the closed seconds [from, to) */
        uint64_t asked_s;         /* its length when that is none of enum window; 0 */
    } time;
    struct snap_dist dist;
    struct snap_heat heat;
    double gap_s;     /* of window_s without tracing; rates are per second of the rest, */
    double counted_s; /* and of this part of gap_s, in which calls were counted all the same */
    bool final;
    struct snap_node node;
    struct snap_breaker breaker;
    bool lean; /* returns mode */
    bool has_entry, has_identity;
    struct snap_cost cost;
    struct snap_clock clock;
    uint32_t sample, sample_asked; /* 1/sample, in force and as the operator asked */
    enum sample_why sample_why;
    double events_per_s, lag_ms, ring_fill; /* ring_fill 0..1 */
    double oldest_event_ms;                 /* age of the oldest event of the run when it came */
    struct {
        uint64_t received, aggregated, open, expired, unattributed;
    } calls;
    struct {
        uint64_t target; /* messages dropped there, and batches that did not come */
        uint64_t ring;   /* events */
    } lost;
    struct {
        uint64_t started, finished, open, expired;
    } requests;
    struct {
        uint64_t identities_folded, pids_full, requests_full, bad_events, late, orphan_returns;
    } odd;
    /* Calls of the window are under "<other>", for all of so many names are taken; 0: none are. */
    uint32_t names_full;
    char rule_note[200]; /* why the identity rule names no request; "": it does, or not known */
    char compared[200];  /* what its rows are compared with; "": nothing */
    const struct snap_row *rows; /* tiers in order, _total last; of a tier: its total row, then its
                                    identities by count */
    size_t n_rows;
    uint64_t slow_ns;             /* the threshold in force; 0: nothing is logged */
    const struct snap_slow *slow; /* newest first */
    size_t n_slow;
    size_t n_slow_recent; /* of them, without gaps; older ones are the slowest of their identity */
    const struct snap_open *open; /* oldest first, at most SNAP_OPEN */
    size_t n_open;
    const struct snap_slow_trace *slow_traces; /* newest first */
    size_t n_slow_traces;
    const char *const *tier_names; /* by number, removed ones too */
    size_t n_tier_names;
    const struct snap_log *log; /* newest first */
    size_t n_log;
    const struct snap_gap *gaps; /* of the window, newest first, the newest SNAP_GAPS of them */
    size_t n_gaps;
    const struct snap_mark *marks; /* of the window, newest first */
    size_t n_marks;
    void *owner; /* memory behind all of it */
};

void snapshot_free(struct snapshot *s); /* NULL is fine */
/* Copies the lines (newest first) into the snapshot; for whoever made it, once, before it is handed
 * on. */
void snapshot_set_log(struct snapshot *s, const struct snap_log *lines, size_t n);
/* Sets who ran each slow and each open call: a name or NULL, copied; wall_ns: when the call ended,
 * UINT64_MAX: it is open. For whoever made it, before it is handed on. */
typedef const char *snapshot_who(void *arg, uint64_t pid, uint64_t wall_ns);
void snapshot_set_who(struct snapshot *s, snapshot_who *who, void *arg);
/* f; where it leaves the time open and s is of an earlier time: only the calls of then. */
struct slow_filter slow_filter_at(const struct slow_filter *f, const struct snapshot *s);
/* How much of the time from from_s to to_s seconds ago was gap, as far as the list goes; *most (may
 * be NULL): the reason of most of it. A second is wholly a gap when this is 1. */
double snapshot_gap_s(const struct snapshot *s, double from_s, double to_s, enum gap_reason *most);
/* Our wall clock at second `sec` of the history. */
uint64_t snapshot_wall_ns(const struct snapshot *s, uint64_t sec);
/* A pid (serial << 32 | id) as the target's own shell shows it: "<0.ID.SERIAL>". */
#define SNAPSHOT_PID_BYTES 32
void snapshot_pid(uint64_t pid, char out[SNAPSHOT_PID_BYTES]);
/* The rows, to be filled in further, for whoever made it, before it is handed on. */
struct snap_row *snapshot_rows(struct snapshot *s);
bool snapshot_conserves(
    const struct snapshot *s); /* calls.received == aggregated + open + expired + unattributed */

#endif
