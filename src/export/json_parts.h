/* The parts of the time in JSON: of a row, and of the calls of a slow request. Texts from the node
 * are made safe (json_str). Pure; any thread. */
#ifndef EXPORT_JSON_PARTS_H
#define EXPORT_JSON_PARTS_H

#include <kprof/base/json.h>
#include <kprof/core/snapshot.h>

/* Writes "parts": an object with one object for each part. */
void json_parts_row(struct json *j, const struct time_part_view *v);
/* Writes "call_parts": the sums and all stored pieces of each call. Nothing if they were not
 * recorded. */
void json_parts_calls(struct json *j, const struct snapshot *s, const struct snap_slow *w);

#endif
