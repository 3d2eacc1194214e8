/* The meta frame of a recording: what a replay must know of the session besides the stream, as ETF:
 * {meta, Node, Otp, StartNative, UnitsPerS, WallNs, Lean, HasIdentity, Entry|none, Sample, [{Ix,
 * Name, Mfa, Active}]}.
 *
 * Invariant: meta_read survives any bytes (false). Pure; core thread. */
#ifndef KPROF_APP_META_H
#define KPROF_APP_META_H

#include <kprof/base/buf.h>
#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stdint.h>

struct meta {
    char node[256], otp[16];
    int64_t start_native, units_per_s;
    uint64_t wall_ns;
    uint32_t sample;
    struct tierset tiers;
};

void meta_write(const struct meta *m, struct buf *out);
bool meta_read(struct meta *m, const void *bytes, size_t n);

#endif
