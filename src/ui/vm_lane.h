/* The lane of VM events: one row of letters under a time axis (heat map, waterfall), and the text
 * of the selected event.
 *
 * Invariant: every event that has a part on the axis is in at least one cell; a cell shows the
 * letter of its most important event. Points into the snapshot; draws only. Core thread only. */
#ifndef UI_VM_LANE_H
#define UI_VM_LANE_H

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>

struct vm_lane {
    const struct snapshot *s;
    uint64_t from_ns, to_ns; /* the axis: wall clock of this machine, [from, to) */
    int cols;                /* its cells */
    bool own_gaps;           /* the time without tracing is shown, too */
};

/* The n-th event of the cell, the most important one first; NULL: it has no more. */
const struct snap_vm_event *vm_lane_in(const struct vm_lane *l, int cell, size_t n);
/* The number of events in the cell. */
size_t vm_lane_count(const struct vm_lane *l, int cell);
/* The event with this id, if it is on the axis; NULL: none. */
const struct snap_vm_event *vm_lane_find(const struct vm_lane *l, uint64_t id);
/* The first cell of an event on the axis. */
int vm_lane_cell(const struct vm_lane *l, const struct snap_vm_event *e);
/* The next event after (later) or before `it`, by start time; it NULL: the first or last one.
 * NULL: there is none. */
const struct snap_vm_event *vm_lane_next(const struct vm_lane *l, const struct snap_vm_event *it,
                                         bool later);
/* The last event that begins before the cell, or (later) the first one after it; NULL: none. */
const struct snap_vm_event *vm_lane_near(const struct vm_lane *l, int cell, bool later);
bool vm_lane_any(const struct vm_lane *l);

/* cell: is drawn as selected; -1: none. */
void vm_lane_draw(const struct vm_lane *l, struct canvas *c, int row, int col, int cell);
/* The event, its time, and its position if its cell has several. Returns the columns used. */
int vm_lane_say(const struct vm_lane *l, struct canvas *c, int row, int col, int cols, int cell,
                const struct snap_vm_event *e);
/* What to say if there is no event. */
const char *vm_lane_none(const struct snapshot *s);

#endif
