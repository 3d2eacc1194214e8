/* Writes a snapshot as text, JSON or CSV onto a buf. Same figures in each; loss, gaps and the
 * breaker are shown in each. Pure; any thread. Strings from the target are made safe (text_safe,
 * json_str, CSV quoting that a spreadsheet does not take for a formula). */
#ifndef KPROF_EXPORT_EXPORT_H
#define KPROF_EXPORT_EXPORT_H

#include <kprof/base/buf.h>
#include <kprof/core/snapshot.h>

enum export_format { EXPORT_TEXT, EXPORT_JSON, EXPORT_CSV };

/* text: a header block, the table, the slow log; json: one object and a newline, by DESIGN section
 * 6; csv: one line a row, a header line first when `first`. */
void export_write(struct buf *out, const struct snapshot *s, enum export_format f, bool first);
int export_format_parse(const char *s); /* enum export_format, or -1 */

#endif
