#include "vm_lane.h"

#include <kprof/base/format.h>
#include <stdio.h>

static uint64_t end_of(const struct snap_vm_event *e)
{
    return e->wall_ns + (uint64_t)(e->took_us * 1e3);
}

/* True: the event is shown, and a part of it is in [from, to); without a duration: its start is. */
static bool is_in(const struct vm_lane *l, const struct snap_vm_event *e, uint64_t from,
                  uint64_t to)
{
    bool own = e->kind == VM_EVENT_GAP || e->kind == VM_EVENT_BREAKER;
    return (l->own_gaps || !own) && e->wall_ns < to &&
           (end_of(e) > from || (e->wall_ns >= from && end_of(e) == e->wall_ns));
}

static uint64_t edge(const struct vm_lane *l, int cell)
{
    double part = (double)(l->to_ns - l->from_ns) * cell / (l->cols > 0 ? l->cols : 1);
    return cell >= l->cols ? l->to_ns : l->from_ns + (uint64_t)part;
}

static bool in_cell(const struct vm_lane *l, const struct snap_vm_event *e, int cell)
{
    return is_in(l, e, edge(l, cell), edge(l, cell + 1));
}

const struct snap_vm_event *vm_lane_in(const struct vm_lane *l, int cell, size_t n)
{
    for (int kind = 0; kind < VM_EVENT_COUNT; kind++) {
        for (size_t i = 0; i < l->s->vm.n; i++) {
            const struct snap_vm_event *e = &l->s->vm.of[i];
            if (e->kind == (enum vm_event_kind)kind && in_cell(l, e, cell) && n-- == 0) {
                return e;
            }
        }
    }
    return NULL;
}

size_t vm_lane_count(const struct vm_lane *l, int cell)
{
    size_t n = 0;
    for (size_t i = 0; i < l->s->vm.n; i++) {
        n += in_cell(l, &l->s->vm.of[i], cell);
    }
    return n;
}

const struct snap_vm_event *vm_lane_find(const struct vm_lane *l, uint64_t id)
{
    for (size_t i = 0; id && i < l->s->vm.n; i++) {
        const struct snap_vm_event *e = &l->s->vm.of[i];
        if (e->id == id && is_in(l, e, l->from_ns, l->to_ns)) {
            return e;
        }
    }
    return NULL;
}

int vm_lane_cell(const struct vm_lane *l, const struct snap_vm_event *e)
{
    for (int cell = 0; cell < l->cols; cell++) {
        if (in_cell(l, e, cell)) {
            return cell;
        }
    }
    return 0;
}

/* The list is sorted by start time, the latest first. */
const struct snap_vm_event *vm_lane_next(const struct vm_lane *l, const struct snap_vm_event *it,
                                         bool later)
{
    size_t n = l->s->vm.n, at = it ? (size_t)(it - l->s->vm.of) : later ? n : SIZE_MAX;
    for (;;) {
        at += later ? SIZE_MAX : 1;
        if (at >= n) {
            return NULL;
        }
        if (is_in(l, &l->s->vm.of[at], l->from_ns, l->to_ns)) {
            return &l->s->vm.of[at];
        }
    }
}

const struct snap_vm_event *vm_lane_near(const struct vm_lane *l, int cell, bool later)
{
    const struct snap_vm_event *e = NULL;
    while ((e = vm_lane_next(l, e, later))) {
        if (later ? e->wall_ns >= edge(l, cell) : e->wall_ns < edge(l, cell)) {
            return e;
        }
    }
    return NULL;
}

bool vm_lane_any(const struct vm_lane *l)
{
    return vm_lane_next(l, NULL, false) != NULL;
}

static enum style style_of(enum vm_event_kind kind)
{
    switch (kind) {
    case VM_EVENT_LONG_GC:
    case VM_EVENT_LONG_SCHEDULE:
    case VM_EVENT_BREAKER:
        return STYLE_BAD;
    case VM_EVENT_LOADED:
        return STYLE_KEY;
    default:
        return STYLE_WARN;
    }
}

/* The most important event of the cell. */
static const struct snap_vm_event *best_in(const struct vm_lane *l, int cell)
{
    const struct snap_vm_event *best = NULL;
    for (size_t i = 0; i < l->s->vm.n; i++) {
        const struct snap_vm_event *e = &l->s->vm.of[i];
        if ((!best || e->kind < best->kind) && in_cell(l, e, cell)) {
            best = e;
        }
    }
    return best;
}

void vm_lane_draw(const struct vm_lane *l, struct canvas *c, int row, int col, int cell)
{
    for (int i = 0; i < l->cols; i++) {
        const struct snap_vm_event *e = best_in(l, i);
        char text[2] = {e ? vm_event_letter(e->kind) : 0, 0};
        canvas_text(c, row, col + i, 1, e ? style_of(e->kind) : STYLE_DIM, e ? text : " ");
        if (i == cell) {
            canvas_style(c, row, col + i, 1, STYLE_SELECT);
        }
    }
}

/* In a narrow line the text comes before the time. */
int vm_lane_say(const struct vm_lane *l, struct canvas *c, int row, int col, int cols, int cell,
                const struct snap_vm_event *e)
{
    char when[FORMAT_BYTES], text[VM_EVENT_TEXT_BYTES], place[48] = "";
    size_t n = vm_lane_count(l, cell), at = 0;
    bool wide = cols >= 60;
    format_time(e->wall_ns, wide, when);
    vm_event_text(e, text);
    while (at < n && vm_lane_in(l, cell, at) != e) {
        at++;
    }
    if (n > 1 && at < n) {
        snprintf(place, sizeof place, " (%zu of %zu)", at + 1, n);
    }
    return canvas_textf(c, row, col, cols, style_of(e->kind), "%c %s%s  %s",
                        vm_event_letter(e->kind), wide ? when : text, place, wide ? text : when);
}

const char *vm_lane_none(const struct snapshot *s)
{
    return s->vm.state == VM_EVENTS_NOT_HERE ? "VMs report events from OTP 28 on; only those that "
                                               "kprof-top finds itself are shown"
                                             : "no VM event in the time shown";
}
