/* The values that the rules of core/why use: totals of the rows, and sums over the stored slow
 * requests by tier. Private to core.
 *
 * Invariant: values, made once from one snapshot, which must outlive them. Slow requests that did
 * not end in the window, and slow traces with calls left out, are not used. Pure. */
#ifndef CORE_WHY_FACTS_H
#define CORE_WHY_FACTS_H

#include <kprof/core/snapshot.h>
#include <kprof/core/tier.h>

enum {
    WHY_CALLS = 50,  /* the rules ignore a row with fewer traced calls, */
    WHY_SLOWS = 5,   /* ... and the slow requests if there are fewer; */
    WHY_TRACES = 60, /* at most this many, the newest, are examined call by call */
    WHY_PIDS = 64    /* processes of a tier that are told apart */
};

/* The calls of a tier in the slow traces. */
struct why_tier {
    uint32_t calls;     /* ended calls */
    uint32_t processes; /* that ran them, at most WHY_PIDS */
    uint32_t pid_calls; /* calls in the process that ran most of them, */
    uint64_t pid;       /* ... which is this one */
    uint32_t remote;    /* calls for which a call in another process waited, */
    /* ... and for how long: in the mailbox if that was measured; otherwise since the last start or
     * end of a call of the request */
    double wait_us;
    double whole_us;   /* duration of the requests with such calls */
    double sum_us;     /* durations of the calls */
    double range_us;   /* from the start of the first to the end of the last */
    double overlap_us; /* part of sum_us in which another call of the tier was open, too */
    uint64_t trace;    /* the slow trace with the longest wait */
    double trace_wait_us;
    uint64_t longest; /* the longest slow trace with a call */
    uint64_t longest_ns;
};

struct why_facts {
    const struct snapshot *s;
    snapshot_who *who; /* may be NULL */
    void *who_arg;
    const struct snap_row *total; /* all requests; NULL: no entry, or no such row */
    uint64_t from_ns, to_ns;      /* the window, wall clock */
    size_t traces;                /* slow traces examined, */
    double traces_us;             /* ... and their duration */
    bool waits_to_run;            /* the run queue is long, so a wait may be for a scheduler */
    struct why_tier tier[TIER_MAX];
    const struct snap_row **row; /* of s, by tier and identity */
};

void why_facts_make(struct why_facts *f, const struct snapshot *s, snapshot_who *who, void *arg);
void why_facts_release(struct why_facts *f);
/* The row of a tier for the same identity as r (all identities if r is for all); NULL: none. */
const struct snap_row *why_facts_row(const struct why_facts *f, uint16_t tier,
                                     const struct snap_row *r);
/* Average number of calls of a row that are open at the same time: rate times mean duration. 0: not
 * known.
 */
double why_facts_open(const struct snap_row *r);
/* True: the request ended in the window. */
bool why_facts_in_window(const struct why_facts *f, const struct snap_slow *w);

/* The function and the process with most of the time of a part, in the slow requests whose calls
 * have parts. Zeros: not known. */
struct why_piece {
    const char *what; /* a function; raw bytes; NULL: no name */
    uint64_t other;   /* a process */
};
struct why_piece why_facts_piece(const struct why_facts *f, enum time_part p);

/* The request is of this identity (NULL: any), ended in the window and took this long or longer;
 * its tiers are known. */
bool why_facts_is_slow(const struct why_facts *f, const struct snap_slow *w, const char *ident,
                       double least_us);

/* ---- texts ---- */

/* A name from the node, cut at a character. */
struct why_name {
    char s[52];
};
struct why_time {
    char s[32];
};
struct why_name why_name(const char *name);
struct why_name why_ident(const struct snap_row *r); /* "the requests" for all identities */
struct why_time why_us(double us);
int why_percent(double part); /* 0..1 as 0..100 */
/* The same, with a decimal if it is below 10: "2.4", "0". */
struct why_share {
    char s[16];
};
struct why_share why_share(double part);
/* Where most polls of the slow requests of an identity (NULL: any) found them. Polls begin at the
 * p90 of all requests; requests that are not twice as long are not used, because polls show only
 * their end. */
struct why_polls {
    struct why_name place; /* functions, the innermost first; "": not known, or no place has most of
                              the polls */
    double share, polls;   /* part of the polls, 0..1; number of polls */
};
struct why_polls why_facts_polls(const struct why_facts *f, const char *ident);
/* Part of the time of all requests that is inside of the calls of the row, 0..1; 1: not known. */
double why_facts_inside(const struct why_facts *f, const struct snap_row *r);
/* "<0.87.0> (accounting)", or without a name if it is not known. */
struct why_process {
    char s[96];
};
struct why_process why_process(const struct why_facts *f, uint64_t pid);

#endif
