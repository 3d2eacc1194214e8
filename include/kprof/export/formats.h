/* The three writers behind export_write. Same contract. */
#ifndef KPROF_EXPORT_FORMATS_H
#define KPROF_EXPORT_FORMATS_H

#include <kprof/base/buf.h>
#include <kprof/core/snapshot.h>
#include <stdbool.h>

void format_text(struct buf *out, const struct snapshot *s);
void format_json(struct buf *out, const struct snapshot *s);
void format_csv(struct buf *out, const struct snapshot *s, bool first);

#endif
