/* The requested configuration of the node, and sending it. Core thread. */
#ifndef KPROF_ENGINE_CONFIGURATION_H
#define KPROF_ENGINE_CONFIGURATION_H

#include "state.h"

void configuration_push(struct engine *g);   /* sends it to control and into the recording */
void configuration_record(struct engine *g); /* writes it into the recording */

#endif
