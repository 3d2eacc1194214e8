/* The queue of requests for the control thread: for control*.c only.
 *
 * Invariant: at most CONTROL_ASKS requests are queued, in order of arrival; a trip of the breaker
 * has a separate slot, which is never full, and is sent first. A completion in the queue takes the
 * newer text, because the user may type faster than the node answers. The queue owns its requests;
 * a caller that takes one out frees it with control_job_free. The lock of control protects the
 * queue. */
#ifndef KPROF_ENGINE_CONTROL_QUEUE_H
#define KPROF_ENGINE_CONTROL_QUEUE_H

#include "control.h"

#define CONTROL_ASKS 64

struct control_job {
    enum control_ask what;
    uint16_t ix;
    uint64_t question_id; /* question_id of the answer */
    uint64_t session;     /* number of the session of the request; 0: the next session */
    char text[256];
    uint64_t pids[AGENT_REQUEST_PIDS];
    size_t n;
    char *lines;                      /* the lines of control_code_query; owned, or NULL */
    struct stack_request stacks;      /* of CONTROL_STACKS */
    struct process_request processes; /* of CONTROL_PROCESSES */
    struct full_request *full;        /* of CONTROL_FULL; owned, or NULL */
};

struct control_queue { /* zeros: empty */
    struct control_job *job[CONTROL_ASKS];
    size_t first, n;
    struct control_job *trip;
};

struct control_job *control_job_new(enum control_ask what, uint16_t ix);
void control_job_free(struct control_job *a);

/* Takes ownership of a. False: the queue is full, and the caller still owns a. *question_id: number
 * of a, or of the queued request that took the text of a. */
bool control_queue_put(struct control_queue *q, struct control_job *a, uint64_t *question_id);
struct control_job *control_queue_take(struct control_queue *q); /* NULL: none */
/* Takes the trip, or the first request that belongs to a session: a later session must not answer
 * it. Other requests stay. NULL: none. */
struct control_job *control_queue_take_old(struct control_queue *q);
bool control_queue_any(const struct control_queue *q);
void control_queue_clear(struct control_queue *q);

#endif
