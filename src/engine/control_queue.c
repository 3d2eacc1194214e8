#include "control_queue.h"

#include <stdlib.h>
#include <string.h>

struct control_job *control_job_new(enum control_ask what, uint16_t ix)
{
    struct control_job *a = calloc(1, sizeof *a);

    if (!a)
        abort();
    a->what = what;
    a->ix = ix;
    return a;
}

void control_job_free(struct control_job *a)
{
    if (!a)
        return;
    free(a->lines);
    free(a->full);
    free(a);
}

static struct control_job **at(struct control_queue *q, size_t i)
{
    return &q->job[(q->first + i) % CONTROL_ASKS];
}

static struct control_job *waiting_completion(struct control_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        if ((*at(q, i))->what == CONTROL_COMPLETE)
            return *at(q, i);
    return NULL;
}

bool control_queue_put(struct control_queue *q, struct control_job *a, uint64_t *question_id)
{
    struct control_job *same = a->what == CONTROL_COMPLETE ? waiting_completion(q) : NULL;

    *question_id = a->question_id;
    if (same) {
        memcpy(same->text, a->text, sizeof same->text);
        same->session = a->session;
        *question_id = same->question_id;
        control_job_free(a);
    } else if (a->what == CONTROL_TRIP) {
        control_job_free(q->trip); /* one is enough */
        q->trip = a;
    } else if (q->n == CONTROL_ASKS) {
        return false;
    } else {
        *at(q, q->n++) = a;
    }
    return true;
}

static struct control_job *take_trip(struct control_queue *q)
{
    struct control_job *a = q->trip;

    q->trip = NULL;
    return a;
}

struct control_job *control_queue_take(struct control_queue *q)
{
    if (q->trip)
        return take_trip(q);
    if (!q->n)
        return NULL;
    struct control_job *a = *at(q, 0);
    q->first = (q->first + 1) % CONTROL_ASKS;
    q->n--;
    return a;
}

struct control_job *control_queue_take_old(struct control_queue *q)
{
    if (q->trip)
        return take_trip(q);
    for (size_t i = 0; i < q->n; i++) {
        struct control_job *a = *at(q, i);
        if (!a->session)
            continue;
        for (size_t k = i + 1; k < q->n; k++)
            *at(q, k - 1) = *at(q, k);
        q->n--;
        return a;
    }
    return NULL;
}

bool control_queue_any(const struct control_queue *q)
{
    return q->trip || q->n;
}

void control_queue_clear(struct control_queue *q)
{
    struct control_job *a;

    while ((a = control_queue_take(q)))
        control_job_free(a);
}
