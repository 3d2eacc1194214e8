#include <kprof/base/pages.h>

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/* From this size on, less than a tenth is lost in the last page. */
#define OWN_PAGES_BYTES ((size_t)32 << 10)

void *pages_new(size_t bytes)
{
    void *p;

    assert(bytes > 0);
    if (bytes < OWN_PAGES_BYTES) {
        p = malloc(bytes);
        if (!p)
            abort();
        return p;
    }
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

void pages_free(void *p, size_t bytes)
{
    if (p && bytes >= OWN_PAGES_BYTES)
        munmap(p, bytes);
    else
        free(p);
}
