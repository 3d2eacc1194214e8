/* Answers requests about code in the control thread; for src/engine/control_answer.c only. */
#ifndef KPROF_ENGINE_CONTROL_CODE_QUERY_H
#define KPROF_ENGINE_CONTROL_CODE_QUERY_H

#include "control.h"

/* Fills r; -1: err. */
int control_code_query_answer(struct session *s, enum control_ask what, const char *lines,
                              struct result *r, struct err *e);

#endif
