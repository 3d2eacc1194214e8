/* The node's table of hazards: faults and limits of some VM versions, and whether the agent avoids
 * them on this VM. src/agent/PROTOCOL.md, `hazards`, describes the form.
 *
 * Invariant: the table belongs to the agent; this unit does not depend on its rows. At most
 * HAZARDS_MAX rows are read; texts are cut to fit and may contain any bytes. Blocks like
 * agent_call_send. For the control thread, or for the only thread that uses the session. */
#ifndef KPROF_TRACE_HAZARD_H
#define KPROF_TRACE_HAZARD_H

#include <kprof/trace/session.h>

#define HAZARDS_MAX 64

struct hazard {
    char id[16];  /* the agent's name of the hazard, for example a1 */
    bool avoided; /* the agent takes a precaution; false: it does not apply to this VM at present */
    char text[240]; /* a sentence: what the agent does, or does not do, because of it */
};

/* 0 with hazard[0..*n), or -1 with err. */
int hazard_ask(struct session *s, struct hazard hazard[HAZARDS_MAX], size_t *n, struct err *e);

#endif
