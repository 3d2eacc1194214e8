#include <kprof/core/catalog.h>

#include <assert.h>
#include <kprof/base/buf.h>
#include <kprof/base/fuzzy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES  ((size_t)32 << 20)
#define NAME_MAX     ((size_t)CATALOG_TEXT_BYTES / 2 - 8) /* of a module or a function */
#define NOT_MEASURED (-1.0f)

struct module {
    uint32_t name, app, behaviours; /* in names */
    uint16_t len;
    uint8_t origin;
};

struct function {
    uint64_t mask;
    uint32_t name, module;
    float rate;
    uint16_t len;
    uint8_t arity;
    bool local;
};

struct catalog {
    struct buf names; /* NUL-terminated, one after the other */
    struct module *module;
    struct function *function;
    uint32_t modules, functions, module_room, function_room, left_out;
    struct catalog_status status;
    bool skipping; /* the module could not be stored */
};

struct catalog *catalog_new(void)
{
    struct catalog *c = calloc(1, sizeof *c);

    if (!c)
        abort();
    buf_init(&c->names, NAMES_BYTES);
    return c;
}

void catalog_free(struct catalog *c)
{
    if (!c)
        return;
    buf_release(&c->names);
    free(c->module);
    free(c->function);
    free(c);
}

static void *room_for(void *array, uint32_t n, uint32_t *room, size_t bytes)
{
    if (n < *room)
        return array;
    *room = *room ? *room * 2 : 1024;
    array = realloc(array, *room * bytes);
    if (!array)
        abort();
    return array;
}

static uint32_t keep(struct catalog *c, const char *s)
{
    uint32_t at = (uint32_t)c->names.len;

    buf_add(&c->names, s, strlen(s) + 1);
    return at;
}

static bool fits(const struct catalog *c, const char *s, const char *more)
{
    return strlen(s) <= NAME_MAX && strlen(more) <= NAME_MAX &&
           c->names.len + strlen(s) + strlen(more) + 3 < NAMES_BYTES;
}

void catalog_module(struct catalog *c, const char *shown, const char *app,
                    enum catalog_origin origin)
{
    c->skipping = !fits(c, shown, app);
    if (c->skipping)
        return;
    c->module = room_for(c->module, c->modules, &c->module_room, sizeof *c->module);
    c->module[c->modules].name = keep(c, shown);
    c->module[c->modules].app = keep(c, app);
    c->module[c->modules].behaviours = keep(c, "");
    c->module[c->modules].len = (uint16_t)strlen(shown);
    c->module[c->modules++].origin = (uint8_t)origin;
}

void catalog_behaviours(struct catalog *c, const char *names)
{
    if (names[0] && !c->skipping && c->modules && fits(c, names, ""))
        c->module[c->modules - 1].behaviours = keep(c, names);
}

void catalog_function(struct catalog *c, const char *shown, unsigned arity, bool exported)
{
    char text[CATALOG_TEXT_BYTES];

    if (c->skipping || !c->modules || arity > 255 || c->functions == CATALOG_FUNCTIONS_MAX ||
        !fits(c, shown, "")) {
        c->left_out++;
        return;
    }
    c->function = room_for(c->function, c->functions, &c->function_room, sizeof *c->function);
    struct function *f = &c->function[c->functions++];
    memset(f, 0, sizeof *f);
    f->name = keep(c, shown);
    f->len = (uint16_t)strlen(shown);
    f->module = c->modules - 1;
    f->arity = (uint8_t)arity;
    f->local = !exported;
    f->rate = NOT_MEASURED;
    f->mask = fuzzy_mask(text, catalog_text(c, c->functions - 1, text));
}

void catalog_set_status(struct catalog *c, const struct catalog_status *s)
{
    c->status = *s;
}

const struct catalog_status *catalog_status(const struct catalog *c)
{
    return &c->status;
}

uint32_t catalog_count(const struct catalog *c)
{
    return c->functions;
}

uint32_t catalog_left_out(const struct catalog *c)
{
    return c->left_out;
}

static const struct function *function(const struct catalog *c, uint32_t id)
{
    assert(id < c->functions);
    return &c->function[id];
}

size_t catalog_text(const struct catalog *c, uint32_t id, char *out)
{
    const struct function *f = function(c, id);
    const struct module *m = &c->module[f->module];
    char arity[4];
    size_t n = 0, at = m->len + f->len;

    memcpy(out, c->names.data + m->name, m->len);
    memcpy(out + m->len, c->names.data + f->name, f->len);
    for (unsigned a = f->arity; n == 0 || a; a /= 10)
        arity[n++] = (char)('0' + a % 10);
    out[at++] = '/';
    while (n)
        out[at++] = arity[--n];
    out[at] = 0;
    return at;
}

uint32_t catalog_module_of(const struct catalog *c, uint32_t id)
{
    return function(c, id)->module;
}

const char *catalog_module_text(const struct catalog *c, uint32_t id)
{
    return c->names.data + c->module[function(c, id)->module].name;
}

const char *catalog_function_text(const struct catalog *c, uint32_t id)
{
    return c->names.data + function(c, id)->name;
}

unsigned catalog_arity(const struct catalog *c, uint32_t id)
{
    return function(c, id)->arity;
}

bool catalog_has_behaviour(const struct catalog *c, uint32_t id, const char *name)
{
    const char *at = c->names.data + c->module[function(c, id)->module].behaviours;
    size_t n = strlen(name);

    for (; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, n) == 0 && (at[n] == ' ' || at[n] == 0))
            return true;
    return false;
}

uint64_t catalog_mask(const struct catalog *c, uint32_t id)
{
    return function(c, id)->mask;
}

const char *catalog_app(const struct catalog *c, uint32_t id)
{
    return c->names.data + c->module[function(c, id)->module].app;
}

enum catalog_origin catalog_origin(const struct catalog *c, uint32_t id)
{
    return (enum catalog_origin)c->module[function(c, id)->module].origin;
}

bool catalog_is_platform(const struct catalog *c, uint32_t id)
{
    return catalog_origin(c, id) == CATALOG_PLATFORM;
}

bool catalog_is_local(const struct catalog *c, uint32_t id)
{
    return function(c, id)->local;
}

void catalog_set_rate(struct catalog *c, uint32_t id, float per_s)
{
    assert(id < c->functions);
    c->function[id].rate = per_s;
}

float catalog_rate(const struct catalog *c, uint32_t id)
{
    return function(c, id)->rate;
}
