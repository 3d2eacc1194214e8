/* A recording, read to its end at full speed.
 *
 * Blocks while the file is read, and shows the progress. Main thread. */
#ifndef KPROF_APP_WHOLE_REPLAY_H
#define KPROF_APP_WHOLE_REPLAY_H

#include <kprof/base/err.h>
#include <kprof/engine/engine.h>

/* history: also stores the history and the stack samples. NULL with err: it cannot be read, or
 * reading was stopped. A recording that is incomplete is reported on stderr. The caller frees the
 * engine. */
struct engine *whole_replay(const char *path, bool history, struct err *e);

#endif
