/* The nodes that were used last: $XDG_STATE_HOME/kprof-top/nodes (else ~/.local/state/...), one
 * line for each: Unix time, node, and the address of --connect if there was one.
 *
 * Invariant: at most NODE_HISTORY_MAX lines, the newest first; no cookie. Only its owner can read
 * the file. A file that cannot be read or written is ignored without a message, because kprof-top
 * works without it. One thread. */
#ifndef KPROF_CLI_NODE_HISTORY_H
#define KPROF_CLI_NODE_HISTORY_H

#include <kprof/base/buf.h>
#include <kprof/core/node_choice.h>

#define NODE_HISTORY_MAX 20

/* Adds the nodes of the file to the list. */
void node_history_load(struct node_choices *out);
/* Writes the node as the newest one. connect: may be NULL. */
void node_history_note(const char *node, const char *connect, uint64_t now_s);

/* The same, for bytes in memory: reads at most NODE_HISTORY_MAX valid lines and ignores others. */
void node_history_read(struct node_choices *out, const char *text, size_t n_bytes);
/* Appends the new text of a file that had the nodes of `old`. */
void node_history_write(const struct node_choices *old, const struct node_choice *newest,
                        struct buf *out);

#endif
