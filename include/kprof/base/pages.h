/* Memory for blocks of many sizes that are allocated and freed for hours. A big block consists of
 * whole pages of its own, which return to the system when the block is freed, so big blocks leave
 * no holes in the heap.
 *
 * Invariant: the caller passes to pages_free the size that it passed to pages_new. Do not rely on
 * zeroed contents. Aborts when memory runs out. Any thread. */
#ifndef KPROF_BASE_PAGES_H
#define KPROF_BASE_PAGES_H

#include <stddef.h>

void *pages_new(size_t bytes);          /* not 0 */
void pages_free(void *p, size_t bytes); /* NULL: does nothing */

#endif
