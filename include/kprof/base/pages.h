/* Memory for blocks of many sizes that come and go for hours: big ones are whole pages of their
 * own, given back to the system when freed, so that they leave no holes in the heap.
 *
 * Invariant: pages_free takes the size that pages_new was given. Contents are not zeroed by
 * contract. Aborts when there is no memory. Any thread. */
#ifndef KPROF_BASE_PAGES_H
#define KPROF_BASE_PAGES_H

#include <stddef.h>

void *pages_new(size_t bytes);          /* not 0 */
void pages_free(void *p, size_t bytes); /* NULL: nothing */

#endif
