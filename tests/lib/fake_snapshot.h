/* Made-up snapshots for tests of screens and exports: fixed values, no clock, no core.
 *
 * A struct fake owns everything its snapshot points at. fake_snap may be called again after more
 * rows were added; the pointer stays the same and lives until fake_free. Names are copied as raw
 * bytes, hostile or not. Values depend only on the arguments, so golden files made from them never
 * change by themselves. One thread. */
#ifndef KPROF_TESTS_FAKE_SNAPSHOT_H
#define KPROF_TESTS_FAKE_SNAPSHOT_H

#include <kprof/core/snapshot.h>

struct fake;

struct fake *
fake_new(void); /* a connected, tracing node with no rows: app@host, OTP 25, window 10s */
void fake_free(struct fake *f);

/* Appends a row: percentiles are fixed multiples of base_us (p50). ident NULL: the tier's total
 * row. tier TIER_TOTAL goes with tier_name "_total". Returns the row for further changes, valid
 * until the next fake_row. */
struct snap_row *fake_row(struct fake *f, unsigned tier, const char *tier_name, const char *ident,
                          uint64_t count, double base_us);
/* The row is that of a server: the time of its messages in the mailbox is a third of the duration
 * of its calls, and it is busy for 97 % of the time. */
void fake_waits(struct snap_row *r);
/* A slow call with one part for each of the first n_tiers of the five standard tiers. */
struct snap_slow *fake_slow(struct fake *f, const char *tier_name, const char *ident,
                            double duration_us, size_t n_tiers);
/* A gap of the window, from and to in seconds ago; add the newest first. */
void fake_gap(struct fake *f, double from_s, double to_s, enum gap_reason reason);
void fake_mark(struct fake *f, double ago_s, const char *module);
/* A VM event that began ago_s before now; of no process. Valid until the next fake_vm. */
struct snap_vm_event *fake_vm(struct fake *f, enum vm_event_kind kind, double ago_s,
                              double took_us);
/* VM events of all kinds but gap and breaker, in the last minute. */
void fake_vm_events(struct fake *f);
void fake_log(struct fake *f, const char *text); /* the newest line comes first in the snapshot */
const char *fake_str(struct fake *f, const char *s); /* a copy with the lifetime of f */
struct snapshot *fake_snap(struct fake *f); /* totals, and the counts of received and aggregated
                                               calls, are computed from the rows */

/* The standard one: parsing, handle, formatter, db, accounting x create, read, update, delete, each
 * with its total row, then _total; n_slow slow calls (up to 64) and three log lines. */
struct fake *fake_standard(size_t n_slow);
/* Data besides the rows: slow calls (up to 64) of stored requests, open calls (up to 30), lines of
 * the log (up to 16). */
void fake_events(struct fake *f, size_t n_slow, size_t n_open, size_t n_log);
/* The standard one while the breaker is open. */
struct fake *fake_tripped(void);
/* n_rows rows (total rows and identities counted) over tiers "tier_0", "tier_1", ... of 50 rows
 * each. */
struct fake *fake_many(size_t n_rows);
/* A heat map of the row (as of fake_row) over n columns of col_s seconds up to now, with slow calls
 * in one place, errors, a gap, and a time older than the history. */
void fake_heat(struct fake *f, const struct snap_row *r, size_t n, uint32_t col_s);
void fake_dist(struct fake *f, const struct snap_row *r); /* calls around its percentiles */
/* Gives every row a trend. */
void fake_trends(struct fake *f);
/* Names with escape sequences, 255 bytes, invalid UTF-8, bidi overrides, wide and combining
 * characters. */
struct fake *fake_hostile(void);

#endif
