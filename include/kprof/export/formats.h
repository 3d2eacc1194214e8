/* The writers behind export_write and its like. Same contract. */
#ifndef KPROF_EXPORT_FORMATS_H
#define KPROF_EXPORT_FORMATS_H

#include <kprof/base/buf.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

void format_text(struct buf *out, const struct snapshot *s);
void format_change(struct buf *out, const struct snapshot *s); /* a part of text */
void format_json(struct buf *out, const struct snapshot *s);
void format_csv(struct buf *out, const struct snapshot *s, bool first);
void format_prom(struct buf *out, const struct snapshot *s);
void format_hlog(struct buf *out, const struct snapshot *s, bool first);
void format_text_slow(struct buf *out, const struct snapshot *s, const struct slow_filter *f);
void format_json_slow(struct buf *out, const struct snap_slow *w, const char *node);

#endif
