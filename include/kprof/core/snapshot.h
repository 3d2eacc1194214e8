/* A snapshot: an immutable copy of all data that a screen or an export can show.
 *
 * Invariant: immutable once it is complete. Before that, its maker fills it in with snapshot_rows,
 * snapshot_set_who and snapshot_set_log. Self-contained: it owns all that it points at, except slow
 * traces, which it shares by reference. All screens and exports take the values of one time from
 * one snapshot, so the values agree. snapshot_free frees it. Strings from the node are raw bytes:
 * code that draws them must use text_safe or json_str. */
#ifndef KPROF_CORE_SNAPSHOT_H
#define KPROF_CORE_SNAPSHOT_H

#include <kprof/core/event.h>
#include <kprof/core/time_part.h>
#include <kprof/core/vm_event.h>
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
const char *gap_text(enum gap_reason r); /* the same in words, for a screen */

struct snap_row {
    uint16_t tier;    /* tier number, or TIER_TOTAL */
    uint16_t ident_n; /* number of the identity, until values are reset; IDENT_ALL */
    const char *tier_name;
    const char *tier_mfa; /* function of the tier, as the operator wrote it; NULL: _total */
    const char *ident;    /* NULL: the tier over all identities */
    bool former;          /* only a former rule gave this identity */
    uint64_t count;       /* traced and aggregated calls in the window */
    uint64_t run_count;   /* tiers only: calls since values were last reset, in any window */
    /* `count`, each call times the sampling in use when it was traced (its weight). Times and
     * quantiles are those of all calls, too: each call counts as often as its weight says. */
    uint64_t est_count;
    uint64_t late, errors, exits; /* exits: errors of processes that died inside the call */
    /* Calls that the VM counted while the breaker was open; 0 for identities. They are not in
     * `count`; their durations are not known. Only rate includes them. */
    uint64_t counted;
    /* Calls per second of the part of the window in which the tier was set and traced: from
     * est_count. For a tier with `counted`: est_count plus counted, per second that was traced or
     * counted. NAN: no part of the window was traced (or less than 50 ms); 0: no time of the window
     * has passed. */
    double rate;
    double min_us, mean_us, sd_us, p25_us, p50_us, p75_us, p90_us, p95_us, p99_us, p999_us, max_us;
    double self_us; /* mean self time per call (without nested traced tiers) */
    /* Self time of these calls within their requests, divided by the duration of the requests of
     * the identity that ended (or were given up) in the window. It is 0..1 over a run, but in a
     * short window it may exceed 1, because the request of a call may end outside of the window.
     * NAN: no request has ended, or there is no entry. */
    double share;
    double oldest_open_us; /* age of the oldest call still open; 0: none, or the window ends before
                              now */
    /* If the snapshot is compared with a reference: changes as fractions of the value in the
     * reference (0.1: a tenth more; NaN: nothing to compare), and the number of calls in the
     * reference. */
    double d_rate, d_p50, d_p99;
    uint64_t then_count;
    const uint8_t *packed; /* the histogram in the form of hist_pack; NULL unless core_keep_hists */
    size_t n_packed;
    /* Tiers only: why the tier is empty; NULL: not known. The answer of the node ("no such
     * function; near: ..."), until calls are seen, or that the calls in the window are
     * unattributed. */
    const char *note;
    /* The SNAP_TREND seconds before the end of the window, oldest first; NAN if nothing is known or
     * nothing was measured. Errors: as a part of the calls, 0..1. NULL: not requested. */
    const float *trend_rate, *trend_p99_us, *trend_errors;
    /* Tiers whose calls run in another process than their caller, as those of a gen_server. wait:
     * from the moment at which the caller sends its message to the moment at which the call begins;
     * waits: calls for which it is known (--mailbox; 0: the times are NAN). busy: the share of the
     * traced time in which the processes of the tier ran its calls within requests, summed over the
     * processes (1: one process was always busy, or two for half of the time); NAN: no process had
     * calls of several requests. busiest: its process that was busiest with these calls in the last
     * 5 to 10 s, and its own share of their traced time; 0: none, or the window ends before now.
     * busiest_all: the share in which this process ran calls of all tiers; a call waits for these
     * too. load: the same, summed over the processes that had calls of this tier. */
    uint64_t waits;
    double wait_mean_us, wait_p50_us, wait_p90_us, wait_p99_us, wait_p999_us, wait_max_us;
    double busy, busiest, busiest_all, load;
    uint64_t busiest_pid;
    uint32_t processes;                 /* that had calls of the tier in that time */
    const struct time_part_view *parts; /* NULL: no parts were recorded in the window */
};

/* The distribution of the calls of one row in the window over the bins of base/scale. */
struct snap_dist {
    bool there;
    uint16_t tier, ident_n;
    size_t low, n; /* bins low .. low + n - 1 contain all calls */
    const uint64_t *bin;
    uint64_t count; /* est_count of the row */
};

/* One column of the heat map. If single seconds are no longer stored, a column may cover more than
 * its own seconds; the following columns are then inside it and empty. */
struct snap_heat_col {
    uint64_t from_s, to_s;  /* the seconds it covers */
    bool known;             /* false: nothing is stored of it */
    bool inside;            /* the nearest earlier column with inside == false covers its time */
    uint64_t count, errors; /* estimates for all calls, as est_count of a row is */
    bool estimated;         /* calls were sampled: count, errors and bins are not exact */
    double gap_s;           /* seconds of its time in which nothing was traced */
    enum gap_reason gap;
    const uint32_t *bin; /* bins as in snap_heat; NULL: no calls */
};

struct snap_heat {
    bool there;
    uint16_t tier, ident_n;
    uint64_t from_s; /* column i begins at from_s + i * col_s */
    uint32_t col_s;
    size_t n, low, n_bins; /* columns; bins of base/scale: low .. low + n_bins - 1 */
    const struct snap_heat_col *col;
};

struct snap_slow_tier {
    uint16_t tier;
    const char *name;
    uint64_t start_us; /* from the start of the request */
    uint64_t duration_us;
    uint64_t self_us; /* without calls that began within it, in any process */
    uint64_t pid;
    uint32_t mailbox_us; /* time before its start in the mailbox, if mailbox_known */
    bool error, mailbox_known;
};

struct snap_slow_sum { /* all calls of a tier in a slow request */
    const char *name;
    uint32_t calls;
    double sum_us, self_us;
    uint64_t pid;    /* process of its call with the most self time */
    const char *who; /* name of the process; NULL: not known */
};

struct snap_slow_call { /* the slow calls of a tier in a request: the longest, and how many */
    const char *tier_name;
    uint32_t calls;
    double duration_us;
    uint64_t pid;
    const char *args; /* NULL unless --slow-args */
    bool error;
};

struct snap_place {     /* what a process did when it was polled */
    const char *text;   /* functions, innermost first; raw bytes from the node */
    const char *status; /* "waiting", "running", ... */
    double share;       /* of the polls of its request */
};

/* A slow request with all its slow calls, or a slow call without a request. */
struct snap_slow {
    uint64_t seq;      /* 1, 2, ... by the first slow call, since values were last reset */
    uint64_t done;     /* 1, 2, ... by the end of the request; 0: it is still open */
    uint64_t wall_ns;  /* when it ended (open: its last slow call), wall clock of this machine */
    uint64_t first_ns; /* the first end of a slow call, in ns before wall_ns */
    uint64_t pid;      /* serial << 32 | id; pid and tier_name: of the longest slow call */
    const char *tier_name;
    const char *ident;  /* "undefined" when the rule gave none */
    const char *args;   /* of the longest slow call; NULL unless --slow-args */
    const char *who;    /* registered name or initial call of the process; NULL: not known */
    uint64_t request;   /* label; 0: no request */
    uint64_t trace;     /* id of its snap_slow_trace if that still exists; 0: none */
    double duration_us; /* of the longest slow call */
    double request_us;  /* 0: still open, or expired, or no request */
    bool error, exit;   /* of the longest slow call; exit: the process died inside */
    uint32_t n_slow;    /* slow calls */
    const struct snap_slow_call *calls; /* by tier, as many as are stored */
    size_t n_calls;
    const struct snap_slow_tier *tiers; /* the first calls of the request, slow or not */
    size_t n_tiers;
    const struct snap_slow_sum *sums;
    size_t n_sums;
    uint32_t polls;                  /* while it was open for a long time; 0: it was not polled */
    const struct snap_place *places; /* the most frequent, at most 4 */
    size_t n_places;
};
/* The name of an identity for the screen: "(no name)" for "undefined", "(other)" for "<other>",
 * else the name itself (NULL: NULL). Outputs for programs keep the identifiers. */
const char *snapshot_name(const char *ident);

/* Whether the identity is a name that the rule gave, not "undefined" or "<other>" of the snapshot.
 */
bool snapshot_is_named(const struct snap_row *r);

/* n traced calls of a row (errors, for example) as an estimate for all calls, as est_count is for
 * `count`; equal to n if all calls were traced. */
uint64_t snapshot_estimate(const struct snap_row *r, uint64_t n);

/* Returns the tier with the most self time; NULL: the tiers are not known. */
const struct snap_slow_sum *slow_most(const struct snap_slow *w);
/* What the line of a slow request on the screen shows. slow_took_us: the duration of the request
 * or, when no request has ended, of the longest slow call; slow_tier, slow_pid, slow_who: the tier
 * with the most self time, and its process. */
double slow_took_us(const struct snap_slow *w);
const char *slow_tier(const struct snap_slow *w);
uint64_t slow_pid(const struct snap_slow *w);
const char *slow_who(const struct snap_slow *w);

struct snapshot;
/* The name of a process of the slow request with this slow trace; NULL: not known. */
const char *snapshot_slow_who(const struct snapshot *s, uint64_t trace, uint64_t pid);

struct slow_trace_request; /* core/slow_trace.h; core/waterfall.h makes rows of it */

struct snap_who {
    uint64_t pid;
    const char *name;
};
enum { SNAP_WHO = 8 };

struct snap_slow_trace { /* a slow request with its calls */
    const struct slow_trace_request *request;
    uint64_t wall_ns; /* start of the request, wall clock of this machine */
    /* Names of the processes that its calls waited for, at most SNAP_WHO. */
    const struct snap_who *who;
    size_t n_who;
};

/* Selects slow requests: those that ended in the time range, or have a slow call that ended in it,
 * and have the text in a name, a process or the arguments on their line. */
struct slow_filter {
    char text[128];          /* "": any */
    uint64_t from_ns, to_ns; /* wall clock of this machine, [from, to); to 0: no end */
};
bool slow_filter_set(const struct slow_filter *f); /* true: it excludes something */
bool slow_matches(const struct slow_filter *f, const struct snap_slow *w);

enum { SNAP_OPEN = 100 };

struct snap_open {          /* a call that is open now, whatever the window */
    uint64_t pid, start_ns; /* start: node time; both together identify the call */
    const char *tier_name;
    const char *ident; /* "undefined" when not known (yet) */
    const char *who;   /* registered name or initial call of the process; NULL: not known */
    double age_us;
    struct snap_place place; /* where its request hangs; text NULL: it was not polled */
};

struct snap_log { /* a line of the session log: breaker, reload, connection lost, ... */
    uint64_t wall_ns;
    const char *text;
};

struct snap_gap {        /* in seconds before now; begins in the window and may end after it */
    double from_s, to_s; /* to_s 0: the gap has not ended */
    enum gap_reason reason;
};

struct snap_mark { /* a traced module was loaded again */
    uint64_t wall_ns;
    double ago_s;
    const char *module;
};

/* The node in one second. */
struct snap_load {
    uint64_t wall_ns;     /* wall clock of this machine */
    double scheduler_use; /* 0..1; negative: not known */
    uint64_t memory_bytes;
    uint32_t run_queue;  /* including that of the dirty CPU schedulers */
    int32_t dirty_queue; /* the part of the dirty CPU schedulers; -1: not known */
};
enum { SNAP_LOAD = 600 }; /* seconds */

/* The screens that can prove a finding. */
enum snap_proof {
    PROOF_TABLE,
    PROOF_HEAT,
    PROOF_SLOW,
    PROOF_WATERFALL,
    PROOF_OPEN_CALLS,
    PROOF_PROCESSES,
    PROOF_INTERNALS,
    PROOF_LOG,
    PROOF_PARTS,
    PROOF_COUNT
};

enum { SNAP_FINDINGS = 5, SNAP_FINDING_BYTES = 512 };

/* A finding: a sentence that explains values of the snapshot, and the screen that proves it. */
struct snap_finding {
    const char *rule;              /* name of the rule that found it; constant */
    double score;                  /* 0..1: how much of the time, or of the requests, it explains */
    char text[SNAP_FINDING_BYTES]; /* it may contain names from the node: raw bytes */
    enum snap_proof proof;
    const struct snap_row *row; /* the row to select; NULL: any */
    uint64_t trace;             /* PROOF_WATERFALL: id of a snap_slow_trace */
    uint64_t pid;               /* a process that the text names; 0: none */
    uint64_t start_ns;          /* PROOF_OPEN_CALLS: with pid, the call to select */
};

/* What a rule lacks. */
enum snap_missing {
    MISSING_CALLS,       /* there are not enough calls yet */
    MISSING_VM,          /* not recorded: the VM could crash (DETAIL_NOT_HERE) */
    MISSING_DETAIL,      /* --detail is off */
    MISSING_THRESHOLD,   /* slow requests are not stored */
    MISSING_REFERENCE,   /* there is nothing to compare with */
    MISSING_ENTRY,       /* there are no requests */
    MISSING_SHORT_QUEUE, /* the rule needs a short run queue: while it is long, any wait may be for
                            a scheduler */
    MISSING_COUNT
};

struct snap_why {                          /* made by core/why */
    bool there;                            /* requested */
    struct snap_finding of[SNAP_FINDINGS]; /* the highest score first */
    size_t n;
    uint32_t unknown[MISSING_COUNT]; /* bit 1 << i: rule i (why_rule) could not say anything */
};

#define SNAP_QUEUES      8
#define SNAP_QUEUE_BYTES 256
/* The message queue of a process that the operator watches by name. */
struct snap_queue {
    char name[SNAP_QUEUE_BYTES];
    int64_t length; /* -1: not known */
};

struct snap_node {  /* made by engine/view; values: last heartbeat, 0 before the first */
    char name[256]; /* as the operator typed it until the node answers */
    char otp[16];
    bool connected, tracing;
    bool no_gc; /* garbage collections inside requests are not traced on its VM */
    uint64_t uptime_s;
    uint32_t run_queue;
    uint32_t schedulers;  /* online; 0: not known */
    double scheduler_use; /* 0..1; negative: not known (before the first heartbeat) */
    uint64_t memory_bytes, processes;
    uint64_t relay_queue, relay_bytes;
    struct snap_queue queue[SNAP_QUEUES];
    size_t n_queues;
    char transport[16]; /* "dist" "replay" */
    char tls[16];       /* "verified", "not verified" (--tls-insecure); "": no TLS */
    bool replay;        /* a recording: */
    double replay_share,
        replay_speed; /* 0..1 of the recording read; speed as a factor, 0: all at once */
    double silent_s;  /* time without a message while connected; 0: messages arrive */
    char state[200];  /* one line for the screen: "CONNECTION LOST, next try in 4 s: ..." or "" */
};

struct snap_breaker {
    enum breaker_state state;
    uint64_t trips;
    char reason[240];  /* why it last opened; "": never opened, or not yet reported */
    double next_try_s; /* seconds to the next try; 0 when not open, and in a replay */
    double pause_s;    /* length of the present pause; 0 when not open */
};

/* Why fewer requests are sampled than the operator requested. At the start of tracing it is
 * SAMPLE_COPIES, or else SAMPLE_COST, whichever limit is reached. */
enum sample_why {
    SAMPLE_ASKED,
    SAMPLE_RATE,
    SAMPLE_COST,
    SAMPLE_BREAKER,
    SAMPLE_FLOOD,
    SAMPLE_PART_TIME, /* tracing is on for parts of the time: unsampled calls are expensive */
    SAMPLE_COPIES     /* return values, which full returns copy, are large, or not known yet */
};
/* "" "max-rate" "max-overhead" "breaker" "flood" "part-time" "returns" */
const char *sample_why_name(enum sample_why w);
struct snapshot;
#define SNAPSHOT_SAMPLING_BYTES 120
/* The sampling as text: "every request", "1 of 2 requests"; with the limit: "1 of 8 requests,
 * requested 1 of 2 (limit 5 % of the node)". Without an entry: calls. out: SNAPSHOT_SAMPLING_BYTES.
 * */
void snapshot_sampling(const struct snapshot *s, char *out);

struct snap_cost { /* the cost of tracing, as the node reports it */
    bool known;
    bool assumed;         /* call_ns was not measured on this node */
    double percent;       /* of the time of its schedulers, smoothed over a second */
    double limit_percent; /* 0: none, or a replay */
    double call_ns;       /* cost of a traced call, in the calling process */
};

/* Detailed requests: whether the parts of the time of calls (core/time_part.h) are recorded. */
enum detail_state {
    DETAIL_NOT_KNOWN, /* the node has not said; a replay */
    DETAIL_OFF,       /* not requested: --detail off */
    DETAIL_ON,
    DETAIL_NOT_HERE, /* not on this VM; why: the fault of the VM that it could trigger */
    DETAIL_NO_ENTRY  /* there are no requests */
};

struct snap_detail {
    enum detail_state state;
    uint32_t every, every_asked; /* one of this many sampled requests: now, and as requested */
    bool given;    /* the operator asked for it, so it is a problem if there is none */
    char why[160]; /* one sentence; "": none */
};
#define SNAPSHOT_DETAIL_BYTES 200
/* The state as text: "1/100", "off", "1/800, requested 1/100: max-overhead", "not on this VM: ...",
 * "none: there is no entry", "-" if it is not known. out: SNAPSHOT_DETAIL_BYTES. */
void snapshot_detail(const struct snapshot *s, char *out);

enum sampling_state {
    SAMPLING_NONE,    /* never begun; a replay: the recording has no samples so far */
    SAMPLING_NO_NODE, /* it begins when the node is connected */
    SAMPLING_ASKED,   /* the node has not answered yet */
    SAMPLING_ON,
    SAMPLING_FAILED, /* why: the reason */
    SAMPLING_OFF     /* ended; why: the reason if nobody asked for it, or why the node may go on */
};

/* Why nothing is sampled while sampling is on. */
enum sampling_pause {
    SAMPLING_RUNS,
    SAMPLING_BREAKER,  /* the breaker is open */
    SAMPLING_LEASE,    /* the node received nothing from kprof-top */
    SAMPLING_RUN_QUEUE /* the run queue of the node is long */
};

/* Stack samples: the node's report about its sampler. Totals are since it began. */
struct snap_sampling {
    enum sampling_state state;
    enum sampling_pause pause;
    bool replay;
    char who[120];  /* what is sampled: "top 100 by reductions"; "": not known */
    char why[300];  /* one sentence */
    double percent; /* cost: share of the node's scheduler time */
    double each_ms; /* interval between samples of a process: now, and as requested; 0: not known */
    double each_ms_asked;
    bool less_often;    /* than requested, by a tenth or more */
    uint64_t processes; /* chosen last */
    uint64_t matched;   /* that match; at most 1000 of them are chosen */
    uint64_t held;      /* that match, and are left out because of a fault of the VM */
    uint64_t late;      /* answered after their turn: sampled, but not on time */
    uint64_t skipped;   /* not asked in time */
    uint64_t lost;      /* samples and messages that did not arrive or could not be read */
    uint32_t depth;     /* functions of a stack that the node reports; 0: not known */
    double cut_share;   /* of the samples: their stack is deeper; 0..1 */
    uint64_t born;      /* processes that were started on the node in born_s */
    double born_s;      /* the time for which they could be counted */
};

struct snap_clock { /* the clock of the node compared with that of this machine */
    bool error_known, drift_known;
    double error_us;  /* possible error of ages and times of the node */
    double drift_ppm; /* drift relative to the clock of this machine */
};

struct snapshot {
    uint64_t wall_ns; /* when it was made; replay: the wall clock of the recording */
    double elapsed_s; /* since the run began; replay: since its first event */
    enum window window;
    double window_s; /* seconds of the window actually covered so far */
    struct {
        uint64_t zero_wall_ns;    /* start of second 0 of the history, wall clock of this machine */
        uint64_t oldest_s, now_s; /* the history has the closed seconds [oldest, now) */
        bool history;             /* true: the window is from_s to to_s; false: it ends now */
        uint64_t from_s, to_s;    /* the closed seconds [from, to) */
        uint64_t asked_s;         /* requested length if enum window does not have it; else 0 */
        uint64_t from_ns;         /* exact start of the window, from the start of the history */
    } time;
    struct snap_dist dist;
    struct snap_heat heat;
    double gap_s;     /* part of window_s without tracing; rates are per second of the rest */
    double counted_s; /* part of gap_s in which calls were counted; rates include it */
    bool final;
    struct snap_node node;
    struct snap_breaker breaker;
    bool lean; /* returns mode */
    bool has_entry, has_identity;
    uint16_t entry; /* its tier, if there is one */
    struct snap_cost cost;
    struct snap_sampling sampling;
    struct snap_detail detail;
    struct snap_clock clock;
    uint32_t sample, sample_asked; /* 1/sample: in use, and as the operator requested */
    enum sample_why sample_why;
    double events_per_s, lag_ms, ring_fill; /* ring_fill 0..1 */
    double oldest_event_ms;                 /* maximum age of an event of the run when it arrived */
    struct {
        uint64_t received, aggregated, open, expired, unattributed;
    } calls;
    struct {
        uint64_t target; /* messages dropped on the node, and batches that did not arrive */
        uint64_t ring;   /* events */
    } lost;
    struct {
        uint64_t started, finished, open, expired;
    } requests;
    struct {
        uint64_t identities_folded, pids_full, requests_full, bad_events, late, orphan_returns;
    } anomalies;
    /* Number of allowed names, if all are in use and calls count as "<other>"; else 0. */
    uint32_t names_full;
    char rule_note[200]; /* why the identity rule names no request; "": it does, or not known */
    char compared[200];  /* name of the reference; "": none */
    const struct snap_row *rows; /* tiers in order, _total last; for each tier its total row, then
                                    its identities by count */
    size_t n_rows;
    uint64_t slow_ns;             /* the threshold in use; 0: slow requests are not stored */
    uint64_t slow_since_wall_ns;  /* when it was set, or last lowered; 0: before the first event */
    const struct snap_slow *slow; /* newest first */
    size_t n_slow;
    size_t n_slow_recent; /* the newest, complete; after them only the slowest of each identity */
    const struct snap_open *open; /* oldest first, at most SNAP_OPEN */
    size_t n_open;
    const struct snap_slow_trace *slow_traces; /* newest first */
    size_t n_slow_traces;
    const char *const *tier_names; /* by number, removed ones too */
    size_t n_tier_names;
    const struct snap_load *load; /* the SNAP_LOAD seconds before the end of the window, oldest
                                     first, without those that are not known; only with `why` */
    size_t n_load;
    struct snap_why why;
    const struct snap_log *log; /* newest first */
    size_t n_log;
    const struct snap_gap *gaps; /* in the window, newest first, at most the newest SNAP_GAPS */
    size_t n_gaps;
    const struct snap_mark *marks; /* in the window, newest first */
    size_t n_marks;
    struct {
        enum vm_event_state state;
        uint64_t lost;                  /* not reported by the node, because there were too many */
        const struct snap_vm_event *of; /* all that are stored, the last begun first */
        size_t n;
    } vm;
    void *owner; /* memory that contains all of the snapshot */
};

void snapshot_free(struct snapshot *s); /* NULL is fine */
/* Copies the lines (newest first) into the snapshot. Only its maker calls this, once, before the
 * snapshot is complete. */
void snapshot_set_log(struct snapshot *s, const struct snap_log *lines, size_t n);
/* True: a part of the event is in the window. */
bool snapshot_vm_in_window(const struct snapshot *s, const struct snap_vm_event *e);
/* Sets the names of the processes of slow and open calls, of VM events, and of those that slow
 * requests waited for. The callback returns a name, which is copied, or NULL; wall_ns: when the
 * call ended or the event began, UINT64_MAX: the call is open. Only the maker of the snapshot calls
 * this, before the snapshot is complete. */
typedef const char *snapshot_who(void *arg, uint64_t pid, uint64_t wall_ns);
void snapshot_set_who(struct snapshot *s, snapshot_who *who, void *arg);
/* Sets the load. Only the maker of the snapshot calls this, before the snapshot is complete. */
void snapshot_set_load(struct snapshot *s, const struct snap_load *load, size_t n); /* copied */
/* Returns f. If f has no time range and s shows an earlier time, the result is limited to that
 * time. */
struct slow_filter slow_filter_at(const struct slow_filter *f, const struct snapshot *s);
/* Returns for how many seconds nothing was traced in the time from from_s to to_s ago, according to
 * the list of gaps. *most (may be NULL): the reason of most of that time. 1 for a range of one
 * second: the whole second is a gap. */
double snapshot_gap_s(const struct snapshot *s, double from_s, double to_s, enum gap_reason *most);
/* Number of identities if there are many and most of them have a single call, in a window of 5 s or
 * more; else 0. Each call then has its own name. */
uint32_t snapshot_names_once(const struct snapshot *s);
/* Returns the wall clock of this machine at second `sec` of the history. */
uint64_t snapshot_wall_ns(const struct snapshot *s, uint64_t sec);
/* The same at the end of the window: now, or the end of an earlier time range. */
uint64_t snapshot_end_wall_ns(const struct snapshot *s);
/* Writes a pid (serial << 32 | id) as the Erlang shell shows it: "<0.ID.SERIAL>". */
#define SNAPSHOT_PID_BYTES 32
void snapshot_pid(uint64_t pid, char out[SNAPSHOT_PID_BYTES]);
/* Returns the rows for changes. Only the maker of the snapshot calls this, before the snapshot is
 * complete. */
struct snap_row *snapshot_rows(struct snapshot *s);
bool snapshot_conserves(
    const struct snapshot *s); /* calls.received == aggregated + open + expired + unattributed */

#endif
