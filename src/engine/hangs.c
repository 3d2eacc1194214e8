#include "hangs.h"
#include "recording_poll.h"

#include <kprof/base/clock.h>
#include <kprof/trace/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_NS 50000000u
#define AGAIN_NS 5000000000u /* after a failure */

static bool may_ask(const struct engine *g)
{
    struct heartbeat b;

    return g->control && g->state == ENGINE_UP && g->tracing && !g->hangs.asked &&
           stream_heartbeat(g->stream, &b) && b.breaker == BREAKER_CLOSED;
}

void hangs_ask(struct engine *g)
{
    uint64_t now = clock_mono_ns(), pids[AGENT_REQUEST_HANG];

    if (now < g->hangs.next_ns || !may_ask(g))
        return;
    g->hangs.next_ns = now + EVERY_NS;
    size_t n = core_hanging(g->core, g->hangs.of, AGENT_REQUEST_HANG);
    for (size_t i = 0; i < n; i++)
        pids[i] = g->hangs.of[i].pid;
    g->hangs.n = n;
    g->hangs.asked = n > 0;
    if (n)
        control_ask(g->control, CONTROL_HANG, 0, NULL, pids, n);
}

static void keep(struct engine *g, const struct core_poll *p)
{
    struct buf b;

    if (!g->recorder)
        return;
    buf_init(&b, 0);
    recording_poll_write(p, &b);
    recorder_write(g->recorder, RECORD_POLL, clock_mono_ns(), b.data, b.len);
    buf_release(&b);
}

/* One poll. now_ns: node time, at least that of the end of the polls. */
static void take_poll(struct engine *g, const char *line, size_t n, uint64_t total_us,
                      uint64_t now_ns)
{
    unsigned index, status;
    unsigned long long after_us;
    int at = 0;
    struct core_poll p;

    memset(&p, 0, sizeof p);
    if (sscanf(line, "%u %llu %u %n", &index, &after_us, &status, &at) != 3 || at <= 0 ||
        (size_t)at > n || index >= g->hangs.n || after_us > total_us)
        return;
    uint64_t before_ns = (total_us - after_us) * 1000;
    p.request = g->hangs.of[index].request;
    p.ns = now_ns > before_ns ? now_ns - before_ns : 0;
    p.status = (uint8_t)(status <= 6 ? status : 0);
    size_t len = n - (size_t)at;
    memcpy(p.place, line + at, len < sizeof p.place - 1 ? len : sizeof p.place - 1);
    core_hang(g->core, &p);
    keep(g, &p);
}

void hangs_take(struct engine *g, struct result *r)
{
    uint64_t now_ns, total_us;
    const char *line = r->text;

    g->hangs.asked = false;
    if (r->failed) {
        g->hangs.next_ns = clock_mono_ns() + AGAIN_NS;
        return;
    }
    g->hangs.next_ns = 0;
    if (!line || !stream_now(g->stream, clock_mono_ns(), &now_ns))
        return;
    total_us = strtoull(line, NULL, 10);
    while (*(line += strcspn(line, "\n")) && *++line)
        take_poll(g, line, strcspn(line, "\n"), total_us, now_ns);
}
