#include "suggest_calls.h"

#include "suggest_kind.h"

#include <string.h>

enum { FIRST_ASKED = 32 };

static void ask(struct suggest_calls *k, uint32_t id)
{
    for (size_t i = 0; i < k->n_asked; i++)
        if (k->asked[i] == id)
            return;
    if (k->n_asked < SUGGEST_ASKED)
        k->asked[k->n_asked++] = id;
}

void suggest_calls_begin(struct suggest_calls *k, const struct catalog *c, const uint32_t *ids,
                         size_t n)
{
    struct suggest_node node = suggest_node_of(c);

    memset(k, 0, sizeof *k);
    for (size_t i = 0; i < n; i++) {
        struct suggest_module m = suggest_module_of(c, ids[i]);
        const struct suggest_known *known;
        if (catalog_rate(c, ids[i]) <= 0)
            continue;
        switch (suggest_kind_of(c, &node, &m, ids[i], &known)) {
        case SUGGEST_EDGE:
        case SUGGEST_COWBOY:
        case SUGGEST_PLUG:
        case SUGGEST_YAWS:
            k->n_asked = 0;
            return;
        case SUGGEST_CALL:
        case SUGGEST_CAST:
        case SUGGEST_EVENT:
        case SUGGEST_FUNCTION:
            if (m.own && k->n_asked < FIRST_ASKED)
                ask(k, ids[i]);
            break;
        default:
            break;
        }
    }
}

bool suggest_calls_next(struct suggest_calls *k, uint32_t *id)
{
    if (k->next == k->n_asked)
        return false;
    *id = k->asked[k->next++];
    return true;
}

static void add(struct suggest_calls *k, uint32_t from, uint32_t to)
{
    if (k->n == SUGGEST_CALLS)
        return;
    k->of[k->n].from = from;
    k->of[k->n].to = to;
    k->n++;
}

static bool is_server_call(const char *function)
{
    static const char *const by[] = {"gen_server:call/", "gen_server:cast/",  "gen_statem:call/",
                                     "gen_statem:cast/", "gen:call/",         "GenServer.call/",
                                     "GenServer.cast/",  "gen_server:send_r", "gen_server:multi"};

    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        if (strncmp(function, by[i], strlen(by[i])) == 0)
            return true;
    return false;
}

/* The first function of the own module that the text begins with; UINT32_MAX: there is none. */
static uint32_t own_module(const struct catalog *c, const char *function)
{
    for (uint32_t id = 0; id < catalog_count(c); id++) {
        if (id && catalog_module_of(c, id) == catalog_module_of(c, id - 1))
            continue;
        const char *module = catalog_module_text(c, id);
        if (strncmp(function, module, strlen(module)) == 0 && suggest_module_at(c, id).own)
            return id;
    }
    return UINT32_MAX;
}

static void add_callbacks(struct suggest_calls *k, const struct catalog *c, uint32_t from)
{
    struct suggest_module own = suggest_module_of(c, from);

    if (suggest_callback_of(c, &own, from) != SUGGEST_NOTHING)
        return; /* it calls another server */
    for (uint32_t id = own.first; id < own.end; id++)
        if (suggest_callback_of(c, &own, id) != SUGGEST_NOTHING)
            add(k, from, id);
}

void suggest_calls_add(struct suggest_calls *k, const struct catalog *c, uint32_t from,
                       const char *function)
{
    char text[CATALOG_TEXT_BYTES];

    if (is_server_call(function)) {
        add_callbacks(k, c, from);
        return;
    }
    uint32_t first = own_module(c, function);
    uint32_t end = first == UINT32_MAX ? first : suggest_module_at(c, first).end;
    for (uint32_t id = first; id < end; id++) {
        catalog_text(c, id, text);
        if (strcmp(text, function) == 0) {
            add(k, from, id);
            ask(k, id);
            return;
        }
    }
}

size_t suggest_calls_reach(const struct suggest_calls *k, uint32_t from,
                           uint32_t to[SUGGEST_REACHED])
{
    size_t n = 0;

    for (size_t at = 0; at <= n; at++) {
        uint32_t id = at ? to[at - 1] : from;
        for (size_t i = 0; i < k->n; i++) {
            size_t had = 0;
            if (k->of[i].from != id)
                continue;
            while (had < n && to[had] != k->of[i].to)
                had++;
            if (had == n && n < SUGGEST_REACHED)
                to[n++] = k->of[i].to;
        }
    }
    return n;
}
