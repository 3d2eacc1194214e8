/* Appends a snapshot to a buf as text, JSON, CSV, Prometheus text or HdrHistogram log. All formats
 * have the same values; all show loss and the breaker. Pure; any thread. Strings from the node are
 * made safe (text_safe, json_str, CSV quoting that a spreadsheet does not treat as a formula). */
#ifndef KPROF_EXPORT_EXPORT_H
#define KPROF_EXPORT_EXPORT_H

#include <kprof/base/buf.h>
#include <kprof/core/snapshot.h>

enum export_format { EXPORT_TEXT, EXPORT_JSON, EXPORT_CSV, EXPORT_PROM, EXPORT_HLOG };

/* text: a header block, the table, and one line for each of the five slowest requests; json: one
 * object and a newline, kprof.1 (OUTPUT) lists the keys; csv: one line per row, after a header line
 * if `first`; prom: the whole Prometheus text format; hlog: HdrHistogram log, with one line per row
 * that has calls, after a header if `first` (rows need their histograms, core_keep_hists). */
void export_write(struct buf *out, const struct snapshot *s, enum export_format f, bool first);
/* Writes text with all slow requests, newest first, each with its tiers. */
void export_details(struct buf *out, const struct snapshot *s);
/* Writes the contents of the table screen as text, without the log, with the 20 slowest requests.
 * */
void export_view(struct buf *out, const struct snapshot *s);
/* Writes as text only the slow requests that pass the filter, in the form of export_details. */
void export_slow(struct buf *out, const struct snapshot *s, const struct slow_filter *f);
/* Writes one slow request of s as one JSON object and a newline: an object of "slow" in json, plus
 * "node". */
void export_slow_line(struct buf *out, const struct snapshot *s, const struct snap_slow *w,
                      const char *node);
int export_format_parse(const char *s); /* enum export_format, or -1 */
/* Returns the enum export_format for the extension of a file name, EXPORT_TEXT if the name has no
 * extension, or -1 if the extension is not one of export_endings. */
int export_format_of_file(const char *path);
const char *export_endings(void); /* ".txt .json ..." */
/* True: the format needs the histograms of the rows. */
bool export_needs_hists(enum export_format f);

#endif
