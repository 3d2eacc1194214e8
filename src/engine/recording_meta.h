/* The meta frame of a recording: the facts about the session that a replay needs besides the
 * stream, as ETF: {meta, Node, Otp, StartNative, UnitsPerS, WallNs, Lean, HasIdentity, Entry|none,
 * Sample, [{Ix, Name, Mfa, Active}]}.
 *
 * Invariant: recording_meta_read survives any bytes and returns false for those it cannot read.
 * Pure; core thread. */
#ifndef KPROF_ENGINE_RECORDING_META_H
#define KPROF_ENGINE_RECORDING_META_H

#include <kprof/base/buf.h>
#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stdint.h>

struct recording_meta {
    char node[256], otp[16];
    int64_t start_native, units_per_s;
    uint64_t wall_ns;
    uint32_t sample;
    struct tierset tiers;
};

void recording_meta_write(const struct recording_meta *m, struct buf *out);
bool recording_meta_read(struct recording_meta *m, const void *bytes, size_t n);

#endif
