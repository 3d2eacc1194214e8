/* The screen of captured calls, on which the part that names requests is picked: the identity rule
 * is made of it. Core thread only. */
#ifndef UI_ARGUMENT_PICKER_H
#define UI_ARGUMENT_PICKER_H

#include "screen.h"
#include "scroll.h"

#include <kprof/base/value_tree.h>

/* A capture, and where in it the operator points. */
struct argument_picker_state {
    struct capture got; /* got.set is ours */
    uint16_t tier;
    uint32_t call;
    uint32_t how;     /* the part names requests: bytes of a prefix, or RULE_... of rule.h */
    struct scroll at; /* among the nodes of the call */
};

extern const struct screen_ops screen_argument_picker;

void argument_picker_set(struct argument_picker_state *t, struct capture *c); /* takes c->set */
void argument_picker_release(struct argument_picker_state *t);

#endif
