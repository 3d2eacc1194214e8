/* Any bytes as a page of the catalog, and what came of it searched. First byte: how long the text
 * searched for is; it follows. */
#include <kprof/core/sift.h>
#include <kprof/trace/look.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_module(void *arg, const char *shown, const char *app, bool platform)
{
    catalog_module(arg, shown, app, platform);
}

static void add_function(void *arg, const char *shown, unsigned arity, bool exported)
{
    catalog_function(arg, shown, arity, exported);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char typed[64] = "", text[CATALOG_TEXT_BYTES];
    struct look_page page;
    struct sift s;

    size_t len = n ? data[0] % sizeof typed : 0;
    if (n < 1 + len)
        return 0;
    memcpy(typed, data + 1, len);
    struct catalog *c = catalog_new();
    struct look_sink sink = {c, add_module, add_function};
    look_read(data + 1 + len, n - 1 - len, &sink, &page);
    sift_init(&s);
    sift_update(&s, c, typed);
    for (size_t i = 0; i < sift_count(&s); i++)
        if (catalog_text(c, sift_at(&s, i), text) != strlen(text))
            abort();
    sift_release(&s);
    catalog_free(c);
    return 0;
}
