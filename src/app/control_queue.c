#include "control_queue.h"

#include <stdlib.h>
#include <string.h>

struct ask *ask_new(enum control_ask what, uint16_t ix)
{
    struct ask *a = calloc(1, sizeof *a);

    if (!a)
        abort();
    a->what = what;
    a->ix = ix;
    return a;
}

void ask_free(struct ask *a)
{
    if (!a)
        return;
    free(a->lines);
    free(a);
}

static struct ask **at(struct ask_queue *q, size_t i)
{
    return &q->ask[(q->first + i) % CONTROL_ASKS];
}

static struct ask *waiting_completion(struct ask_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        if ((*at(q, i))->what == CONTROL_COMPLETE)
            return *at(q, i);
    return NULL;
}

bool ask_queue_put(struct ask_queue *q, struct ask *a, uint64_t *ticket)
{
    struct ask *same = a->what == CONTROL_COMPLETE ? waiting_completion(q) : NULL;

    *ticket = a->ticket;
    if (same) {
        memcpy(same->text, a->text, sizeof same->text);
        same->session = a->session;
        *ticket = same->ticket;
        ask_free(a);
    } else if (a->what == CONTROL_TRIP) {
        ask_free(q->trip); /* once is enough */
        q->trip = a;
    } else if (q->n == CONTROL_ASKS) {
        return false;
    } else {
        *at(q, q->n++) = a;
    }
    return true;
}

static struct ask *take_trip(struct ask_queue *q)
{
    struct ask *a = q->trip;

    q->trip = NULL;
    return a;
}

struct ask *ask_queue_take(struct ask_queue *q)
{
    if (q->trip)
        return take_trip(q);
    if (!q->n)
        return NULL;
    struct ask *a = *at(q, 0);
    q->first = (q->first + 1) % CONTROL_ASKS;
    q->n--;
    return a;
}

struct ask *ask_queue_take_old(struct ask_queue *q)
{
    if (q->trip)
        return take_trip(q);
    for (size_t i = 0; i < q->n; i++) {
        struct ask *a = *at(q, i);
        if (!a->session)
            continue;
        for (size_t k = i + 1; k < q->n; k++)
            *at(q, k - 1) = *at(q, k);
        q->n--;
        return a;
    }
    return NULL;
}

bool ask_queue_any(const struct ask_queue *q)
{
    return q->trip || q->n;
}

void ask_queue_clear(struct ask_queue *q)
{
    struct ask *a;

    while ((a = ask_queue_take(q)))
        ask_free(a);
}
