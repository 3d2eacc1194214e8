/* A recording as the source, at any speed. Core thread. */
#ifndef KPROF_ENGINE_REPLAYING_H
#define KPROF_ENGINE_REPLAYING_H

#include "state.h"

void replaying_pump(struct engine *g);   /* feeds the next frames */
void replaying_toggle(struct engine *g); /* pauses or resumes the replay */
void replaying_faster(struct engine *g, bool faster);
uint64_t replaying_elapsed_ns(const struct engine *g); /* time of the recording so far */

#endif
