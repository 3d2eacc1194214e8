#include <kprof/core/slow_trace.h>

#include <stdlib.h>

const struct slow_trace_request *slow_trace_ref(const struct slow_trace_request *r)
{
    atomic_fetch_add_explicit(&((struct slow_trace_request *)(uintptr_t)r)->refs, 1,
                              memory_order_relaxed);
    return r;
}

void slow_trace_unref(const struct slow_trace_request *r)
{
    struct slow_trace_request *own = (struct slow_trace_request *)(uintptr_t)r;

    if (own && atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        free(own);
}
