/* A recording file: any bytes as frames, and as a meta frame. */
#include <engine/recording_meta.h>
#include <kprof/base/ring.h>
#include <kprof/core/event.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stream.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct recording_meta m;
    struct err e;
    struct replay *r = replay_memory(data, n);
    struct intern *names = intern_new(1000, 1 << 16);
    struct ring *ring = ring_new(256, sizeof(struct event));
    struct stream *s = stream_new(ring, names);
    const uint8_t *bytes;
    uint64_t stamp, ref, sent;
    int64_t native, units;
    size_t len;
    char kind;
    struct etf rest;

    while (replay_next(r, &kind, &stamp, &bytes, &len, &e) == 1) {
        if (recording_meta_read(&m, bytes, len))
            stream_clock(s, m.start_native, m.units_per_s);
        replay_slow(bytes, len, &sent);
        if (replay_connection(bytes, len, &native, &units))
            stream_clock(s, native, units);
        if (replay_round_trip(bytes, len, &sent, &native))
            stream_round_trip(s, sent, native, stamp);
        stream_feed(s, bytes, len, stamp, &rest, &ref);
    }
    replay_close(r);
    stream_free(s);
    ring_free(ring);
    intern_free(names);
    return 0;
}
