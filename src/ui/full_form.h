/* The dialog before a full trace, a screen of its own: what is traced, and the limits, each with a
 * default and a few choices.
 *
 * Invariant: it sends nothing to a node; Enter makes an intent (INTENT_FULL). Core thread only. */
#ifndef UI_FULL_FORM_H
#define UI_FULL_FORM_H

#include "full_offer.h"
#include "screen.h"

#include <kprof/core/full_trace.h>

enum full_field {
    FULL_FIELD_WHAT,
    FULL_FIELD_SLOWER,
    FULL_FIELD_CONDITION,
    FULL_FIELD_CALLS,
    FULL_FIELD_EVENTS,
    FULL_FIELD_TIME,
    FULL_FIELDS
};

struct full_form {
    struct full_ask ask; /* as it is now */
    bool there;          /* something was offered */
    bool request;
    uint64_t pid;
    char ident[FULL_IDENT_BYTES], tier_name[80];
    bool no_name; /* the identity has a name that the node does not compute */
    uint64_t slow_ns[FULL_SLOW_CHOICES + 1];
    size_t n_slow;
    unsigned field;
    int first_row; /* of the last draw; 0: none */
};

extern const struct screen_ops screen_full_ask;

void full_form_condition(struct full_form *f, const char *text);

#endif
