/* Terms of the agent's messages, in the external term format. */
#ifndef KPROF_TESTS_AGENT_TERMS_H
#define KPROF_TESTS_AGENT_TERMS_H

#include <kprof/base/buf.h>
#include <stdint.h>

/* <0.id.serial> of the node, creation 9. */
void agent_pid(struct buf *b, const char *node, uint32_t id, uint32_t serial);
void agent_mfa(struct buf *b, const char *module, const char *function, int arity);

#endif
