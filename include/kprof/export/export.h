/* Writes a snapshot as text, JSON, CSV, Prometheus text or HdrHistogram log onto a buf. Same
 * figures in each; loss and the breaker are shown in each. Pure; any thread. Strings from the
 * target are made safe (text_safe, json_str, CSV quoting that a spreadsheet does not take for a
 * formula). */
#ifndef KPROF_EXPORT_EXPORT_H
#define KPROF_EXPORT_EXPORT_H

#include <kprof/base/buf.h>
#include <kprof/core/snapshot.h>

enum export_format { EXPORT_TEXT, EXPORT_JSON, EXPORT_CSV, EXPORT_PROM, EXPORT_HLOG };

/* text: a header block, the table, the slowest five requests, a line each; json: one object and a
 * newline, whose keys kprof.1 (OUTPUT) lists; csv: one line a row, a header line first when
 * `first`; prom: Prometheus text format, whole; hlog: HdrHistogram's log, a header first when
 * `first`, then a line a row with calls (rows need their histograms, core_keep_hists). */
void export_write(struct buf *out, const struct snapshot *s, enum export_format f, bool first);
/* As text, with all slow requests, newest first, each with its tiers. */
void export_details(struct buf *out, const struct snapshot *s);
/* What the table's screen is about, as text: the same without the log, with the 20 slowest
 * requests. */
void export_view(struct buf *out, const struct snapshot *s);
/* Only the slow requests that the filter lets through, as text, in the same form as the details. */
void export_slow(struct buf *out, const struct snapshot *s, const struct slow_filter *f);
/* One slow request as one JSON object and a newline, as in "slow" of json, with "node" in it. */
void export_slow_line(struct buf *out, const struct snap_slow *w, const char *node);
int export_format_parse(const char *s); /* enum export_format, or -1 */
/* By the ending of a file's name: enum export_format, EXPORT_TEXT where there is none; -1: not one
 * of export_endings. */
int export_format_of_file(const char *path);
const char *export_endings(void); /* ".txt .json ..." */
/* Does the format need the rows' histograms? */
bool export_needs_hists(enum export_format f);

#endif
