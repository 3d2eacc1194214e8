/* The key that names requests by path(...) or shape(...), and undoes this. Core thread. */
#ifndef KPROF_ENGINE_IDENTITY_TEMPLATE_H
#define KPROF_ENGINE_IDENTITY_TEMPLATE_H

#include "state.h"

void identity_template_release(struct engine *g);

#endif
