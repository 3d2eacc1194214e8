/* Questions that wait for the control thread: for src/app/control*.c only.
 *
 * Invariant: at most CONTROL_ASKS wait, in the order they came; a trip of the breaker has a place
 * of its own, which is never full, and goes first. A completion that waits takes the newer text: a
 * person types faster than the node answers. Owns what waits; who takes one out ends it with
 * ask_free. Not locked: control's lock guards it. */
#ifndef KPROF_APP_CONTROL_QUEUE_H
#define KPROF_APP_CONTROL_QUEUE_H

#include <kprof/app/control.h>

#define CONTROL_ASKS 64

struct ask {
    enum control_ask what;
    uint16_t ix;
    uint64_t ticket;  /* of the answer */
    uint64_t session; /* the number of the one it is about; 0: whichever comes */
    char text[256];
    uint64_t pids[ASK_PIDS];
    size_t n;
    char *lines; /* of control_look; owned, or NULL */
};

struct ask_queue { /* zeros: empty */
    struct ask *ask[CONTROL_ASKS];
    size_t first, n;
    struct ask *trip;
};

struct ask *ask_new(enum control_ask what, uint16_t ix);
void ask_free(struct ask *a);

/* Takes a. False: no room, a stays the caller's. *ticket: that of the question it became part of.
 */
bool ask_queue_put(struct ask_queue *q, struct ask *a, uint64_t *ticket);
struct ask *ask_queue_take(struct ask_queue *q); /* NULL: none */
/* The first that is about a session, and so about none that comes later; NULL: none. */
struct ask *ask_queue_take_old(struct ask_queue *q);
bool ask_queue_any(const struct ask_queue *q);
void ask_queue_clear(struct ask_queue *q);

#endif
