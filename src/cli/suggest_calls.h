/* Questions about the static calls between functions. For suggest*.c only. Pure. */
#ifndef KPROF_CLI_SUGGEST_CALLS_H
#define KPROF_CLI_SUGGEST_CALLS_H

#include <kprof/cli/suggest.h>

enum { SUGGEST_REACHED = 256 };

/* Stores the functions that `from` calls, directly or through other functions, each once; `from` is
 * one of them if it calls itself. Returns how many; beyond SUGGEST_REACHED they are left out. */
size_t suggest_calls_reach(const struct suggest_calls *k, uint32_t from,
                           uint32_t to[SUGGEST_REACHED]);

#endif
