/* Answers one request in the control thread; for src/engine/control*.c only.
 *
 * Invariant: every request has at most one answer: the result, or `failed` with a sentence that
 * says why. Some requests, such as a trip, have no answer when they succeed (RESULT_NONE). */
#ifndef KPROF_ENGINE_CONTROL_ANSWER_H
#define KPROF_ENGINE_CONTROL_ANSWER_H

#include "control_queue.h"

struct result *result_new(enum result_kind kind);
/* Asks the node; blocks. */
struct result *control_answer(struct session *s, const struct control_job *a);
/* Makes the failure answer to a request that was not sent to the node. */
struct result *control_refuse(const struct control_job *a, const char *why);

#endif
