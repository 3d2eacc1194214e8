/* The options of a session: the name and number of this kprof-top, the node, its cookie, the lease.
 *
 * Invariant: the caller owns the strings, which must outlive the session. The caller adds stream,
 * recorder, wake function and epoch. Any thread. */
#ifndef KPROF_ENGINE_ATTACH_H
#define KPROF_ENGINE_ATTACH_H

#include <kprof/engine/settings.h>
#include <kprof/trace/session.h>

struct attach_who {
    char text[256]; /* user@host, pid N: a second kprof-top shows this text */
};

/* Each call makes another random number, so it must be called once for all connections. */
void attach_opts(const struct settings *s, const struct conn_target *to, struct attach_who *who,
                 struct session_opts *out);

#endif
