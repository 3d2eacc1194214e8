/* Allocates blocks of many sizes in a process that runs for hours. A large block consists of whole
 * pages, which return to the system when the block is freed, so large blocks do not fragment the
 * heap.
 *
 * Invariant: the caller passes to pages_free the size that it passed to pages_new. Do not rely on
 * zeroed contents. Aborts when memory runs out. Any thread. */
#ifndef KPROF_BASE_PAGES_H
#define KPROF_BASE_PAGES_H

#include <stddef.h>

void *pages_new(size_t bytes);          /* not 0 */
void pages_free(void *p, size_t bytes); /* NULL: does nothing */

#endif
