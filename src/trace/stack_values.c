#include "stack_values.h"

#include <string.h>

#define WORD_BYTES 8
#define MOST       INT64_MAX / 4 /* maximum of a metric, so that sums and differences do not overflow */

/* The metrics of a sample in a message, in their order. */
static const enum stack_metric order[] = {
    STACK_REDUCTIONS,
    STACK_MESSAGE_QUEUE_LEN,
    STACK_OLD_HEAP_BLOCK_SIZE,
    STACK_HEAP_BLOCK_SIZE,
    STACK_MBUF_SIZE,
    STACK_RECENT_SIZE,
    STACK_STACK_SIZE,
    STACK_OLD_HEAP_SIZE,
    STACK_HEAP_SIZE,
    STACK_BIN_VHEAP_SIZE,
    STACK_BIN_VHEAP_BLOCK_SIZE,
    STACK_BIN_OLD_VHEAP_SIZE,
    STACK_BIN_OLD_VHEAP_BLOCK_SIZE,
    STACK_MINOR_GCS,
};
#define METRICS (sizeof order / sizeof *order)

static bool read(struct etf *c, struct stack_metrics *m)
{
    uint32_t n;

    if (!etf_tuple(c, &n) || n > METRICS)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t v;
        if (!etf_i64(c, &v) || v > MOST)
            return false;
        if (v < 0)
            continue; /* not requested */
        m->value[order[i]] = v;
        m->known |= 1u << order[i];
    }
    return true;
}

/* The agent does not read these two, because the VM would walk the message queue. */
static void derive(struct stack_metrics *m)
{
    const uint32_t of =
        1u << STACK_OLD_HEAP_BLOCK_SIZE | 1u << STACK_HEAP_BLOCK_SIZE | 1u << STACK_MBUF_SIZE;

    if ((m->known & of) != of)
        return;
    int64_t words = m->value[STACK_OLD_HEAP_BLOCK_SIZE] + m->value[STACK_HEAP_BLOCK_SIZE] +
                    m->value[STACK_MBUF_SIZE];
    if (words > MOST / WORD_BYTES)
        return;
    m->value[STACK_TOTAL_HEAP_SIZE] = words;
    m->value[STACK_MEMORY] = words * WORD_BYTES;
    m->known |= 1u << STACK_TOTAL_HEAP_SIZE | 1u << STACK_MEMORY;
}

bool stack_values_read(struct etf *c, struct stack_metrics *m)
{
    memset(m, 0, sizeof *m);
    if (!read(c, m))
        return false;
    derive(m);
    return true;
}

void stack_values_changes(struct stack_values_last *p, struct stack_metrics *m)
{
    for (unsigned i = 0; i < STACK_METRICS; i++) {
        uint32_t bit = 1u << i;
        m->delta[i] = 0;
        if (!(m->known & bit))
            continue;
        if (p->known & bit)
            m->delta[i] = m->value[i] - p->value[i];
        p->value[i] = m->value[i];
    }
    p->known |= m->known;
}
