/* Questions about the static calls between functions. For suggest*.c only. Pure. */
#ifndef KPROF_CLI_SUGGEST_CALLS_H
#define KPROF_CLI_SUGGEST_CALLS_H

#include <kprof/cli/suggest.h>

/* Whether `from` calls `to`, directly or through other functions; also for from == to. */
bool suggest_calls_leads(const struct suggest_calls *k, uint32_t from, uint32_t to);

#endif
