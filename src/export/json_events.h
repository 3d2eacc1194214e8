/* The VM events of a snapshot's window, as members of a JSON object: vm_events, vm_events_state,
 * vm_events_lost. The event that began last is first. took_us is null if the event has no duration,
 * or if it is not known. open: true means that its end has not been reported. Private to export. */
#ifndef KPROF_EXPORT_JSON_EVENTS_H
#define KPROF_EXPORT_JSON_EVENTS_H

#include <kprof/base/json.h>
#include <kprof/core/snapshot.h>

void json_events(struct json *j, const struct snapshot *s);

#endif
