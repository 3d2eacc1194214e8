/* The target's table of hazards: uses of the VM that can hurt it in some version, and whether this
 * VM is one of those. Form: src/agent/PROTOCOL.md, `hazards`.
 *
 * Invariant: the table is the agent's, nothing of it is known here; at most HAZARDS_MAX rows are
 * taken, texts are cut to fit and may hold any bytes. Blocks as agent_call_send; control thread, or
 * whoever alone uses the session. */
#ifndef KPROF_TRACE_HAZARD_H
#define KPROF_TRACE_HAZARD_H

#include <kprof/trace/session.h>

#define HAZARDS_MAX 64

struct hazard {
    char id[16];    /* as the agent names it: a1 */
    bool held;      /* this VM has it: that use is held back here */
    char text[240]; /* a sentence */
};

/* 0 with hazard[0..*n), or -1 with err. */
int hazard_ask(struct session *s, struct hazard hazard[HAZARDS_MAX], size_t *n, struct err *e);

#endif
