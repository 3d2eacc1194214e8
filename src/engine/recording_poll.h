/* A poll of a process as a frame of a recording: one frame for each poll.
 *
 * Invariant: recording_poll_read survives any bytes, and what it accepts is a valid poll: its place
 * ends with 0, its status is one of a stack sample. Pure; any thread. */
#ifndef KPROF_ENGINE_RECORDING_POLL_H
#define KPROF_ENGINE_RECORDING_POLL_H

#include <kprof/base/buf.h>
#include <kprof/core/core.h>
#include <stdbool.h>
#include <stddef.h>

void recording_poll_write(const struct core_poll *p, struct buf *out);
bool recording_poll_read(struct core_poll *p, const void *bytes, size_t n); /* false: malformed */

#endif
