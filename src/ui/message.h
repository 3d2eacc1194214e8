/* The message above the key bar: one line that reports the last action, or why it failed.
 *
 * Invariant: there is at most one message; the next key clears it. Core thread only. */
#ifndef UI_MESSAGE_H
#define UI_MESSAGE_H

#include <kprof/ui/canvas.h>
#include <stdbool.h>
#include <stdint.h>

struct message {
    char text[512]; /* "": none */
    bool error;
    uint64_t since_ns; /* wall clock of the snapshot with which it was first drawn; 0: not yet */
};

void message_set(struct message *m, const char *text, bool error);     /* copied, cut */
bool message_draw(const struct message *m, struct canvas *c, int row); /* false: there is none */

#endif
