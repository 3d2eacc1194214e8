/* The lines of the log screen, and messages that are shown at once. New lines overwrite the oldest
 * ones. Core thread. */
#ifndef KPROF_ENGINE_SESSION_LOG_H
#define KPROF_ENGINE_SESSION_LOG_H

#include "state.h"

void session_log_add(struct engine *g, const char *text);
/* not if the last line has the same text */
void session_log_add_once(struct engine *g, const char *text);
/* shows text on the message line */
void session_log_say(struct engine *g, const char *text, bool is_error);
/* Adds text to the log, and shows it on the message line or, without a screen, on stderr. */
void session_log_warn(struct engine *g, const char *text);
/* The same for a file of this run that is incomplete: engine_free then returns -1. */
void session_log_trouble(struct engine *g, const char *text);

#endif
