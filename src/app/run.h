/* The two ways to run: a screen, or batch. Both attach, run until told to stop, detach and print
 * the receipt.
 *
 * Return the exit status: 0 done, 1 a run-time failure (said on stderr), 2 wrong usage found late
 * (a rule that does not parse). Main thread. */
#ifndef KPROF_APP_RUN_H
#define KPROF_APP_RUN_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <stdbool.h>

struct target {                /* what to attach to */
    const char *node, *cookie; /* NULL node: replay of options' file */
};

int run_batch(const struct options *o, const struct target *t);
int run_live(const struct options *o, const struct target *t);

/* Reads --baseline, if there is one; before a screen is opened (it may take a while, and says so).
 */
int run_baseline(struct engine *g, const struct options *o, struct err *e);
int run_begin(struct engine *g, const struct options *o, const struct target *t, struct err *e);
void run_receipt(const struct target *t, const struct session_receipt *r);

#endif
