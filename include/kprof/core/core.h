/* Core turns events into snapshots: it follows requests across processes, names them and aggregates
 * their calls.
 *
 * Invariant: calls.received == aggregated + open + expired + unattributed at any time, and struct
 * core_limits bounds the memory. Pure: reads no clock, does no I/O, starts no thread. Only one
 * thread (the core thread) calls these functions; any thread may read a finished snapshot. Times
 * are those of the node, as in struct event; core_advance and core_pass pass the time when no
 * events arrive. */
#ifndef KPROF_CORE_CORE_H
#define KPROF_CORE_CORE_H

#include <kprof/base/intern.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/event.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/tier.h>
#include <kprof/core/view_query.h>

struct core;

struct core_limits {
    uint32_t identities; /* names; further ones count as "<other>" (default 64) */
    uint32_t
        open_requests;      /* default 65536; twice as many labels of closed requests are
                               remembered, 24 bytes each, to recognize late calls and to name them */
    uint32_t processes;     /* with an open call; default 131072 */
    uint32_t stack_depth;   /* open calls per process; default 256 */
    uint32_t request_calls; /* calls stored per open request, default 256 */
    uint64_t expire_ns;     /* a request open this long is expired; default 60 s */
    uint64_t grace_ns;      /* tolerated lateness of events between processes; default 20 ms */
    size_t history_bytes;   /* for closed seconds; default 36 MiB; above 2/3 of it the oldest single
                               seconds are dropped first, and the sums of longer times stay */
    uint32_t slow_entries;  /* lines of the list of slow requests; default 1000 */
    bool history;           /* default true; false: only windows up to now can be viewed */
};
void core_limits_default(struct core_limits *l);

/* names: the interner of the session. Core only reads it; it must outlive core. */
struct core *core_new(const struct core_limits *l, const struct intern *names);
void core_free(struct core *c);

/* Tiers. Core owns the set; the number of a tier never changes. core_tier_add returns the number,
 * or TIER_NONE when all 64 are in use; rates count the time since the tier was added or confirmed.
 */
const struct tierset *core_tiers(const struct core *c);
uint16_t core_tier_add(struct core *c, const char *name, const char *mfa);
/* The node has confirmed the tier: its time counts from now, unless it was confirmed before or
 * calls of it were seen. */
void core_tier_confirmed(struct core *c, uint16_t tier);
void core_tier_remove(struct core *c,
                      uint16_t tier); /* removes its rows; its open calls count as expired */
void core_tier_note(struct core *c, uint16_t tier,
                    const char *note); /* why the tier is empty; NULL: no note */
/* True: the function calls itself as its last action, and no call of it has ended. */
bool core_tier_loops(const struct core *c, uint16_t tier);
void core_set_entry(struct core *c, uint16_t tier); /* TIER_NONE: each call is counted separately */
/* The identity rule has changed (has_rule false: there is none now). A name that only a former rule
 * gave is dropped when there are no more requests with it. Called a second time when the node uses
 * the new rule, because until then requests may still have names of the former rule. */
void core_set_identity(struct core *c, bool has_rule);
/* Numbers of requests (without an entry: of calls) so far, under any rule: all, those without a
 * name, and those named by a list or a map, for which the agent sends CORE_COMPOUND. */
#define CORE_COMPOUND "..."
struct core_names {
    uint64_t all, undefined, compound;
};
void core_names(const struct core *c, struct core_names *out);
void core_set_returns(struct core *c, enum returns_mode m);
/* otp: the release of the node, "25"; "": not known. It decides which exceptions are reported. */
void core_set_release(struct core *c, const char *otp);
/* The store of the argument texts of events; must outlive core. Core fetches a text by its handle
 * if the call was slow. */
void core_set_text_ring(struct core *c, const struct text_ring *s);
void core_set_slow(struct core *c, uint64_t threshold_ns); /* 0: no slow calls are stored */

void core_feed(struct core *c, const struct event *ev, size_t n);
/* It is this time on the node. core_advance: events up to this time have arrived, so requests that
 * ended long enough before are complete. core_pass: they may not have arrived. */
void core_advance(struct core *c, uint64_t now_ns);
void core_pass(struct core *c, uint64_t now_ns);
/* kprof-top itself detected that nothing has been traced since at_ns: GAP_LOST or GAP_SILENT. The
 * next EVENT_GAP ends the gap. */
void core_gap(struct core *c, uint64_t at_ns, enum gap_reason reason);
/* The run has ended. If the newest gap has not ended, began at since_ns or later and is GAP_OFF or
 * GAP_LOST, the run ended when the gap began, and the gap is removed. Otherwise the run ends now.
 * Then the time advances by late_ns, so that all requests are complete. No window covers time after
 * the end of the run. */
void core_run_end(struct core *c, uint64_t since_ns, uint64_t late_ns);
void core_zero(struct core *c); /* removes rows, histories and totals; open requests stay */

/* Lists the pids of processes with a call open for at least age_ns, to ask the node which of them
 * are dead; but not those that are known to be (core_dead), nor, unless age_ns is 0, those that
 * were alive shortly before (core_alive). If there are more than max, the next call continues after
 * the last one: *from is the position, 0 at first. */
size_t core_open_pids(const struct core *c, uint64_t age_ns, uint32_t *from, uint64_t *pids,
                      size_t max);
/* The node reported that the process was alive, or dead, at ts_ns. core_dead: false: it has no open
 * calls, or is known to be dead; core_alive does not change that. */
void core_alive(struct core *c, uint64_t pid, uint64_t ts_ns);
bool core_dead(struct core *c, uint64_t pid, uint64_t ts_ns);
/* When a dead process has probably ended: in the middle of the time since it was known to be alive;
 * if it was not asked for before, at the newest event of its request. */
uint64_t core_exit_ns(struct core *c, uint64_t pid);
uint64_t core_now(const struct core *c);      /* the latest node time that core has seen */
uint64_t core_closed_s(const struct core *c); /* the closed seconds of the history are before it */

/* Turns histograms in the rows of snapshots (snap_row.packed) on or off, for exports that write
 * distributions. Off by default. */
void core_keep_hists(struct core *c, bool on);

/* Makes a snapshot of any time range, with the parts that are made only on request. wall_of_now_ns:
 * the wall clock of this machine at core_now. The caller fills in node, breaker, sample, rates,
 * lost and log (the struct is not const until then). */
struct snapshot *core_view(struct core *c, const struct view_query *l, uint64_t wall_of_now_ns);

/* ---- stack samples ---- */

/* Remembers, for the last seconds, which traced call each process was in, and which calls of the
 * requests with samples have ended. Off by default. Off discards what was stored. */
void core_keep_inside(struct core *c, bool on);
struct core_inside {
    bool known;        /* false: that is too long ago, or it is off */
    bool may_change;   /* the request may still get a name */
    uint16_t tier;     /* of the innermost traced call; TIER_NONE: outside */
    uint64_t request;  /* label of the request; 0: outside, or there is no entry */
    const char *ident; /* raw bytes from the node; NULL: none, or not known */
};
/* The call that a process was in at a time of the node that core_now has passed. Without an entry
 * each call is counted separately: it has a tier, but no request. */
struct core_inside core_inside_at(struct core *c, uint64_t pid, uint64_t ns);
void core_sampled(struct core *c, uint64_t request); /* a sample was taken in this request */

/* Returns the labels of the requests with samples that have a call in the cells, in ascending
 * order, including those of requests that turned out to be part of these. The caller frees them. */
uint64_t *core_sampled_requests(const struct core *c, const struct view_cells *q, size_t *n);

/* The quantile q of the durations of the requests that have ended (without an entry: calls), in the
 * run or only in the running second. False: there are fewer than `least`; *ns is 0 then. */
bool core_request_quantile(const struct core *c, double q, bool running_second, uint64_t least,
                           uint64_t *ns);

/* ---- requests that hang ---- */

struct core_hanging {
    uint64_t pid, request; /* label of the request */
};
/* Lists the requests that have been open for longer than the 90th percentile of the ended requests
 * (at least 20 ms; 1 s while fewer than 20 have ended) and are not followed in detail, oldest
 * first, each with the process of its innermost open call. A request is listed again when it is a
 * quarter older. Returns their number. */
size_t core_hanging(struct core *c, struct core_hanging *out, size_t max);

#define CORE_PLACE_BYTES 160
struct core_poll {
    uint64_t request, ns;         /* node time, not before the poll was made */
    uint8_t status;               /* as in a stack sample */
    char place[CORE_PLACE_BYTES]; /* functions, innermost first; text from the node */
};
/* A process of a request was polled. Polls that may have been made after the end of the request are
 * left out. */
void core_hang(struct core *c, const struct core_poll *p);

/* The slow requests that are stored. core_slow_done returns the number of the newest that has ended
 * (numbers count 1, 2, ... and start again with core_zero). core_slow_end_all makes all open ones
 * count as ended at once. core_slow_since returns a snapshot of only those with a number above
 * `since`, and the slow traces. A slow call without a request counts as a slow request. */
uint64_t core_slow_done(const struct core *c);
void core_slow_end_all(struct core *c);
struct snapshot *core_slow_since(const struct core *c, uint64_t since, uint64_t wall_of_now_ns);

#endif
