#include <kprof/trace/stack_inbox.h>

#include <stdlib.h>
#include <string.h>

void stack_inbox_init(struct stack_inbox *q)
{
    memset(q, 0, sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
}

void stack_inbox_release(struct stack_inbox *q)
{
    struct stack_message *m;

    while ((m = stack_inbox_take(q)))
        stack_message_free(m);
    pthread_mutex_destroy(&q->lock);
}

void stack_inbox_put(struct stack_inbox *q, const void *bytes, size_t n,
                     const struct node_clock *clock)
{
    struct stack_message *m;
    size_t all = sizeof *m + n;

    pthread_mutex_lock(&q->lock);
    bool fits = all <= STACK_INBOX_BYTES - q->bytes;
    q->bytes += fits ? all : 0;
    q->dropped += !fits;
    pthread_mutex_unlock(&q->lock);
    if (!fits)
        return;
    m = malloc(all);
    if (!m)
        abort();
    m->next = NULL;
    m->clock = *clock;
    m->n = n;
    memcpy(m->bytes, bytes, n);
    pthread_mutex_lock(&q->lock);
    if (q->last)
        q->last->next = m;
    else
        q->first = m;
    q->last = m;
    pthread_mutex_unlock(&q->lock);
}

struct stack_message *stack_inbox_take(struct stack_inbox *q)
{
    pthread_mutex_lock(&q->lock);
    struct stack_message *m = q->first;
    if (m) {
        q->first = m->next;
        if (!q->first)
            q->last = NULL;
        q->bytes -= sizeof *m + m->n;
        m->next = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    return m;
}

void stack_message_free(struct stack_message *m)
{
    free(m);
}

uint64_t stack_inbox_dropped(struct stack_inbox *q)
{
    pthread_mutex_lock(&q->lock);
    uint64_t n = q->dropped;
    pthread_mutex_unlock(&q->lock);
    return n;
}
