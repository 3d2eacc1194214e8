/* The prompt for a preset of one module: completes the module from the catalog.
 *
 * Invariant: only modules that declare the preset's behaviour (or Elixir's of the same kind) are
 * proposed, those of the node's own applications first. Does not load the catalog: while it is not
 * loaded, there are no completions. */
#ifndef UI_MODULE_PROMPT_H
#define UI_MODULE_PROMPT_H

#include "prompt.h"

#include <kprof/core/catalog.h>

/* The text of the prompt is "gen_server:" and the beginning of a module. c may be NULL. */
void module_prompt_complete(struct prompt *p, const struct catalog *c);

#endif
