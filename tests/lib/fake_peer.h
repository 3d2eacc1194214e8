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

/* It is this request to the agent: the atom, or a tuple that begins with it. rest: what follows in
 * the tuple; may be NULL. */
bool heard_is(const struct heard *h, const char *request, struct etf *rest);

/* Called for each message. True: `out`, a term without version byte, is the answer. */
typedef bool hear_fn(void *arg, struct peer *p, const struct heard *h, struct buf *out);

struct peer *peer_new(hear_fn *hear, void *arg);
struct session *peer_session(struct peer *p); /* session_close ends it, or the end of the peer */
/* A message to the session's process: a term without version byte. Any thread. */
void peer_send(struct peer *p, const struct buf *term);
/* Sends an answer, at any time. */
void peer_answer(struct peer *p, bool rpc, uint64_t ref, const struct buf *answer);
/* {error, Kind, Text} as the answer of the agent. */
void peer_error(struct buf *out, const char *kind, const char *text);
void peer_hang_up(struct peer *p);
/* closed: session_close has ended the session already. */
void peer_free(struct peer *p, bool closed);

/* ---- the nodes of a program that opens its sessions itself ----
 *
 * The program has peers_open in the place of session_open: a test includes the source with
 *     #define session_open peers_open
 * Each call makes one more peer, a new connection to the node. There is one set of peers at a time.
 * peers_open runs in the thread of the program; hear in that of its peer, with a NULL arg; the
 * other functions in the test's. */
#define PEERS_MAX 40

/* No peer is open. After `most` of them (up to PEERS_MAX), peers_open fails. */
void peers_begin(hear_fn *hear, unsigned most);
struct session *peers_open(const struct session_opts *o, struct session_info *info, struct err *e);
unsigned peers_opened(void); /* their number, also those that have hung up */
struct peer *peers_at(unsigned i);
void peers_end(void); /* after the program has closed its sessions; frees the peers */

/* Does `step`, which sleeps for a moment, until `cond`, which another thread makes true. After a
 * minute the test fails, at the line of PEERS_UNTIL. */
#define PEERS_UNTIL(step, cond)                                                                    \
    for (uint64_t late_ns_ = peers_late_ns(); !(cond);                                             \
         peers_not_late(late_ns_, #cond, __FILE__, __LINE__))                                      \
    step

/* Only for PEERS_UNTIL. */
uint64_t peers_late_ns(void);
void peers_not_late(uint64_t late_ns, const char *cond, const char *file, int line);

#endif
