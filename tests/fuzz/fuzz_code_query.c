/* Any bytes as a page of the catalog, and a search in it. First byte: the length of the search
 * text, which follows. */
#include <kprof/core/catalog_filter.h>
#include <kprof/trace/code_query.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_module(void *arg, const char *shown, const char *app, enum code_query_origin origin,
                       const char *behaviours)
{
    catalog_module(arg, shown, app, (enum catalog_origin)origin);
    catalog_behaviours(arg, behaviours);
}

static void add_function(void *arg, const char *shown, unsigned arity, bool exported)
{
    catalog_function(arg, shown, arity, exported);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char typed[64] = "", text[CATALOG_TEXT_BYTES];
    struct code_query_page page;
    struct catalog_filter s;

    size_t len = n ? data[0] % sizeof typed : 0;
    if (n < 1 + len)
        return 0;
    memcpy(typed, data + 1, len);
    struct catalog *c = catalog_new();
    struct code_query_sink sink = {c, add_module, add_function};
    code_query_read(data + 1 + len, n - 1 - len, &sink, &page);
    catalog_filter_init(&s);
    catalog_filter_update(&s, c, typed);
    for (size_t i = 0; i < catalog_filter_count(&s); i++)
        if (catalog_text(c, catalog_filter_at(&s, i), text) != strlen(text))
            abort();
    catalog_filter_release(&s);
    catalog_free(c);
    return 0;
}
