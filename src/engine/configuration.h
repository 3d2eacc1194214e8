/* What is wanted of the node, and how it gets there. Core thread. */
#ifndef KPROF_ENGINE_CONFIGURATION_H
#define KPROF_ENGINE_CONFIGURATION_H

#include "state.h"

void configuration_push(struct engine *g);   /* to control, and into the recording */
void configuration_record(struct engine *g); /* into the recording */

#endif
