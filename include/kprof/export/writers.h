/* The writers behind the functions of export.h, with the same contract: pure; any thread. */
#ifndef KPROF_EXPORT_WRITERS_H
#define KPROF_EXPORT_WRITERS_H

#include <kprof/base/buf.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

void export_text(struct buf *out, const struct snapshot *s, bool details);
enum { EXPORT_SLOWEST = 20 }; /* lines of slow requests in a view */
void export_text_view(struct buf *out, const struct snapshot *s);
void export_change(struct buf *out, const struct snapshot *s); /* a part of text */
void export_json(struct buf *out, const struct snapshot *s);
void export_csv(struct buf *out, const struct snapshot *s, bool first);
/* A text as a cell that a spreadsheet does not treat as a formula. */
void export_csv_quoted(struct buf *out, const char *s);
void export_prom(struct buf *out, const struct snapshot *s);
void export_hlog(struct buf *out, const struct snapshot *s, bool first);
void export_text_slow(struct buf *out, const struct snapshot *s, const struct slow_filter *f);
void export_json_slow(struct buf *out, const struct snapshot *s, const struct snap_slow *w,
                      const char *node);

#endif
