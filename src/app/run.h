/* The two modes: with a screen, or as batch. Both attach, run until they are stopped, detach and
 * print the receipt.
 *
 * Both return the exit status: 0 done, 1 a run-time failure (reported on stderr), 2 wrong usage
 * that is detected late (a rule that does not parse). Main thread. */
#ifndef KPROF_APP_RUN_H
#define KPROF_APP_RUN_H

#include <kprof/cli/options.h>
#include <kprof/engine/engine.h>
#include <stdbool.h>

struct target {                /* the node to attach to */
    const char *node, *cookie; /* NULL node: replay the file in the options */
};

int run_batch(const struct options *o, const struct target *t);
int run_live(const struct options *o, const struct target *t);

/* Reads --baseline, if it is given. Must be called before a screen is opened, because reading may
 * take a while and shows its progress on stderr. */
int run_baseline(struct engine *g, const struct options *o, struct err *e);
int run_begin(struct engine *g, const struct options *o, const struct target *t, struct err *e);
void run_receipt(const struct target *t, const struct session_receipt *r);
/* Detaches, prints the receipt if the node was attached, and frees g; NULL is fine. */
void run_end(struct engine *g, const struct target *t);

#endif
