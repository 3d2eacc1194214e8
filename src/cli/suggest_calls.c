#include "suggest_calls.h"

#include "suggest_kind.h"

#include <string.h>

enum { FIRST_ASKED = 32, REACHED = 256 };

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

static bool is_callback(const struct catalog *c, uint32_t id)
{
    const char *name = catalog_function_text(c, id);

    return strcmp(name, "handle_call") == 0 || strcmp(name, "handle_cast") == 0 ||
           strcmp(name, "handle_event") == 0;
}

void suggest_calls_add(struct suggest_calls *k, const struct catalog *c, uint32_t from,
                       const char *function)
{
    char text[CATALOG_TEXT_BYTES];

    if (is_server_call(function)) {
        struct suggest_module own = suggest_module_of(c, from);
        for (uint32_t id = own.first; id < own.end && !is_callback(c, from); id++)
            if (is_callback(c, id))
                add(k, from, id);
        return;
    }
    for (uint32_t id = 0; id < catalog_count(c);) {
        struct suggest_module m = suggest_module_of(c, id);
        const char *module = catalog_module_text(c, id);
        bool fits = m.own && strncmp(function, module, strlen(module)) == 0;
        for (id = m.first; fits && id < m.end; id++) {
            catalog_text(c, id, text);
            if (strcmp(text, function) != 0)
                continue;
            add(k, from, id);
            ask(k, id);
            return;
        }
        id = m.end;
    }
}

bool suggest_calls_leads(const struct suggest_calls *k, uint32_t from, uint32_t to)
{
    uint32_t reached[REACHED];
    size_t n = 0;

    if (!k)
        return false;
    for (size_t at = 0; at <= n; at++) {
        uint32_t id = at ? reached[at - 1] : from;
        for (size_t i = 0; i < k->n; i++) {
            size_t had = 0;
            if (k->of[i].from != id)
                continue;
            if (k->of[i].to == to)
                return true;
            while (had < n && reached[had] != k->of[i].to)
                had++;
            if (had == n && n < REACHED)
                reached[n++] = k->of[i].to;
        }
    }
    return false;
}
