#include <kprof/trace/heartbeat.h>

#include <kprof/core/event.h>
#include <string.h>

enum { PAIRS_MAX = 64 };

static void beat_field(struct etf *c, struct heartbeat *b)
{
    const char *k;
    size_t n;
    int64_t v;

    if (!etf_atom(c, &k, &n) || !etf_i64(c, &v))
        return;
#define IS(s) (n == sizeof s - 1 && memcmp(k, s, n) == 0)
    uint64_t u = v > 0 ? (uint64_t)v : 0;
    if (IS("run_queue"))
        b->run_queue = (uint32_t)u;
    else if (IS("dirty_queue"))
        b->dirty_queue = v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
    else if (IS("schedulers"))
        b->schedulers = u <= UINT32_MAX ? (uint32_t)u : 0;
    else if (IS("sched"))
        b->sched_permille = v < -1 || v > 1000 ? -1 : (int32_t)v;
    else if (IS("memory"))
        b->memory_bytes = u;
    else if (IS("processes"))
        b->processes = u;
    else if (IS("uptime_ms"))
        b->uptime_ms = u;
    else if (IS("relay_queue"))
        b->relay_queue = u;
    else if (IS("relay_memory"))
        b->relay_bytes = u;
    else if (IS("dropped"))
        b->dropped = u;
    else if (IS("breaker"))
        b->breaker = u <= 2 ? (uint32_t)u : 1;
    else if (IS("trips"))
        b->trips = u;
    else if (IS("next_ms"))
        b->next_ms = u;
    else if (IS("pause_ms"))
        b->pause_ms = u;
    else if (IS("sample"))
        b->sample = u <= UINT32_MAX ? (uint32_t)u : 0;
    else if (IS("sample_why"))
        b->sample_why = u <= 6 ? (uint32_t)u : 0;
    else if (IS("detail"))
        b->detail = u <= UINT32_MAX ? (uint32_t)u : 0;
    else if (IS("detail_why"))
        b->detail_why = u <= 3 ? (int)u : -1;
    else if (IS("vm_events"))
        b->vm_events = u <= 2 ? (int)u : -1;
    else if (IS("cost"))
        b->cost_ppm = u <= UINT32_MAX ? (uint32_t)u : UINT32_MAX;
    else if (IS("call_ns"))
        b->call_ns = u <= UINT32_MAX ? (uint32_t)u : UINT32_MAX;
    else if (IS("cost_assumed"))
        b->cost_assumed = u != 0;
    else if (IS("gap"))
        b->gap = u <= GAP_LEASE ? (int)u : -1;
#undef IS
}

bool heartbeat_read(struct etf *c, struct heartbeat *out)
{
    uint32_t pairs;

    *out = (struct heartbeat){
        .sched_permille = -1, .dirty_queue = -1, .gap = -1, .detail_why = -1, .vm_events = -1};
    if (!etf_map(c, &pairs) || pairs > PAIRS_MAX)
        return false;
    for (uint32_t i = 0; i < pairs && !c->bad; i++) {
        struct etf at = *c;
        beat_field(c, out);
        *c = at;
        etf_skip(c);
        etf_skip(c);
    }
    return !c->bad;
}
