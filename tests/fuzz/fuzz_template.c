/* Any bytes as a text for path(...) and shape(...): bounded, and applied to its result it changes
 * nothing. */
#include <kprof/base/template.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void name(size_t (*how)(const char *, size_t, char *), const char *text, size_t n)
{
    char *once = malloc(TEMPLATE_BYTES), *twice = malloc(TEMPLATE_BYTES);

    must(once && twice);
    size_t len = how(text, n, once);
    must(len <= TEMPLATE_BYTES && len <= n + 3);
    for (size_t i = 0; i < len; i++)
        must(memchr("*#./", once[i], 4) || memchr(text, once[i], n));
    char *exact = malloc(len ? len : 1);
    must(exact != NULL);
    memcpy(exact, once, len);
    must(how(exact, len, twice) == len && memcmp(once, twice, len) == 0);
    free(exact);
    free(once);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    name(template_path, (const char *)data, n);
    name(template_shape, (const char *)data, n);
    return 0;
}
