#include <kprof/cli/preset_rate.h>

#include <string.h>

/* The functions that are looked for. */
struct wanted {
    struct {
        char mfa[TIER_MFA_BYTES];
        size_t preset;
    } of[PRESET_RATE_IDS];
    size_t n;
};

typedef void found(void *arg, size_t preset, uint32_t id);

static void want_all(struct wanted *w)
{
    w->n = 0;
    for (size_t i = 0; i < preset_count(); i++)
        for (size_t k = 0; w->n < PRESET_RATE_IDS && preset_first_tier(i, k, w->of[w->n].mfa); k++)
            w->of[w->n++].preset = i;
}

static bool has_module(const struct wanted *w, const char *module)
{
    for (size_t i = 0; i < w->n; i++)
        if (strncmp(w->of[i].mfa, module, strlen(module)) == 0)
            return true;
    return false;
}

/* A node has many functions, so most are left out by their module. */
static void find_all(const struct catalog *c, found *f, void *arg)
{
    struct wanted w;
    char text[CATALOG_TEXT_BYTES];
    uint32_t module = UINT32_MAX;
    bool has = false;

    want_all(&w);
    for (uint32_t id = 0; id < catalog_count(c); id++) {
        if (catalog_module_of(c, id) != module) {
            module = catalog_module_of(c, id);
            has = has_module(&w, catalog_module_text(c, id));
        }
        if (!has)
            continue;
        catalog_text(c, id, text);
        for (size_t i = 0; i < w.n; i++)
            if (strcmp(w.of[i].mfa, text) == 0)
                f(arg, w.of[i].preset, id);
    }
}

struct ids {
    uint32_t *id;
    size_t n;
};

static void add(void *arg, size_t preset, uint32_t id)
{
    struct ids *to = arg;

    (void)preset;
    for (size_t i = 0; i < to->n; i++)
        if (to->id[i] == id)
            return;
    if (to->n < PRESET_RATE_IDS)
        to->id[to->n++] = id;
}

size_t preset_rate_ids(const struct catalog *c, uint32_t ids[PRESET_RATE_IDS])
{
    struct ids to = {ids, 0};

    find_all(c, add, &to);
    return to.n;
}

struct rates {
    const struct catalog *c;
    float *per_s;
};

static void take(void *arg, size_t preset, uint32_t id)
{
    struct rates *to = arg;
    float rate = catalog_rate(to->c, id);

    if (rate > to->per_s[preset])
        to->per_s[preset] = rate;
}

void preset_rates(const struct catalog *c, float per_s[PRESETS_MAX])
{
    struct rates to = {c, per_s};

    for (size_t i = 0; i < PRESETS_MAX; i++)
        per_s[i] = CATALOG_UNCOUNTED;
    find_all(c, take, &to);
}
