/* A line on standard error for the operator.
 *
 * Invariant: the text may come from a node: control characters, which could be commands to the
 * terminal, are replaced. One line per call. Any thread. */
#ifndef KPROF_APP_NOTICE_H
#define KPROF_APP_NOTICE_H

/* Prints "kprof-top: TEXT". */
void notice(const char *text);
/* Prints "kprof-top: ABOUT: TEXT". */
void notice_about(const char *about, const char *text);

#endif
