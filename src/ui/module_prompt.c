#include "module_prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_MOST = 200 };

struct found {
    char *item[MODULES_MOST];
    size_t n;
};

static bool is_of(const struct catalog *c, uint32_t id, const char *behaviour)
{
    return catalog_has_behaviour(c, id, behaviour) ||
           (strcmp(behaviour, "gen_server") == 0 &&
            catalog_has_behaviour(c, id, "Elixir.GenServer"));
}

/* The module without the separator at its end. */
static void add(struct found *f, const char *behaviour, const char *typed, const char *shown)
{
    char item[PROMPT_BYTES];
    size_t n = strlen(shown);
    n -= n > 0;
    if (f->n == MODULES_MOST || strncmp(shown, typed, strlen(typed)) != 0 || n < strlen(typed)) {
        return;
    }
    int len = snprintf(item, sizeof item, "%s:%.*s", behaviour, (int)n, shown);
    if (len < 0 || (size_t)len >= sizeof item) {
        return;
    }
    f->item[f->n] = strdup(item);
    if (!f->item[f->n]) {
        abort();
    }
    f->n++;
}

static void find(struct found *f, const struct catalog *c, const char *behaviour, const char *typed,
                 bool platform)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t id = 0; id < catalog_count(c); id++) {
        if (catalog_module_of(c, id) == last) {
            continue;
        }
        last = catalog_module_of(c, id);
        if (catalog_is_platform(c, id) == platform && is_of(c, id, behaviour)) {
            add(f, behaviour, typed, catalog_module_text(c, id));
        }
    }
}

void module_prompt_complete(struct prompt *p, const struct catalog *c)
{
    char behaviour[64];
    struct found f = {.n = 0};
    size_t n = strcspn(p->text, ":");
    if (c && p->text[n] && n < sizeof behaviour) {
        snprintf(behaviour, sizeof behaviour, "%.*s", (int)n, p->text);
        find(&f, c, behaviour, p->text + n + 1, false);
        find(&f, c, behaviour, p->text + n + 1, true);
    }
    prompt_completions(p, (const char *const *)f.item, f.n);
    for (size_t i = 0; i < f.n; i++) {
        free(f.item[i]);
    }
}
