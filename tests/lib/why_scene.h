/* Snapshots for tests of findings (core/why): a quiet one, in which no rule finds anything, and for
 * each rule one in which it finds its cause.
 *
 * A test changes the scene and calls why_add. Tiers web (the entry), parse, db, acc; requests read
 * and write; 2000 requests of 10 ms in the window. scene_free frees all of it. One thread. */
#ifndef KPROF_TESTS_WHY_SCENE_H
#define KPROF_TESTS_WHY_SCENE_H

#include <kprof/core/slow_trace.h>
#include <kprof/core/snapshot.h>
#include <kprof/core/tier.h>
#include <stdbool.h>

#define MS   UINT64_C(1000000)
#define SEC  (1000 * MS)
#define WALL (UINT64_C(1795230245) * SEC) /* 2026-11-21T03:04:05Z */

enum { WEB, PARSE, DB, ACC, TIERS };
enum { READ, WRITE, KINDS };
enum { ROWS = (TIERS + 1) * (KINDS + 1), SLOWS = 100, LOADS = 120 };

struct scene {
    struct snapshot s;
    struct snap_row row[ROWS];
    struct time_part_view parts[ROWS];
    float rate[ROWS][SNAP_TREND], errors[ROWS][SNAP_TREND];
    struct snap_slow slow[SLOWS];
    struct snap_slow_sum sum[SLOWS][TIERS];
    struct snap_slow_trace trace[SLOWS];
    struct snap_open open[4];
    struct snap_log log[2];
    struct snap_load load[LOADS];
    struct snap_gap gap;
    struct slow_trace_request *made; /* the last slow trace */
};

/* 10 ms in web, of which parse 2 ms, db 4 ms, acc 1 ms: no tier takes most of it. */
struct scene *scene_quiet(void);
void scene_free(struct scene *c);
/* In this scene the rule has the highest score. */
struct scene *scene_of(const char *rule);
/* kind KINDS: all; tier TIERS: _total */
struct snap_row *scene_row(struct scene *c, int tier, int kind);
/* Names process 87 "accounting"; for why_add. */
const char *scene_who(void *arg, uint64_t pid, uint64_t wall_ns);

/* ---- slow requests ---- */

struct made_call {
    int tier;
    double from_ms, to_ms; /* after the start of the request */
    uint64_t pid;
};

/* A slow request that ends `ago` before now. With its calls, the entry first. */
void scene_trace(struct scene *c, int kind, double ago_ms, const struct made_call *call, size_t n);
/* A slow request with these self times of the tiers. */
void scene_slow(struct scene *c, int kind, const double self_ms[TIERS], uint64_t pid);
/* n requests of 60 ms: web calls acc in another process, where the call begins wait_ms later. */
void scene_queued(struct scene *c, int n, double wait_ms, bool one_process);
/* n calls of acc, each in another process. lap: the share of a call during which the next one runs,
 * too; 0: they run one after the other. */
void scene_locked(struct scene *c, int n, double each_ms, double lap);
/* Adds a slow trace with one piece of this part, in prim_file:read_nif/2. */
void scene_piece(struct scene *c, enum time_part p, uint64_t other);
/* The parts of the calls of a row: 100 calls, with this share of the part. */
struct time_part_view *scene_part(struct scene *c, int tier, enum time_part p, double share);
void scene_run_queue(struct scene *c, size_t from, uint32_t length);

/* ---- checks; each makes the findings again ---- */

const struct snap_finding *scene_found(struct scene *c, const char *rule); /* NULL: not found */
/* Checks the text of the finding, and that it is the first one. */
const struct snap_finding *scene_first(struct scene *c, const char *rule, const char *text);
void scene_none(struct scene *c, const char *rule);
bool scene_unknown(struct scene *c, const char *rule);
/* What the rule lacks. */
enum snap_missing scene_missing(struct scene *c, const char *rule);

#endif
