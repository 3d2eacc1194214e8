/* Which functions are worth a counter. */
#include <kprof/cli/suggest.h>

#include "suggest_kind.h"

#include <kprof/cli/preset_rate.h>
#include <kprof/erl/term.h>
#include <stdlib.h>
#include <string.h>

/* Counters that one kind may take, so that others get some. */
enum { KNOWN_MOST = 120, HANDLERS_MOST = 120, CALLBACKS_MOST = 80 };

enum { KIND = 0x0f, OWN = 0x10 };

struct wanted {
    const struct catalog *c;
    uint8_t *kind; /* of each function */
    uint32_t *ids;
    size_t n;
};

/* One of the node's own modules, or one of its functions: it gets a counter if any are left. */
struct other {
    uint64_t order;
    uint32_t id;
};

struct others {
    struct other *of;
    size_t n, room;
};

static void want(struct wanted *w, uint32_t id, size_t *left)
{
    char text[CATALOG_TEXT_BYTES];
    struct mfa mfa;
    size_t at;

    /* it must fit into a tier */
    if (*left == 0 || w->n == SUGGEST_COUNTED || catalog_text(w->c, id, text) >= TIER_MFA_BYTES ||
        !term_parse_mfa(text, &mfa, &at))
        return;
    w->ids[w->n++] = id;
    --*left;
}

static bool is_handler(enum suggest_kind k)
{
    return k == SUGGEST_COWBOY || k == SUGGEST_PLUG || k == SUGGEST_YAWS;
}

static bool is_callback(enum suggest_kind k)
{
    return k == SUGGEST_CALL || k == SUGGEST_CAST || k == SUGGEST_EVENT;
}

/* Functions of these kinds, in the order of the catalog. own: of the node's own code, or of
 * libraries. */
static void want_kind(struct wanted *w, bool (*is)(enum suggest_kind), bool own, size_t *left)
{
    for (uint32_t id = 0; id < catalog_count(w->c) && *left; id++)
        if (is((enum suggest_kind)(w->kind[id] & KIND)) && own == ((w->kind[id] & OWN) != 0))
            want(w, id, left);
}

/* Functions of presets: the list of presets shows their calls. */
static void want_presets(struct wanted *w)
{
    uint32_t ids[PRESET_RATE_IDS];
    size_t n = preset_rate_ids(w->c, ids), left = PRESET_RATE_IDS;

    for (size_t i = 0; i < n; i++) {
        size_t before = w->n;
        if (!is_handler((enum suggest_kind)(w->kind[ids[i]] & KIND)))
            want(w, ids[i], &left);
        if (w->n > before)
            w->kind[ids[i]] = SUGGEST_NOTHING;
    }
}

static bool is_known(enum suggest_kind k)
{
    return k == SUGGEST_EDGE || k == SUGGEST_LAYER;
}

/* The applications that handle requests: their other modules come first. */
static bool app_has_handler(const struct wanted *w, size_t handlers, uint32_t id)
{
    const char *app = catalog_app(w->c, id);

    for (size_t i = 0; i < handlers; i++)
        if (strcmp(catalog_app(w->c, w->ids[i]), app) == 0)
            return true;
    return false;
}

static bool module_is_counted(const struct wanted *w, uint32_t id)
{
    for (size_t i = 0; i < w->n; i++)
        if (catalog_module_of(w->c, w->ids[i]) == catalog_module_of(w->c, id))
            return true;
    return false;
}

static void add_other(struct others *o, uint64_t order, uint32_t id)
{
    if (o->n == o->room) {
        o->room = o->room ? 2 * o->room : 256;
        o->of = realloc(o->of, o->room * sizeof *o->of);
        if (!o->of)
            abort();
    }
    o->of[o->n++] = (struct other){order, id};
}

static int by_order(const void *a, const void *b)
{
    const struct other *x = a, *y = b;

    return x->order != y->order ? (x->order < y->order ? -1 : 1)
                                : (x->id > y->id) - (x->id < y->id);
}

/* 0: the first of its module to be counted. */
static unsigned preference(const struct catalog *c, uint32_t id)
{
    const char *function = catalog_function_text(c, id);
    bool sounds = suggest_sounds_like_entry(function) || suggest_sounds_like_layer(function);

    return (catalog_is_local(c, id) ? 2u : 0) + (sounds ? 0 : 1u);
}

static bool has_function(const struct wanted *w, const struct suggest_module *m)
{
    for (uint32_t id = m->first; id < m->end; id++)
        if ((w->kind[id] & KIND) == SUGGEST_FUNCTION)
            return true;
    return false;
}

/* Modules of applications that handle requests come first, then the others; in each part, modules
 * that already have a counter come last. */
static uint64_t order_of(const struct wanted *w, size_t handlers, uint32_t first)
{
    uint64_t far = !app_has_handler(w, handlers, first), counted = module_is_counted(w, first);

    return far << 60 | counted << 32 | first;
}

/* One function of each module, then the second of each ... */
static void add_module(const struct wanted *w, const struct other *module, struct others *o)
{
    struct suggest_module m = suggest_module_at(w->c, module->id);
    uint64_t place = 0;

    for (unsigned p = 0; p < 4; p++)
        for (uint32_t id = m.first; id < m.end; id++)
            if ((w->kind[id] & KIND) == SUGGEST_FUNCTION && preference(w->c, id) == p)
                add_other(o, module->order + (place++ << 32), id);
}

static void sort(struct others *o)
{
    if (o->n)
        qsort(o->of, o->n, sizeof *o->of, by_order);
}

static void want_others(struct wanted *w, size_t handlers)
{
    struct others modules = {NULL, 0, 0}, o = {NULL, 0, 0};

    for (uint32_t id = 0; id < catalog_count(w->c);) {
        struct suggest_module m = suggest_module_at(w->c, id);
        if (m.own && has_function(w, &m))
            add_other(&modules, order_of(w, handlers, m.first), m.first);
        id = m.end;
    }
    sort(&modules);
    size_t left = SUGGEST_COUNTED - w->n;
    /* one function of each of `left` modules uses all counters that are left */
    for (size_t i = 0; i < modules.n && i < left; i++)
        add_module(w, &modules.of[i], &o);
    sort(&o);
    for (size_t i = 0; i < o.n && left; i++)
        want(w, o.of[i].id, &left);
    free(modules.of);
    free(o.of);
}

static void tell_kinds(struct wanted *w)
{
    struct suggest_node node = suggest_node_of(w->c);
    const struct suggest_known *known;

    for (uint32_t id = 0; id < catalog_count(w->c);) {
        struct suggest_module m = suggest_module_at(w->c, id);
        for (; id < m.end; id++)
            w->kind[id] =
                (uint8_t)(suggest_kind_of(w->c, &node, &m, id, &known) | (m.own ? OWN : 0));
    }
}

size_t suggest_count(const struct catalog *c, uint32_t ids[SUGGEST_COUNTED])
{
    struct wanted w = {.c = c, .kind = calloc(catalog_count(c) + 1, 1), .ids = ids};
    size_t known = KNOWN_MOST, handlers = HANDLERS_MOST, callbacks = CALLBACKS_MOST;

    if (!w.kind)
        abort();
    tell_kinds(&w);
    want_kind(&w, is_handler, true, &handlers);
    size_t own_handlers = w.n;
    want_kind(&w, is_handler, false, &handlers);
    want_presets(&w);
    want_kind(&w, is_known, true, &known);
    want_kind(&w, is_known, false, &known);
    want_kind(&w, is_callback, true, &callbacks);
    want_others(&w, own_handlers);
    free(w.kind);
    return w.n;
}
