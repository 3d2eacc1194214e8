/* What the control thread does for one question; for src/engine/control*.c only.
 *
 * Invariant: every question has an answer, and only one: what was asked for, or `failed` with a
 * sentence why. A trip and the end of a capture have none when all is well (RESULT_NONE). */
#ifndef KPROF_ENGINE_CONTROL_ANSWER_H
#define KPROF_ENGINE_CONTROL_ANSWER_H

#include "control_queue.h"

struct result *result_new(enum result_kind kind);
/* Asks the node; blocks. */
struct result *control_answer(struct session *s, const struct control_job *a);
/* The answer to a question that nobody asked of the node. */
struct result *control_refuse(const struct control_job *a, const char *why);

#endif
