/* The cost of a name by path(...) and shape(...), and the cost of a million different paths from
 * batches of the node into core, compared with one path and with an atom. */
#include "agent_terms.h"
#include "core_test.h"
#include "resident.h"

#include <kprof/base/clock.h>
#include <kprof/base/ring.h>
#include <kprof/base/template.h>
#include <kprof/core/core.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/stream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 100, BATCHES = 10000, RUNS = 5 };

enum kind { ATOM, ONE_PATH, MANY_PATHS };

enum { KINDS = MANY_PATHS + 1 };

static void head(struct buf *b, uint32_t arity, int request, const char *kind)
{
    enc_tuple(b, arity);
    enc_atom(b, "trace_ts");
    agent_pid(b, "app@production-host", 1 + (uint32_t)request % 50, 0);
    enc_atom(b, kind);
}

static void name(struct buf *b, enum kind kind, unsigned request)
{
    char path[100];

    if (kind == ATOM) {
        enc_atom(b, "read");
        return;
    }
    unsigned id = (kind == ONE_PATH ? 1 : request) * 2654435761u; /* of the same length */
    snprintf(path, sizeof path, "/api/customer/%u/order/%08x?page=%u", id % 100000, id, id % 7);
    enc_tuple(b, 2);
    enc_atom(b, "get");
    enc_tuple(b, 2);
    enc_atom(b, "kprof path");
    enc_str(b, path);
}

static void batch(struct buf *b, enum kind kind, int seq)
{
    int64_t ts = (int64_t)(seq + 1) * REQUESTS * 20000;

    buf_clear(b);
    enc_version(b);
    enc_tuple(b, 5);
    enc_atom(b, "kb");
    enc_u64(b, (uint64_t)seq + 1);
    enc_u64(b, 0);
    enc_u64(b, 1);
    enc_list(b, REQUESTS * 2);
    for (int i = REQUESTS - 1; i >= 0; i--) {
        int request = seq * REQUESTS + i;
        head(b, 5, request, "return_to");
        agent_mfa(b, "my_application", "caller", 2);
        enc_i64(b, ts -= 10000);
        head(b, 6, request, "call");
        agent_mfa(b, "my_application", "handle", 2);
        enc_tuple(b, 5);
        enc_i64(b, 0);
        enc_u64(b, UINT64_C(77) << 32 | (uint32_t)(request + 1));
        agent_mfa(b, "my_application", "caller", 2);
        name(b, kind, (unsigned)request);
        enc_atom(b, "entry");
        enc_i64(b, ts -= 10000);
    }
    enc_nil(b);
}

static struct core *core(struct intern *names)
{
    struct core_limits l;

    core_limits_default(&l);
    struct core *c = core_new(&l, names);
    core_tier_add(c, "handle", "handle");
    core_set_entry(c, 0);
    core_set_identity(c, true);
    core_set_returns(c, RETURNS_LEAN);
    return c;
}

struct result {
    double ns;    /* a request */
    size_t grown; /* growth of resident bytes since the first hundredth of the requests */
};

static struct result run(enum kind kind)
{
    struct intern *names = intern_new(10000, 1 << 20);
    struct ring *r = ring_new(1 << 12, sizeof(struct event));
    struct stream *s = stream_new(r, names);
    struct core *c = core(names);
    size_t early = 0, late, n;
    uint64_t took_ns = 0;
    struct buf b;
    const void *ev;

    buf_init(&b, 0);
    stream_clock(s, 0, 1000000000);
    for (int i = 0; i < BATCHES; i++) {
        struct etf rest;
        uint64_t ref;
        batch(&b, kind, i);
        uint64_t t0 = clock_cpu_ns();
        stream_feed(s, b.data, b.len, t0, &rest, &ref);
        while ((n = ring_peek(r, &ev)) > 0) {
            core_feed(c, ev, n);
            ring_consume(r, n);
        }
        took_ns += clock_cpu_ns() - t0;
        if (i == BATCHES / 100)
            early = resident_bytes();
    }
    late = resident_bytes();
    core_advance(c, core_now(c) + 1000000000);
    struct snapshot *snap = core_snapshot(c, WINDOW_RUN, 0);
    if (snap->requests.finished != (uint64_t)BATCHES * REQUESTS || !snapshot_conserves(snap) ||
        snap->anomalies.identities_folded) {
        fprintf(stderr, "bench_template: %llu requests finished, not %d, %llu in <other>\n",
                (unsigned long long)snap->requests.finished, BATCHES * REQUESTS,
                (unsigned long long)snap->anomalies.identities_folded);
        exit(1);
    }
    snapshot_free(snap);
    core_free(c);
    stream_free(s);
    ring_free(r);
    intern_free(names);
    buf_release(&b);
    return (struct result){(double)took_ns / BATCHES / REQUESTS, late > early ? late - early : 0};
}

static int by_time(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static double one_name_ns(size_t (*how)(const char *, size_t, char *))
{
    static const char *const paths[] = {"/", "/api/item/1781", "/assets/app-3f2d1c4e5a69.js",
                                        "/users/8b1e7a52-9f3c-4d21-a6b0-3f2d1c4e5a69/orders",
                                        "/search?q=erlang&page=2"};
    const size_t n = sizeof paths / sizeof *paths, rounds = 1000000;
    char out[TEMPLATE_BYTES];
    size_t written = 0;
    uint64_t t0 = clock_cpu_ns();

    for (size_t i = 0; i < rounds; i++)
        written += how(paths[i % n], strlen(paths[i % n]), out);
    double ns = (double)(clock_cpu_ns() - t0) / (double)rounds;
    return written ? ns : 0;
}

int main(void)
{
    printf("path: %.0f ns, shape: %.0f ns (means of typical paths; at most 100)\n",
           one_name_ns(template_path), one_name_ns(template_shape));
    struct result of[KINDS][RUNS];
    for (int i = 0; i < RUNS;
         i++) /* in turn, so that other load on the machine affects all equally */
        for (int k = 0; k < KINDS; k++)
            of[k][i] = run((enum kind)k);
    for (int k = 0; k < KINDS; k++)
        qsort(of[k], RUNS, sizeof of[k][0], by_time);
    const struct result *atom = &of[ATOM][RUNS / 2], *one = &of[ONE_PATH][RUNS / 2],
                        *many = &of[MANY_PATHS][RUNS / 2];
    printf("a million requests, decode and aggregate: %.0f ns of CPU a request named by an atom, "
           "%.0f by one path, %.0f by a million paths (medians of %d; no slower than one path)\n",
           atom->ns, one->ns, many->ns, RUNS);
    printf("memory from the 10,000th request to the millionth: %zu KB more with one path, %zu KB "
           "with a million (as much)\n",
           one->grown >> 10, many->grown >> 10);
    return 0;
}
