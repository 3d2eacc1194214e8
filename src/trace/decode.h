/* Decodes trace messages (the elements of a batch) into event records.
 *
 * Invariant: the decoder reads only inside the cursor. An unknown message leaves the cursor after
 * the message and gives DECODE_SKIP; malformed bytes give DECODE_BAD, and the rest of the batch is
 * lost. Names are interned by their encoded bytes, so a name is turned into text once; the text
 * from which a template makes a name is not stored. Identities may have any number of names, and
 * those of one rule never fill the table: functions and the names of later rules have room. One
 * thread. Hot path: allocates nothing once names are known. */
#ifndef KPROF_TRACE_DECODE_H
#define KPROF_TRACE_DECODE_H

#include <kprof/base/buf.h>
#include <kprof/base/intern.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/event.h>
#include <kprof/erl/etf.h>
#include <kprof/trace/node_clock.h>

#define DECODE_IDENT_BYTES 128 /* length of an identity as text; the rest is cut */

struct decoder {
    struct intern *names; /* text by id; borrowed */
    struct intern *raw;   /* encoded bytes -> raw id */
    uint32_t *text_of[2]; /* raw id -> name id, as a function and as an identity: the same bytes
                             have two names */
    struct buf shaped;    /* a name that a template makes, until it is interned */
    /* where arguments are stored; NULL: they are not stored. Borrowed */
    struct text_ring *text_ring;
    uint32_t tier_fn[EVENT_TIERS];
    uint32_t leave_ids; /* room in names that identities must leave */
    size_t leave_bytes;
    uint32_t fn_ids; /* the part of it that is for functions, also under later rules */
    size_t fn_bytes;
    struct node_clock clock;
};

enum decode_result { DECODE_EVENT, DECODE_SKIP, DECODE_BAD };

void decoder_init(struct decoder *d, struct intern *names);
void decoder_release(struct decoder *d);
/* Another rule makes the identities from now on: it gets half of the room that is left for
 * identities. In a replay, each change of the configuration counts as another rule. */
void decoder_new_rule(struct decoder *d);
/* Fills *ev except weight. */
enum decode_result decode_message(struct decoder *d, struct etf *c, struct event *ev);
/* The same for a message about the scheduling of a process. */
enum decode_result decode_scheduling(struct decoder *d, struct etf *c, struct event *ev);

/* The same for an event of the VM. */
enum decode_result decode_vm_event(struct decoder *d, struct etf *c, struct event *ev);

#endif
