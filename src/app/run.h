/* The two modes: with a screen, or as batch. Both attach, run until they are stopped, detach and
 * print the receipt.
 *
 * A target without a node (NULL) means: replay the file in the options. Both return the exit
 * status: 0 done, 1 a run-time failure (reported on stderr), 2 wrong usage that is detected late (a
 * rule that does not parse), 3 an --assert does not hold (batch). Main thread. */
#ifndef KPROF_APP_RUN_H
#define KPROF_APP_RUN_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <kprof/erl/conn.h>
#include <stdbool.h>

int run_batch(const struct options *o, const struct conn_target *t);
int run_live(const struct options *o, const struct conn_target *t);

/* Reads --baseline, if it is given. Must be called before a screen is opened, because reading may
 * take a while and shows its progress on stderr. */
int run_baseline(struct engine *g, const struct options *o, struct err *e);
int run_begin(struct engine *g, const struct options *o, const struct conn_target *t,
              struct err *e);
/* Prints how to forward a port to a node that was not reached. Nothing if --connect was given. */
void run_hint(const struct conn_target *t, uint16_t port);
void run_receipt(const struct conn_target *t, const struct session_receipt *r);
/* Detaches, prints the receipt if the node was attached, or the hint if it was not reached, and
 * frees g; NULL is fine. -1: a file of the run is incomplete (reported). */
int run_end(struct engine *g, const struct conn_target *t);

#endif
