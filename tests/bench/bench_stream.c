/* Decode and aggregate: batches as the relay sends them, through stream and ring into core, on one
 * thread. */
#include "agent_terms.h"
#include "core_test.h"

#include <kprof/base/clock.h>
#include <kprof/base/ring.h>
#include <kprof/core/core.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/stream.h>
#include <stdio.h>
#include <stdlib.h>

/* A request: entry, db, exec (another process), format; a call and a return each. A batch holds 62
 * of them. */
enum { TIERS = 4, REQUESTS = 62, BATCH = REQUESTS * 2 * TIERS, BATCHES = 400, RUNS = 5 };

static const char *const fun[TIERS] = {"handle", "query", "exec", "format"};
static const char *const kind[4] = {"create", "read", "update", "delete"};

static uint32_t process(int tier, int request)
{
    return (uint32_t)(tier == 2 ? 5000 : 100 + request % 50);
}

static void call(struct buf *b, int tier, int request, int64_t ts)
{
    enc_tuple(b, 6);
    enc_atom(b, "trace_ts");
    agent_pid(b, "app@production-host", process(tier, request), 0);
    enc_atom(b, "call");
    agent_mfa(b, "my_application", fun[tier], 2);
    enc_tuple(b, tier == 0 ? 5 : 3);
    enc_i64(b, tier);
    enc_u64(b, UINT64_C(77) << 32 | (uint32_t)(request + 1));
    agent_mfa(b, "my_application", "caller", 2);
    if (tier == 0) {
        enc_atom(b, kind[request % 4]);
        enc_atom(b, "entry");
    }
    enc_i64(b, ts);
}

static void back(struct buf *b, int tier, int request, int64_t ts)
{
    enc_tuple(b, 5);
    enc_atom(b, "trace_ts");
    agent_pid(b, "app@production-host", process(tier, request), 0);
    enc_atom(b, "return_to");
    agent_mfa(b, "my_application", "caller", 2);
    enc_i64(b, ts);
}

/* Newest first, as the relay sends them. The tiers are called one after the other inside of the
 * entry. */
static void batch(struct buf *b, uint64_t seq, int64_t from_ns)
{
    int request = (int)(seq - 1) * REQUESTS + REQUESTS - 1;
    int64_t ts = from_ns + REQUESTS * 20000;

    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 5);
    enc_atom(b, "kb");
    enc_u64(b, seq);
    enc_u64(b, 0);
    enc_u64(b, 1);
    enc_list(b, BATCH);
    for (int i = 0; i < REQUESTS; i++, request--) {
        back(b, 0, request, ts -= 1000);
        for (int tier = TIERS - 1; tier > 0; tier--) {
            back(b, tier, request, ts -= 3000);
            call(b, tier, request, ts -= 3000);
        }
        call(b, 0, request, ts -= 1000);
    }
    enc_nil(b);
}

static struct core *core(struct intern *names)
{
    struct core_limits l;
    core_limits_default(&l);
    struct core *c = core_new(&l, names);
    for (int i = 0; i < TIERS; i++)
        core_tier_add(c, fun[i], fun[i]);
    core_set_entry(c, 0);
    core_set_identity(c, true);
    core_set_returns(c, RETURNS_LEAN);
    return c;
}

static double run(struct buf *batches)
{
    struct intern *names = intern_new(10000, 1 << 20);
    struct ring *r = ring_new(1 << 12, sizeof(struct event));
    struct stream *s = stream_new(r, names);
    struct core *c = core(names);
    const void *ev;
    size_t n;

    stream_clock(s, 0, 1000000000);
    uint64_t t0 = clock_mono_ns();
    for (int i = 0; i < BATCHES; i++) {
        struct etf rest;
        uint64_t ref;
        stream_feed(s, batches[i].data, batches[i].len, t0, &rest, &ref);
        while ((n = ring_peek(r, &ev)) > 0) {
            core_feed(c, ev, n);
            ring_consume(r, n);
        }
    }
    double took_s = (double)(clock_mono_ns() - t0) / 1e9;
    core_advance(c, core_now(c) + 1000000000);
    struct snapshot *snap = core_snapshot(c, WINDOW_RUN, 0);
    if (snap->requests.finished != (uint64_t)BATCHES * REQUESTS || !snapshot_conserves(snap)) {
        fprintf(stderr, "bench_stream: %llu requests finished, not %d\n",
                (unsigned long long)snap->requests.finished, BATCHES * REQUESTS);
        exit(1);
    }
    snapshot_free(snap);
    core_free(c);
    stream_free(s);
    ring_free(r);
    intern_free(names);
    return BATCHES * BATCH / took_s / 1e6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static struct buf batches[BATCHES];
    double rate[RUNS];
    size_t bytes = 0;

    for (int i = 0; i < BATCHES; i++) {
        buf_init(&batches[i], 0);
        batch(&batches[i], (uint64_t)i + 1, 1000000 + (int64_t)i * REQUESTS * 20000);
        bytes += batches[i].len;
    }
    for (int i = 0; i < RUNS; i++)
        rate[i] = run(batches);
    qsort(rate, RUNS, sizeof *rate, by_size);
    printf("decode and aggregate: %.1f million events/s on one core (median of %d, %.1f to %.1f; "
           "%.0f bytes an event; at least 3)\n",
           rate[RUNS / 2], RUNS, rate[0], rate[RUNS - 1], (double)bytes / BATCHES / BATCH);
    for (int i = 0; i < BATCHES; i++)
        buf_release(&batches[i]);
    return 0;
}
