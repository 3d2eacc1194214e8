/* The agent's beam files (two modules, made by src/agent/merge.escript) and the sample node's,
 * embedded as bytes by src/agent/embed.sh at build time.
 *
 * Invariant: the data is constant and has one element per beam, in the order of the build's command
 * line; `module` is the file's name without ".beam" (kprof_agent_00, kprof_sample). Any thread.
 * Renaming to a slot works on a copy and is part of agent.h. */
#ifndef KPROF_TRACE_AGENT_BLOB_H
#define KPROF_TRACE_AGENT_BLOB_H

#include <stddef.h>

struct agent_blob {
    const char *module;
    const unsigned char *bytes;
    size_t len;
};

extern const struct agent_blob agent_blobs[];
extern const size_t agent_blob_count;

#endif
