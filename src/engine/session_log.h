/* What happened, for the log screen, and what is said at once. The oldest lines are overwritten.
 * Core thread. */
#ifndef KPROF_ENGINE_SESSION_LOG_H
#define KPROF_ENGINE_SESSION_LOG_H

#include "state.h"

void session_log_add(struct engine *g, const char *text);
void session_log_add_once(struct engine *g, const char *text); /* not when the last line says it */
void session_log_say(struct engine *g, const char *text, bool is_error); /* on the message line */

#endif
