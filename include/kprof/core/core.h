/* Core: events in, snapshots out. Follows requests across processes, names them, aggregates.
 *
 * Invariant: at any time calls.received == aggregated + open + expired + unattributed, and memory
 * is bounded by struct core_limits. Pure: reads no clock, does no I/O, starts no thread. All
 * functions are for one thread (the core thread); a snapshot may then be read by any. Time is the
 * target's, as in struct event; core_advance tells it that time passes when no events come. */
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
    uint32_t identities;    /* names; the rest go under "<other>" (default 64) */
    uint32_t open_requests; /* default 65536 */
    uint32_t processes;     /* with an open call; default 131072 */
    uint32_t stack_depth;   /* open calls a process; default 256 */
    uint32_t request_calls; /* calls stored per open request, default 256 */
    uint64_t expire_ns;     /* a request open this long is expired; default 60 s */
    uint64_t grace_ns;      /* events this late between processes are still put right; 20 ms */
    uint64_t linger_ns;     /* closed labels are remembered this long for late work; 10 s */
    size_t history_bytes;   /* closed seconds; default 36 MiB; oldest go first */
    uint32_t slow_entries;  /* slow calls stored, default 1000 */
    bool history;           /* default; without it only windows up to now can be viewed */
};
void core_limits_default(struct core_limits *l);

/* names: the session's interner, only read here; must outlive core. */
struct core *core_new(const struct core_limits *l, const struct intern *names);
void core_free(struct core *c);

/* Tiers. core keeps the set; numbers are stable. add: the number, or TIER_NONE when 64 are used up;
 * rates are per second since then. */
const struct tierset *core_tiers(const struct core *c);
uint16_t core_tier_add(struct core *c, const char *name, const char *mfa);
/* The target has set it: its time counts from now, unless it was set before or has been called. */
void core_tier_confirmed(struct core *c, uint16_t tier);
void core_tier_remove(struct core *c,
                      uint16_t tier); /* its rows vanish, its open calls count as expired */
void core_tier_note(struct core *c, uint16_t tier,
                    const char *note);              /* why it is empty; NULL: clear */
void core_set_entry(struct core *c, uint16_t tier); /* TIER_NONE: every call on its own */
/* A new rule, or none: names that only the former one gave are gone once they are seen no more.
 * Called again when the target has it: until then, requests may have brought them. */
void core_set_identity(struct core *c, bool has_rule);
/* What requests were named so far (without an entry: calls), by any rule. compound: by a list or a
 * map, which the agent tells as CORE_COMPOUND. */
#define CORE_COMPOUND "..."
struct core_names {
    uint64_t all, undefined, compound;
};
void core_names(const struct core *c, struct core_names *out);
void core_set_returns(struct core *c, enum returns_mode m);
/* The store of events' argument texts, fetched by handle; must outlive core. Fetched when a call
 * was slow. */
void core_set_text_ring(struct core *c, const struct text_ring *s);
void core_set_slow(struct core *c, uint64_t threshold_ns); /* 0: none are stored */

void core_feed(struct core *c, const struct event *ev, size_t n);
void core_advance(struct core *c, uint64_t now_ns); /* target time */
/* Nothing is traced since at_ns, by our own finding: GAP_LOST or GAP_SILENT. The next EVENT_GAP
 * ends it. */
void core_gap(struct core *c, uint64_t at_ns, enum gap_reason reason);
/* Removes gaps that began at since_ns or later: the end of a run is not a gap. */
void core_gap_forget(struct core *c, uint64_t since_ns);
void core_zero(struct core *c); /* forgets rows, histories and totals; open requests go on */

/* Pids with a call open for at least age_ns, for the bulk question "who of you is dead?". Where
 * they are more than max, the next call goes on behind them: *from is the place, 0 at first. */
size_t core_open_pids(const struct core *c, uint64_t age_ns, uint32_t *from, uint64_t *pids,
                      size_t max);
uint64_t core_now(const struct core *c); /* the latest target time it has seen */

/* From now on rows of snapshots carry their histograms (snap_row.packed): for exports that write
 * distributions. Off unless asked for. */
void core_keep_hists(struct core *c, bool on);

/* A view of any stretch of time, with the parts that are made only when asked for. wall_of_now_ns:
 * our wall clock at core_now. Fields of node, breaker, sample, rates, lost and log are the caller's
 * to fill (the struct is not const until it is handed on). */
struct snapshot *core_view(struct core *c, const struct view_query *l, uint64_t wall_of_now_ns);

/* The stored slow requests: the number of the newest that has ended (it counts 1, 2, ... and begins
 * anew with core_zero), and a snapshot of nothing but those after number `since`. A slow call
 * without a request counts as one; so does, at once, what core_slow_settle finds open. */
uint64_t core_slow_done(const struct core *c);
void core_slow_settle(struct core *c);
struct snapshot *core_slow_since(const struct core *c, uint64_t since, uint64_t wall_of_now_ns);

#endif
