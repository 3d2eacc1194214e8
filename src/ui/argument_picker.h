/* The screen of captured calls. On it the operator picks the part of the arguments that names
 * requests, and the identity rule is made from that part. Core thread only. */
#ifndef UI_ARGUMENT_PICKER_H
#define UI_ARGUMENT_PICKER_H

#include "screen.h"
#include "scroll.h"

#include <kprof/base/value_tree.h>

/* A capture, and the part of it that is selected. */
struct argument_picker_state {
    struct capture got; /* the struct owns got.set */
    uint16_t tier;
    uint32_t call;
    uint32_t how;     /* how the part names requests: bytes of a prefix, or RULE_... of rule.h */
    struct scroll at; /* among the nodes of the call */
};

extern const struct screen_ops screen_argument_picker;

/* takes over c->set */
void argument_picker_set(struct argument_picker_state *t, struct capture *c);
void argument_picker_release(struct argument_picker_state *t);

#endif
