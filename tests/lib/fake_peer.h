/* A session whose node is a thread of the test: it receives what the session sends, and sends the
 * answers that the test chooses. For tests of src/trace and of the layers above. Invariant: nothing
 * leaves the process; from its socket on, the session is real. hear runs in the peer's thread, the
 * other functions in the test's. */
#ifndef KPROF_TESTS_FAKE_PEER_H
#define KPROF_TESTS_FAKE_PEER_H

#include <kprof/base/buf.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/session.h>

struct peer;

struct heard {
    bool rpc; /* {call, M, F, Args, user}; false: a request to the agent */
    uint64_t ref;
    struct etf what; /* the call, or the request */
};

/* Called for each message. True: `out`, a term without version byte, is the answer. */
typedef bool hear_fn(void *arg, struct peer *p, const struct heard *h, struct buf *out);

struct peer *peer_new(hear_fn *hear, void *arg);
struct session *peer_session(struct peer *p); /* session_close ends it, or the end of the peer */
/* A message to the session's process: a term without version byte. Any thread. */
void peer_send(struct peer *p, const struct buf *term);
/* Sends an answer, at any time. */
void peer_answer(struct peer *p, bool rpc, uint64_t ref, const struct buf *answer);
void peer_hang_up(struct peer *p);
/* closed: session_close has ended the session already. */
void peer_free(struct peer *p, bool closed);

#endif
