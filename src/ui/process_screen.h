/* The screen of the node's processes: the table as the node ranks it, or sums by initial call or
 * application; under it, on request, the selected process with its open calls and its stack.
 *
 * Invariant: the selected process or group stays selected while its place changes. While it is not
 * in the list, no line is marked, and a key about a process does not act on another one. The state
 * owns the table. Core thread only. */
#ifndef UI_PROCESS_SCREEN_H
#define UI_PROCESS_SCREEN_H

#include "process_state.h"
#include "screen.h"

extern const struct screen_ops screen_processes;

void process_screen_release(struct process_state *t);
/* Takes over table, or NULL: `why` is the reason. */
void process_screen_set(struct process_state *t, struct process_table *table, const char *why);
/* A stack of another pid than the last requested one is dropped. */
void process_screen_set_stack(struct process_state *t, uint64_t pid, const char *lines, bool dead);
/* The request for the node. */
void process_screen_order(const struct process_state *t, struct process_order *o);
/* The filter was typed: if it hides the selected process, the first line is selected. */
void process_screen_filtered(struct process_state *t);
/* An item of the menu of columns was picked. */
void process_screen_sort(struct process_state *t, size_t item);

#endif
