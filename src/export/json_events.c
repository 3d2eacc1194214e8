#include "json_events.h"

#include <kprof/base/clock.h>

void json_events(struct json *j, const struct snapshot *s)
{
    static const char *const value[VM_EVENT_COUNT] = {[VM_EVENT_LONG_GC] = "heap_bytes",
                                                      [VM_EVENT_LARGE_HEAP] = "heap_bytes",
                                                      [VM_EVENT_LONG_QUEUE] = "messages",
                                                      [VM_EVENT_RUN_QUEUE] = "run_queue"};
    json_key(j, "vm_events");
    json_arr(j);
    for (size_t i = 0; i < s->vm.n; i++) {
        const struct snap_vm_event *e = &s->vm.of[i];
        char at[40], pid[SNAPSHOT_PID_BYTES];
        if (!snapshot_vm_in_window(s, e))
            continue;
        clock_format_wall(e->wall_ns, at, sizeof at);
        snapshot_pid(e->pid, pid);
        json_obj(j);
        json_key_str(j, "kind", vm_event_name(e->kind));
        json_key_str(j, "at", at);
        json_key(j, "took_us");
        if (e->took_us > 0)
            json_f(j, e->took_us, 1);
        else
            json_null(j);
        json_key(j, "open");
        json_bool(j, e->open);
        json_key_str(j, "pid", e->pid ? pid : NULL);
        json_key_str(j, "process", e->who);
        if (value[e->kind])
            json_key_u64(j, value[e->kind], e->value);
        json_key_str(j, "detail", e->detail);
        json_key_u64(j, "more", e->more);
        json_obj_end(j);
    }
    json_arr_end(j);
    json_key_str(j, "vm_events_state", vm_event_state_name(s->vm.state));
    json_key_u64(j, "vm_events_lost", s->vm.lost);
}
