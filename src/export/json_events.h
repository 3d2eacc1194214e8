/* The VM events of a snapshot's window, as members of a JSON object: vm_events, vm_events_state,
 * vm_events_lost. The last begun is first; took_us is null for a moment, and if it is not known;
 * the end of an event with open: true has not been reported. Private to export. */
#ifndef KPROF_EXPORT_JSON_EVENTS_H
#define KPROF_EXPORT_JSON_EVENTS_H

#include <kprof/base/json.h>
#include <kprof/core/snapshot.h>

void json_events(struct json *j, const struct snapshot *s);

#endif
