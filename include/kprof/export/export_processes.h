/* Appends the process table to a buf as text, JSON or CSV: the rows of a query, in its order. Pure;
 * any thread. Texts of the node are made safe (text_safe, json_str, CSV quoting). */
#ifndef KPROF_EXPORT_EXPORT_PROCESSES_H
#define KPROF_EXPORT_EXPORT_PROCESSES_H

#include <kprof/base/buf.h>
#include <kprof/core/process_table.h>
#include <kprof/export/export.h>

/* at_ns: wall clock. Returns false for another format than EXPORT_TEXT, EXPORT_JSON, EXPORT_CSV:
 * nothing is written. */
bool export_processes(struct buf *out, const struct process_table *t, const struct process_query *q,
                      const char *node, uint64_t at_ns, enum export_format f);

#endif
