/* The receipt as the line that kprof-top prints at its end.
 *
 * Invariant: the line reports the node's answer as a sentence; an unknown word, which an agent of
 * another version may use, is printed unchanged. Pure; any thread. This unit does not print. */
#ifndef KPROF_APP_RECEIPT_H
#define KPROF_APP_RECEIPT_H

#include <kprof/base/buf.h>
#include <kprof/trace/session.h>

/* Appends the line, without "kprof-top: " and without the newline. */
void receipt_text(const char *node, const struct session_receipt *r, struct buf *out);

#endif
