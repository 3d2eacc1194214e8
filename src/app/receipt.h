/* The receipt as the line that is printed on leaving.
 *
 * Invariant: says what the node's answer says, in the operator's words; a word that an agent of
 * another version may use is passed on. Pure; any thread. Does not print. */
#ifndef KPROF_APP_RECEIPT_H
#define KPROF_APP_RECEIPT_H

#include <kprof/base/buf.h>
#include <kprof/trace/session.h>

/* Appends the line, without "kprof-top: " and without its end. */
void receipt_text(const char *node, const struct session_receipt *r, struct buf *out);

#endif
