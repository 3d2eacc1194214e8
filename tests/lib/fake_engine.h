/* An engine whose nodes are peers of the test (peers_open of fake_peer.h). For tests of what the
 * engine asks, and of what it makes of the answers.
 *
 * The test has the real control thread, but for how it opens a session:
 *     #define session_open peers_open
 *     #include "../../src/engine/control.c"
 *     #undef session_open
 * Invariant: the rest of the engine is the real one. There is one at a time. hear runs in the
 * threads of the peers; the hooks and all functions here in the test's. */
#ifndef KPROF_TESTS_FAKE_ENGINE_H
#define KPROF_TESTS_FAKE_ENGINE_H

#include "fake_peer.h"

#include <kprof/engine/engine.h>
#include <kprof/engine/settings.h>

/* As engine_new; NULL: an error. hear: of its nodes. most: their number of connections, see
 * peers_begin; 0: no node, for a replay. */
struct engine *fake_engine_new(const struct settings *s, const struct engine_hooks *hooks,
                               hear_fn *hear, unsigned most);
/* Connects it to the node n@h, as engine_attach: 0, or -1. */
int fake_engine_attach(struct engine *g);
/* Takes what has arrived, and sleeps for a moment. */
void fake_engine_turn(struct engine *g);
/* Ends the connection, if there is one, then the peers. */
void fake_engine_free(struct engine *g);

/* Polls the engine until `cond`; fails as PEERS_UNTIL. */
#define FAKE_ENGINE_UNTIL(g, cond) PEERS_UNTIL(fake_engine_turn(g), cond)

#endif
