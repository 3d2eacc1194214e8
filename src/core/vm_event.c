#include <kprof/core/vm_event.h>

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/core/snapshot.h>
#include <stdio.h>
#include <string.h>

static const struct {
    char letter;
    const char *name, *meaning;
} kinds[VM_EVENT_COUNT] = {
    [VM_EVENT_LONG_GC] = {'G', "long_gc", "a garbage collection of 50 ms or more"},
    [VM_EVENT_LONG_SCHEDULE] = {'S', "long_schedule",
                                "a process or port ran for 50 ms or more at a stretch"},
    [VM_EVENT_BUSY_PORT] = {'P', "busy_port", "a process was suspended by a busy port"},
    [VM_EVENT_LONG_QUEUE] = {'Q', "long_queue", "a process had 1000 messages or more"},
    [VM_EVENT_LARGE_HEAP] = {'H', "large_heap", "a process had a heap of 64 MB or more"},
    [VM_EVENT_LOADED] = {'L', "loaded", "a traced module was loaded again"},
    [VM_EVENT_RUN_QUEUE] = {'R', "run_queue", "3 processes or more per scheduler waited to run"},
    [VM_EVENT_BREAKER] = {'B', "breaker", "the breaker was open"},
    [VM_EVENT_GAP] = {'/', "gap", "nothing was traced"},
};

const char *vm_event_name(enum vm_event_kind kind)
{
    return (unsigned)kind < VM_EVENT_COUNT ? kinds[kind].name : "?";
}

char vm_event_letter(enum vm_event_kind kind)
{
    return (unsigned)kind < VM_EVENT_COUNT ? kinds[kind].letter : '?';
}

const char *vm_event_meaning(enum vm_event_kind kind)
{
    return (unsigned)kind < VM_EVENT_COUNT ? kinds[kind].meaning : "?";
}

const char *vm_event_state_name(enum vm_event_state state)
{
    static const char *const name[] = {"-", "off", "on", "not on this VM"};
    return (unsigned)state < sizeof name / sizeof *name ? name[state] : "?";
}

/* " of 84 ms", or " for 84 ms", or nothing if the length is not known. */
static void length_text(const struct snap_vm_event *e, const char *word, char *out, size_t cap)
{
    char took[FORMAT_BYTES];

    out[0] = 0;
    format_us(e->took_us, took);
    if (e->took_us > 0)
        snprintf(out, cap, " %s %s%s", word, took, e->open ? " so far" : "");
}

void vm_event_text(const struct snap_vm_event *e, char *out)
{
    char pid[SNAPSHOT_PID_BYTES] = "", in[160] = "", of[48], took[48], bytes[FORMAT_BYTES];
    const char *detail = e->detail ? e->detail : "?";
    int n = 0;
    const int cap = VM_EVENT_TEXT_BYTES;

    if (e->pid) {
        snapshot_pid(e->pid, pid);
        snprintf(in, sizeof in, " in %s%s%.120s", pid, e->who ? " " : "", e->who ? e->who : "");
    }
    length_text(e, "of", of, sizeof of);
    length_text(e, "for", took, sizeof took);
    format_bytes(e->value, bytes);
    switch (e->kind) {
    case VM_EVENT_LONG_GC:
        n = snprintf(out, (size_t)cap, "long GC%s%s, heap %s", of, in, bytes);
        break;
    case VM_EVENT_LONG_SCHEDULE:
        n = snprintf(out, (size_t)cap, "ran%s without yielding%s%s%.80s", took, in,
                     e->detail ? ", at " : "", e->detail ? detail : "");
        break;
    case VM_EVENT_BUSY_PORT:
        n = snprintf(out, (size_t)cap, "busy port %.40s: suspended%s", detail, in + (*in ? 3 : 0));
        break;
    case VM_EVENT_LONG_QUEUE:
        n = snprintf(out, (size_t)cap, "long queue%s%s, %" PRIu64 " messages or more%s", took, in,
                     e->value, e->open ? ", no end reported" : "");
        break;
    case VM_EVENT_LARGE_HEAP:
        n = snprintf(out, (size_t)cap, "large heap of %s%s", bytes, in);
        break;
    case VM_EVENT_LOADED:
        n = snprintf(out, (size_t)cap, "module loaded again: %.120s", detail);
        break;
    case VM_EVENT_RUN_QUEUE:
        n = snprintf(out, (size_t)cap, "long run queue%s, up to %" PRIu64 " processes", took,
                     e->value);
        break;
    case VM_EVENT_BREAKER:
        n = snprintf(out, (size_t)cap, "breaker open%s", took);
        break;
    case VM_EVENT_GAP:
    case VM_EVENT_COUNT:
        n = snprintf(out, (size_t)cap, "not traced%s: %.40s", took, detail);
        break;
    }
    if (e->more && n > 0 && n < cap)
        snprintf(out + n, (size_t)(cap - n), " (and %u more in this second)", e->more);
}
