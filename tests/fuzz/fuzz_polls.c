/* Any bytes as the agent's answer about processes in which requests hang, and as a poll of a
 * recording, which core then takes. */
#include <engine/recording_poll.h>
#include <kprof/core/core.h>
#include <kprof/trace/agent_request.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void lines_of(const uint8_t *data, size_t n)
{
    struct etf c;
    struct buf lines;

    buf_init(&lines, 0);
    etf_init(&c, data, n);
    bool ok = agent_request_polls(&c, &lines);
    for (size_t i = 0, ends = 0; ok && i < lines.len; i++)
        if (lines.data[i] == 0 || (lines.data[i] == '\n' && ++ends > 65))
            abort();
    buf_release(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct core_poll p;

    lines_of(data, n);
    if (!recording_poll_read(&p, data, n))
        return 0;
    if (p.status > 6 || memchr(p.place, 0, sizeof p.place) == NULL)
        abort();
    struct core_limits l;
    struct intern *names = intern_new(1000, 1 << 16);
    core_limits_default(&l);
    l.open_requests = 64;
    l.processes = 64;
    l.slow_entries = 16;
    struct core *c = core_new(&l, names);
    core_hang(c, &p);
    core_free(c);
    intern_free(names);
    return 0;
}
