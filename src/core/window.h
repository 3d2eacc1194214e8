/* Rows and their history: the values of a tier for an identity in the running second, in the whole
 * run, and in any window. Private to core.
 *
 * Invariant: seconds count from the start of the session. Closed seconds are in rings of slots of
 * 1, 10, 60 and 300 s; each slot is one block of packed rows, and a coarser slot is made of finer
 * ones when it ends. Each ring reaches back 3 hours while all blocks together fit into two thirds
 * of history_bytes. Beyond that, the oldest seconds are dropped first (minutes stay), then the
 * oldest of the coarser slots, but not the slots that windows up to now need; at history_bytes, the
 * oldest slots of the coarsest level are dropped next, then those of the finer levels. Without
 * history, only the slots that windows up to now need are stored. The slots of a ring are
 * contiguous. Reads no clock. One thread. */
#ifndef KPROF_CORE_WINDOW_H
#define KPROF_CORE_WINDOW_H

#include <kprof/base/hist.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_TIERS (TIER_MAX + 1) /* the last one: _total */
#define ROW_TOTAL TIER_MAX
/* After the rows of the tiers: the time of the messages of their calls in mailboxes. */
#define ROW_MAILBOX ROW_TIERS
#define ROW_KINDS   (ROW_TIERS + TIER_MAX)

/* The values of a row that a histogram does not contain. The first four count traced calls, the
 * times are those of all calls: each times its weight, the number of calls that it stands for. */
struct tally {
    uint64_t calls, late, errors;
    uint64_t exits;    /* errors of processes that died inside */
    uint64_t self_ns;  /* without nested tiers */
    uint64_t share_ns; /* part of self_ns within the duration of the request */
    uint64_t busy_ns;  /* durations of calls in processes that serve */
};

struct figures {
    struct hist hist; /* of all calls: each traced call as often as its weight says */
    struct tally tally;
};

struct row {
    struct figures cur; /* the running second */
    struct figures run; /* the closed seconds of the run */
    struct figures win; /* the closed seconds of the window last viewed */
    uint64_t born_s;    /* first second of this row; older slots use the number for another row */
};

enum { WIN_LEVELS = 4 };

struct slot {
    uint64_t start_s;
    uint8_t *block; /* NULL: no calls */
    size_t bytes;
    bool used;
};

struct windows {
    struct row **row; /* ROW_KINDS * idents; NULL: never used */
    uint16_t idents;
    bool started;
    uint64_t start_ns, now_ns, sec; /* sec: number of the running second */
    uint64_t zero_ns;               /* the run counts from here */
    uint64_t end_ns;                /* no view covers later time; 0: the run goes on */
    uint64_t busy;                  /* additions in the running second */
    struct {
        struct slot *slot;
        uint64_t oldest_s; /* no earlier second is kept */
    } ring[WIN_LEVELS];
    uint64_t generation; /* changes when rows or history are reset */
    size_t bytes, max_bytes;
    uint64_t dropped_slots; /* dropped because of history_bytes */
    bool no_history;        /* only windows up to now will be viewed */
    struct {                /* the slot being packed */
        uint8_t *bytes;
        size_t n, cap;
    } packed;
    enum { VIEW_RUN, VIEW_LAST, VIEW_PAST } view; /* what `win` of the rows has, as of view_sec */
    uint64_t view_from, view_sec, view_covered_s; /* `win` holds the seconds [from, sec) */
    uint64_t view_asked_s; /* requested: VIEW_LAST: the length; VIEW_PAST: the first second */
    uint64_t view_to;      /* VIEW_PAST: the end that was found; view_sec: the requested end */
    bool view_valid, with_running; /* the running second is part of the window */
};

void windows_init(struct windows *w, uint16_t idents, size_t max_bytes);
void windows_release(struct windows *w);
void windows_keep_history(struct windows *w, bool on); /* call before the first event; default on */
/* The run has ended at at_ns: what comes later is only the end of calls that began before. */
void windows_end(struct windows *w, uint64_t at_ns);
void windows_advance(struct windows *w, uint64_t now_ns); /* closes the seconds that have ended */
void windows_zero(struct windows *w);
void windows_forget_tier(struct windows *w, uint16_t tier); /* removes its rows */
/* Adds the running second and the run of an identity to those of `into`; its closed slots are
 * dropped. */
void windows_fold_ident(struct windows *w, uint16_t ident, uint16_t into);

static inline struct row *windows_row(const struct windows *w, uint16_t tier, uint16_t ident)
{
    return w->row[(size_t)tier * w->idents + ident];
}
struct row *windows_row_new(struct windows *w, uint16_t tier, uint16_t ident);

/* Returns the traced calls of the run, with those of the running second. */
static inline uint64_t windows_run_count(const struct windows *w, uint16_t tier, uint16_t ident)
{
    const struct row *r = windows_row(w, tier, ident);
    return r ? r->run.tally.calls + r->cur.tally.calls : 0;
}

/* Adds one traced call, which stands for `weight` calls, to the running second. t: of this call;
 * its `calls` is not used, and its busy_ns is that of all `weight` calls. */
static inline void windows_add(struct windows *w, uint16_t tier, uint16_t ident,
                               uint64_t duration_ns, uint64_t weight, const struct tally *t)
{
    struct row *r = windows_row(w, tier, ident);
    if (__builtin_expect(!r, 0))
        r = windows_row_new(w, tier, ident);
    w->busy++;
    hist_add_n(&r->cur.hist, duration_ns, weight);
    r->cur.tally.calls++;
    r->cur.tally.late += t->late;
    r->cur.tally.exits += t->exits;
    r->cur.tally.errors += t->errors;
    r->cur.tally.self_ns += t->self_ns * weight;
    r->cur.tally.share_ns += t->share_ns * weight;
    r->cur.tally.busy_ns += t->busy_ns;
}

/* Adds to share_ns only. */
static inline void windows_add_share(struct windows *w, uint16_t tier, uint16_t ident, uint64_t ns)
{
    struct row *r = windows_row(w, tier, ident);
    if (!r)
        r = windows_row_new(w, tier, ident);
    w->busy++;
    r->cur.tally.share_ns += ns;
}

uint32_t windows_level_s(int level); /* seconds of a slot */
uint64_t windows_reach_s(int level); /* seconds of a whole ring */
const struct slot *windows_slot(const struct windows *w, int level,
                                uint64_t start_s); /* NULL: not stored */
/* Reports whether a slot that ends at ends_s contains values of the row that has this number now.
 * */
bool windows_wants(const struct windows *w, uint32_t row, uint64_t ends_s);

void figures_init(struct figures *f);
void figures_release(struct figures *f);
void figures_clear(struct figures *f);
/* A row without calls may still have share_ns: that of requests that were given up. */
static inline bool figures_empty(const struct figures *f)
{
    return f->hist.count == 0 && f->tally.share_ns == 0;
}
void figures_merge(struct figures *into, const struct figures *from);

/* Prepares the window for windows_read. Returns the time that it covers. */
uint64_t windows_view(struct windows *w, enum window which);
uint64_t windows_view_last(struct windows *w, uint64_t seconds); /* any length, up to now */
/* Prepares the closed seconds [from, to) for windows_read. If single seconds are no longer stored,
 * prepares the shortest stored time around them, and sets *from_s and *to_s to it. Returns the time
 * that it covers. */
uint64_t windows_view_past(struct windows *w, uint64_t *from_s, uint64_t *to_s);
/* Prepares the closed seconds from from_s on, with the running second; from_s as above. */
uint64_t windows_view_since(struct windows *w, uint64_t *from_s);
/* Returns the time of the window last viewed, [*from_ns, *to_ns). It includes the running second,
 * except for a window of 1 s or one of windows_view_past. */
void windows_viewed_time(const struct windows *w, uint64_t *from_ns, uint64_t *to_ns);
/* Adds the values of a row in the window last viewed to `into`. */
void windows_read(const struct windows *w, const struct row *r, struct figures *into);

#endif
