/* Questions that wait for the control thread: for control*.c only.
 *
 * Invariant: at most CONTROL_ASKS wait, in the order they came; a trip of the breaker has a place
 * of its own, which is never full, and goes first. A completion that waits takes the newer text: a
 * person types faster than the node answers. Owns what waits; who takes one out ends it with
 * control_job_free. Not locked: control's lock guards it. */
#ifndef KPROF_ENGINE_CONTROL_QUEUE_H
#define KPROF_ENGINE_CONTROL_QUEUE_H

#include "control.h"

#define CONTROL_ASKS 64

struct control_job {
    enum control_ask what;
    uint16_t ix;
    uint64_t question_id; /* of the answer */
    uint64_t session;     /* the number of the one it is about; 0: whichever comes */
    char text[256];
    uint64_t pids[AGENT_REQUEST_PIDS];
    size_t n;
    char *lines; /* of control_code_query; owned, or NULL */
};

struct control_queue { /* zeros: empty */
    struct control_job *job[CONTROL_ASKS];
    size_t first, n;
    struct control_job *trip;
};

struct control_job *control_job_new(enum control_ask what, uint16_t ix);
void control_job_free(struct control_job *a);

/* Takes a. False: no room, a stays the caller's. *question_id: that of the question it became part
 * of.
 */
bool control_queue_put(struct control_queue *q, struct control_job *a, uint64_t *question_id);
struct control_job *control_queue_take(struct control_queue *q); /* NULL: none */
/* The first that is about a session, and so about none that comes later; NULL: none. */
struct control_job *control_queue_take_old(struct control_queue *q);
bool control_queue_any(const struct control_queue *q);
void control_queue_clear(struct control_queue *q);

#endif
