#include <kprof/core/stack_profile.h>

#include <assert.h>
#include <string.h>

static const char *const METRIC[STACK_METRICS] = {
    [STACK_REDUCTIONS] = "reductions",
    [STACK_MESSAGE_QUEUE_LEN] = "message_queue_len",
    [STACK_MEMORY] = "memory",
    [STACK_TOTAL_HEAP_SIZE] = "total_heap_size",
    [STACK_OLD_HEAP_BLOCK_SIZE] = "old_heap_block_size",
    [STACK_HEAP_BLOCK_SIZE] = "heap_block_size",
    [STACK_MBUF_SIZE] = "mbuf_size",
    [STACK_RECENT_SIZE] = "recent_size",
    [STACK_STACK_SIZE] = "stack_size",
    [STACK_OLD_HEAP_SIZE] = "old_heap_size",
    [STACK_HEAP_SIZE] = "heap_size",
    [STACK_BIN_VHEAP_SIZE] = "bin_vheap_size",
    [STACK_BIN_VHEAP_BLOCK_SIZE] = "bin_vheap_block_size",
    [STACK_BIN_OLD_VHEAP_SIZE] = "bin_old_vheap_size",
    [STACK_BIN_OLD_VHEAP_BLOCK_SIZE] = "bin_old_vheap_block_size",
    [STACK_MINOR_GCS] = "minor_gcs",
};

static const char *const STATUS[STACK_STATUSES] = {
    [STACK_STATUS_NONE] = "",
    [STACK_RUNNING] = "running",
    [STACK_RUNNABLE] = "runnable",
    [STACK_WAITING] = "waiting",
    [STACK_GARBAGE_COLLECTING] = "garbage_collecting",
    [STACK_SUSPENDED] = "suspended",
    [STACK_EXITING] = "exiting",
};

/* The index of the word; `words` if it is not one of them. */
static unsigned word_of(const char *const *word, unsigned words, const char *s, size_t n)
{
    unsigned i = 0;
    while (i < words && (strlen(word[i]) != n || memcmp(word[i], s, n) != 0))
        i++;
    return i;
}

const char *stack_metric_name(enum stack_metric m)
{
    assert(m < STACK_METRICS);
    return METRIC[m];
}

enum stack_metric stack_metric_parse(const char *name, size_t n)
{
    return (enum stack_metric)word_of(METRIC, STACK_METRICS, name, n);
}

const char *stack_status_name(enum stack_status s)
{
    assert(s < STACK_STATUSES);
    return STATUS[s];
}

enum stack_status stack_status_parse(const char *name, size_t n)
{
    unsigned s = word_of(STATUS, STACK_STATUSES, name, n);
    return s < STACK_STATUSES ? (enum stack_status)s : STACK_STATUS_NONE;
}
