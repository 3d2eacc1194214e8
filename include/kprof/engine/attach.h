/* What a session is told of us and of the settings: who we are, the node, its cookie, the lease.
 *
 * Invariant: the strings are the caller's, and must outlive the session. Stream, recorder, waking
 * and epoch are the caller's to add. Any thread. */
#ifndef KPROF_ENGINE_ATTACH_H
#define KPROF_ENGINE_ATTACH_H

#include <kprof/engine/settings.h>
#include <kprof/trace/session.h>

struct attach_who {
    char text[256]; /* user@host, pid N: a second kprof-top is told */
};

void attach_opts(const struct settings *s, const char *node, const char *cookie,
                 struct attach_who *who, struct session_opts *out);

#endif
